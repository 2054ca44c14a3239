import type { ContextValues } from '@ebbgate/core';
import type { BlockDeviceMapping } from '../objects/block-device.js';
import type { Instance, InstanceFields } from '../objects/instance.js';
import type { NovaObject } from '../objects/nova-object.js';
import type { ShareMapping } from '../objects/share-mapping.js';
import { secondsText } from '../objects/seconds-text.js';
import { POWER_STATE } from '../objects/states.js';
import { flavorPayload } from './flavor-payload.js';
import { versioned, type VersionedPayload } from './versioned-payload.js';

type Data = Readonly<Record<string, unknown>>;

/** What payloads call what the hypervisor said. */
const POWER_WORDS: ReadonlyMap<number, string> = new Map([
  [POWER_STATE.none, 'pending'],
  [POWER_STATE.running, 'running'],
  [POWER_STATE.paused, 'paused'],
  [POWER_STATE.shutdown, 'shutdown'],
  [POWER_STATE.crashed, 'crashed'],
  [7, 'suspended'],
]);

/** What a payload has as it is in the record, and what it is called there. */
const PLAIN: readonly (readonly [string, keyof InstanceFields])[] = [
  ['user_id', 'user_id'],
  ['tenant_id', 'project_id'],
  ['display_name', 'display_name'],
  ['display_description', 'display_description'],
  ['host_name', 'hostname'],
  ['host', 'host'],
  ['node', 'node'],
  ['availability_zone', 'availability_zone'],
  ['image_uuid', 'image_ref'],
  ['key_name', 'key_name'],
];

/** What a record has when Nova has made it. */
const UNKNOWN = ['reservation_id', 'os_type', 'architecture', 'kernel_id', 'ramdisk_id'] as const;

/**
 * What all payloads about an instance tell of it: the data of `InstancePayload` 1.9. Addresses are not known here: the
 * network service has them.
 *
 * @param asked - the context of whoever has asked for what is done
 */
export function instanceData(instance: Instance, asked: ContextValues): Data {
  return {
    uuid: instance.get('uuid'),
    ...Object.fromEntries(PLAIN.map(([name, field]) => [name, instance.find(field) ?? null])),
    ...Object.fromEntries(UNKNOWN.map((name) => [name, unknownField(instance, name)])),
    flavor: flavorPayload(instance.get('flavor')),
    ...timesOf(instance),
    ...stateOf(instance),
    ip_addresses: [],
    block_devices: (instance.find('block_device_mapping')?.get('objects') ?? []).flatMap(blockDevices),
    metadata: instance.find('metadata') ?? {},
    ...lockOf(instance),
    auto_disk_config: unknownField(instance, 'auto_disk_config') === true ? 'AUTO' : 'MANUAL',
    ...initiatorOf(asked),
    shares: (instance.find('share_mapping') ?? []).map(sharePayload),
  };
}

function timesOf(instance: Instance): Data {
  const times = ['created_at', 'launched_at', 'terminated_at', 'deleted_at', 'updated_at'] as const;
  return Object.fromEntries(
    times.map((name) => {
      const at = instance.find(name);
      return [name, at ? secondsText(at) : null];
    }),
  );
}

function stateOf(instance: Instance): Data {
  return {
    state: instance.get('vm_state'),
    power_state: POWER_WORDS.get(instance.find('power_state') ?? POWER_STATE.none) ?? 'pending',
    task_state: instance.get('task_state'),
    progress: instance.find('progress') ?? 0,
  };
}

function lockOf(instance: Instance): Data {
  const notes = new Map(Object.entries(instance.find('system_metadata') ?? {})); // names come from the wire
  return { locked: instance.find('locked') ?? false, locked_reason: notes.get('locked_reason') ?? null };
}

function initiatorOf(asked: ContextValues): Data {
  return {
    request_id: textIn(asked, 'request_id'),
    action_initiator_user: textIn(asked, 'user_id'),
    action_initiator_project: textIn(asked, 'project_id'),
  };
}

function sharePayload(share: ShareMapping): VersionedPayload {
  return versioned('SharePayload', '1.0', {
    share_mapping_uuid: share.find('uuid') ?? null,
    share_id: share.get('share_id'),
    status: share.find('status') ?? 'inactive',
    tag: share.find('tag') ?? '',
  });
}

function blockDevices(mapping: BlockDeviceMapping): readonly VersionedPayload[] {
  const volume = mapping.find('volume_id') ?? null;
  if (volume === null) return []; // as upstream: only volumes are told
  return [
    versioned('BlockDevicePayload', '1.0', {
      device_name: mapping.find('device_name') ?? null,
      boot_index: mapping.find('boot_index') ?? null,
      delete_on_termination: mapping.find('delete_on_termination') ?? false,
      volume_id: volume,
      tag: mapping.find('tag') ?? null,
    }),
  ];
}

/** A field that Nova sends and that nothing here works with. */
function unknownField(instance: Instance, name: string): string | boolean | null {
  const value = (instance as unknown as NovaObject).find(name); // it carries more fields than it declares
  return typeof value === 'string' || typeof value === 'boolean' ? value : null;
}

function textIn(values: ContextValues, name: string): string | null {
  const value = Object.hasOwn(values, name) ? values[name] : undefined;
  return typeof value === 'string' ? value : null;
}
