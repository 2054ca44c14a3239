import { createHash } from 'node:crypto';
import type { ServiceRecord } from '../db/repositories.js';
import type { Flavor } from '../objects/flavor.js';
import { type Instance, nameOf } from '../objects/instance.js';
import type { Liveness } from '../servicegroup/liveness.js';
import type { RouteInput } from './api-routes.js';
import type { Links } from './links.js';
import { statusOf } from './server-status.js';
import { zoneOf } from './service-view.js';
import { isoText, timeOrNull } from './times.js';

/** A server, as it is shown. */
export type ServerShown = Readonly<Record<string, unknown>>;

/** With what servers are looked at for one answer. */
export interface ServerLook extends Pick<RouteInput<unknown, unknown>, 'version' | 'links'> {
  readonly liveness: Liveness;
  /** The compute service of a host; undefined: there is none. */
  readonly serviceOf: (host: string) => ServiceRecord | undefined;
  /** What whoever asks may see besides. */
  readonly sees: {
    /** Where it is, and what else only operators need to know. */
    readonly attributes: boolean;
    /** `unknown`: only whether that is unknown. */
    readonly hostStatus: boolean | 'unknown';
    readonly extraSpecs: boolean;
    /** What has gone wrong, in detail. */
    readonly faults: boolean;
  };
}

const PROGRESS = new Set(['ACTIVE', 'BUILD', 'REBUILD', 'RESIZE', 'VERIFY_RESIZE', 'MIGRATING']);
const FAULTS = new Set(['ERROR', 'DELETED']);
/** What the answers of updates and rebuilds leave out before 2.75. */
const ONLY_SHOWN =
  /^(?:OS-EXT-|OS-SRV-USG:|os-extended-volumes:|config_drive$|key_name$|host_status$|security_groups$)/;

/** A server in brief. */
export function briefView(instance: Instance, { links }: Pick<ServerLook, 'links'>): ServerShown {
  const id = instance.get('uuid');
  return { id, name: nameOf(instance), links: links.to(`/servers/${id}`) };
}

/** A server with all that the version has. */
export function wholeView(instance: Instance, look: ServerLook): ServerShown {
  const { minor } = look.version;
  const later = LATER.filter(({ since }) => since <= minor).map(({ view }) => view(instance, look));
  const status = statusOf(instance);
  return {
    ...briefView(instance, look),
    status,
    ...ownerView(instance),
    ...placeView(instance, look),
    ...momentsView(instance),
    image: imageView(instance.find('image_ref') ?? '', look.links),
    flavor: flavorView(instance.find('flavor'), look),
    addresses: {},
    accessIPv4: '',
    accessIPv6: '',
    'OS-DCF:diskConfig': 'MANUAL',
    config_drive: '',
    ...(PROGRESS.has(status) && { progress: instance.find('progress') ?? 0 }),
    ...(FAULTS.has(status) && faultView(instance, look.sees.faults)),
    'OS-EXT-STS:task_state': instance.get('task_state'),
    'OS-EXT-STS:vm_state': instance.get('vm_state'),
    'OS-EXT-STS:power_state': instance.find('power_state') ?? 0,
    'os-extended-volumes:volumes_attached': volumesOf(instance, minor),
    ...(look.sees.attributes && attributesView(instance, minor)),
    ...(Object.assign({}, ...later) as ServerShown),
  };
}

/** Members that later versions have brought. */
const LATER: readonly {
  readonly since: number;
  readonly view: (instance: Instance, look: ServerLook) => ServerShown;
}[] = [
  { since: 9, view: (one) => ({ locked: one.find('locked') === true }) },
  { since: 16, view: hostStatusView },
  { since: 19, view: (one) => ({ description: one.find('display_description') ?? null }) },
  { since: 26, view: () => ({ tags: [] }) },
  { since: 63, view: () => ({ trusted_image_certificates: null }) },
  { since: 73, view: (one) => ({ locked_reason: lockedReasonOf(one) }) },
  { since: 90, view: (one) => ({ 'OS-EXT-SRV-ATTR:hostname': one.find('hostname') ?? null }) },
  { since: 96, view: (one) => ({ pinned_availability_zone: one.find('availability_zone') ?? null }) },
];

/** A server as its own page has it: from 2.71 with its groups, of which there are none here. */
export function pageView(instance: Instance, look: ServerLook): ServerShown {
  return { ...wholeView(instance, look), ...(look.version.minor >= 71 && { server_groups: [] }) };
}

/** A server as the answers to updates and rebuilds have it: from 2.75 as its page. */
export function changedView(instance: Instance, look: ServerLook): ServerShown {
  const view = pageView(instance, look);
  if (look.version.minor >= 75) return view;
  return Object.fromEntries(Object.entries(view).filter(([name]) => !ONLY_SHOWN.test(name)));
}

function ownerView(instance: Instance): ServerShown {
  return {
    tenant_id: instance.find('project_id') ?? '',
    user_id: instance.find('user_id') ?? '',
    key_name: instance.find('key_name') ?? null,
    metadata: { ...instance.find('metadata') },
  };
}

