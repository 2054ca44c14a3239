import { z } from 'zod';
import type { InstanceAction } from './compute-event.js';
import type { VersionedPayload } from './versioned-payload.js';

/** The schema of a payload in Nova's versioned form. */
export type PayloadSchema = z.ZodType<VersionedPayload>;

const text = z.string().nullable();
const number = z.number().nullable();
const time = z.string().regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
const texts = z.record(z.string(), z.string());

/** @param data - of `nova_object.data`: all of these and no others */
function versioned(name: string, version: string, data: z.ZodRawShape): PayloadSchema {
  const shape = {
    'nova_object.name': z.literal(name),
    'nova_object.namespace': z.literal('nova'),
    'nova_object.version': z.literal(version),
    'nova_object.data': z.strictObject(data),
  };
  return z.strictObject(shape).meta({ title: name });
}

const flavor = versioned('FlavorPayload', '1.4', {
  flavorid: text,
  memory_mb: number,
  vcpus: number,
  root_gb: number,
  ephemeral_gb: number,
  name: z.string(),
  swap: z.number(),
  rxtx_factor: number,
  vcpu_weight: number,
  disabled: z.boolean(),
  is_public: z.boolean(),
  extra_specs: texts.nullable(),
  projects: z.array(z.string()).nullable(),
  description: text,
});

const exception = versioned('ExceptionPayload', '1.1', {
  module_name: z.string(),
  function_name: z.string(),
  exception: z.string(),
  exception_message: z.string(),
  traceback: z.string(),
});

const blockDevice = versioned('BlockDevicePayload', '1.0', {
  device_name: text,
  boot_index: number,
  delete_on_termination: z.boolean(),
  volume_id: z.string(),
  tag: text,
});

const share = versioned('SharePayload', '1.0', {
  share_mapping_uuid: text,
  share_id: z.string(),
  status: z.string(),
  tag: z.string(),
});

/** What all payloads about an instance have: `InstancePayload` 1.9. */
const INSTANCE = {
  uuid: z.string(),
  user_id: text,
  tenant_id: text,
  reservation_id: text,
  display_name: text,
  display_description: text,
  host_name: text,
  host: text,
  node: text,
  os_type: text,
  architecture: text,
  availability_zone: text,
  image_uuid: text,
  kernel_id: text,
  ramdisk_id: text,
  flavor,
  key_name: text,
  created_at: time.nullable(),
  launched_at: time.nullable(),
  terminated_at: time.nullable(),
  deleted_at: time.nullable(),
  updated_at: time.nullable(),
  state: z.string(),
  power_state: z.enum(['pending', 'running', 'paused', 'shutdown', 'crashed', 'suspended']),
  task_state: text,
  progress: z.number(),
  ip_addresses: z.array(z.never()).describe('Always empty: the network service has the addresses'),
  block_devices: z.array(blockDevice),
  metadata: texts,
  locked: z.boolean(),
  locked_reason: text,
  auto_disk_config: z.enum(['AUTO', 'MANUAL']),
  request_id: text,
  action_initiator_user: text,
  action_initiator_project: text,
  shares: z.array(share),
};

const action = (name: string, version: string, more: z.ZodRawShape = {}): PayloadSchema =>
  versioned(name, version, { ...INSTANCE, fault: exception.nullable(), ...more });

/** Of most of what is done to an instance. */
export const PLAIN_SCHEMA: PayloadSchema = action('InstanceActionPayload', '1.9');
const SHARE = action('InstanceActionSharePayload', '1.0', { share_id: z.string() });

const OF_ACTIONS: Readonly<Partial<Record<InstanceAction, PayloadSchema>>> = {
  create: action('InstanceCreatePayload', '1.13', {
    keypairs: z.array(z.never()).describe('Always empty: only the name of a key is known'),
    tags: z.array(z.string()),
    trusted_image_certificates: z.array(z.string()).nullable(),
    instance_name: text,
  }),
  snapshot: action('InstanceActionSnapshotPayload', '1.10', { snapshot_image_id: z.string() }),
  rescue: action('InstanceActionRescuePayload', '1.4', { rescue_image_ref: text }),
  rebuild: action('InstanceActionRebuildPayload', '1.10', {
    trusted_image_certificates: z.array(z.string()).nullable(),
  }),
  resize_prep: action('InstanceActionResizePrepPayload', '1.4', { new_flavor: flavor.nullable() }),
  volume_attach: action('InstanceActionVolumePayload', '1.7', { volume_id: z.string() }),
  share_attach: SHARE,
  share_detach: SHARE,
};

/** Of what is done to an instance. */
export function schemaOfAction(name: InstanceAction): PayloadSchema {
  return OF_ACTIONS[name] ?? PLAIN_SCHEMA;
}

/** Of another state of an instance. */
export const STATE_SCHEMA: PayloadSchema = versioned('InstanceUpdatePayload', '2.1', {
  ...INSTANCE,
  state_update: versioned('InstanceStateUpdatePayload', '1.0', {
    old_state: text,
    state: text,
    old_task_state: text,
    new_task_state: text,
  }),
  audit_period: versioned('AuditPeriodPayload', '1.0', {
    audit_period_beginning: time,
    audit_period_ending: time,
  }),
  old_display_name: text,
  tags: z.array(z.string()),
});

/** Of what a conductor could not do. */
export const TASK_SCHEMA: PayloadSchema = versioned('ComputeTaskPayload', '1.0', {
  instance_uuid: z.string(),
  request_spec: z.null().describe('Always null: what was asked for is not repeated'),
  state: text,
  reason: exception,
});

/** Of a service. */
export const SERVICE_SCHEMA: PayloadSchema = versioned('ServiceStatusPayload', '1.1', {
  host: text,
  binary: text,
  topic: text,
  report_count: z.number(),
  disabled: z.boolean(),
  disabled_reason: text,
  availability_zone: text,
  last_seen_up: time.nullable(),
  forced_down: z.boolean(),
  version: z.number(),
  uuid: z.string(),
});