function placeView(instance: Instance, look: ServerLook): ServerShown {
  return { hostId: hostIdOf(instance), 'OS-EXT-AZ:availability_zone': zoneText(instance, look) };
}

function momentsView(instance: Instance): ServerShown {
  const created = instance.find('created_at');
  return {
    created: isoText(created),
    updated: isoText(instance.find('updated_at') ?? created),
    'OS-SRV-USG:launched_at': timeOrNull(instance.find('launched_at')),
    'OS-SRV-USG:terminated_at': timeOrNull(instance.find('terminated_at')),
  };
}

/** The same for the instances of a project that are on the same host, and telling nothing of it. */
function hostIdOf(instance: Instance): string {
  const host = instance.find('host') ?? null;
  if (host === null) return '';
  return createHash('sha224')
    .update(`${instance.find('project_id') ?? ''}${host}`)
    .digest('hex');
}

function imageView(image: string, links: Links): object | '' {
  return image === '' ? '' : { id: image, links: [links.bookmark(`/images/${encodeURIComponent(image)}`)] };
}

function flavorView(flavor: Flavor | undefined, { version, links, sees }: ServerLook): object {
  if (!flavor) return {};
  if (version.minor < 47) {
    const id = flavor.find('flavorid') ?? '';
    return { id, links: [links.bookmark(`/flavors/${encodeURIComponent(id)}`)] };
  }
  return {
    vcpus: flavor.get('vcpus'),
    ram: flavor.get('memory_mb'),
    disk: flavor.get('root_gb'),
    ephemeral: flavor.find('ephemeral_gb') ?? 0,
    swap: flavor.find('swap') ?? 0,
    original_name: flavor.get('name'),
    ...(sees.extraSpecs && { extra_specs: { ...flavor.find('extra_specs') } }),
  };
}

function faultView(instance: Instance, isDetailed: boolean): object {
  const fault = instance.find('fault');
  if (!fault) return {};
  const code = fault.find('code') ?? 500;
  const details = fault.find('details') ?? null;
  return {
    fault: {
      code,
      created: isoText(fault.find('created_at')),
      message: fault.find('message') ?? '',
      ...(details !== null && (isDetailed || code !== 500) && { details }),
    },
  };
}

/** Where it is; else where it was wanted. */
function zoneText(instance: Instance, { serviceOf }: ServerLook): string {
  const host = instance.find('host') ?? null;
  const service = host === null ? undefined : serviceOf(host);
  return service ? zoneOf(service) : (instance.find('availability_zone') ?? '');
}

function volumesOf(instance: Instance, minor: number): readonly object[] {
  const disks = instance.find('block_device_mapping')?.find('objects') ?? [];
  return disks.flatMap((disk) => {
    const id = disk.find('volume_id') ?? null;
    const delete_on_termination = disk.find('delete_on_termination') ?? false;
    return id === null ? [] : [{ id, ...(minor >= 3 && { delete_on_termination }) }];
  });
}

function attributesView(instance: Instance, minor: number): object {
  const fields = new Map(instance.entries()); // also those that only Nova makes
  const orNull = (name: string): unknown => fields.get(name) ?? null;
  return {
    'OS-EXT-SRV-ATTR:host': orNull('host'),
    'OS-EXT-SRV-ATTR:hypervisor_hostname': orNull('node'),
    'OS-EXT-SRV-ATTR:instance_name': `instance-${instance.get('id').toString(16).padStart(8, '0')}`,
    ...(minor >= 3 && {
      'OS-EXT-SRV-ATTR:hostname': orNull('hostname'),
      'OS-EXT-SRV-ATTR:kernel_id': fields.get('kernel_id') ?? '',
      'OS-EXT-SRV-ATTR:launch_index': fields.get('launch_index') ?? 0,
      'OS-EXT-SRV-ATTR:ramdisk_id': fields.get('ramdisk_id') ?? '',
      'OS-EXT-SRV-ATTR:reservation_id': orNull('reservation_id'),
      'OS-EXT-SRV-ATTR:root_device_name': orNull('root_device_name'),
      'OS-EXT-SRV-ATTR:user_data': orNull('user_data'),
    }),
  };
}

/** DOWN when it was forced down, else MAINTENANCE when it is disabled, else UP or UNKNOWN; empty: it is on no host (FD-27). */
function hostStatusView(instance: Instance, { serviceOf, liveness, sees }: ServerLook): ServerShown {
  const host = instance.find('host') ?? null;
  const service = host === null ? undefined : serviceOf(host);
  const status = service ? statusOfHost(service, liveness) : '';
  if (sees.hostStatus === true || (sees.hostStatus === 'unknown' && status === 'UNKNOWN'))
    return { host_status: status };
  return {};
}

function statusOfHost(service: ServiceRecord, liveness: Liveness): string {
  if (service.forcedDown) return 'DOWN';
  if (service.disabled) return 'MAINTENANCE';
  return liveness.isUp(service) ? 'UP' : 'UNKNOWN';
}

function lockedReasonOf(instance: Instance): string | null {
  const notes = new Map(Object.entries(instance.find('system_metadata') ?? {}));
  return notes.get('locked_reason') ?? null;
}
