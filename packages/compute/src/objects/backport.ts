import { ObjectFormatError } from '../errors.js';
import { NovaObject } from './nova-object.js';

/** A version of an object: what came with it is what older readers do not know. */
type Step = readonly [version: string, ...fields: string[]];

/** What Nova has added to its objects, by their names. */
const ADDED: ReadonlyMap<string, readonly Step[]> = new Map<string, readonly Step[]>([
  [
    'Instance',
    [
      ['2.8', 'compute_id'],
      ['2.7', 'resources'],
      ['2.6', 'hidden'],
      ['2.4', 'trusted_certs'],
      ['2.3', 'device_metadata'],
      ['2.2', 'keypairs'],
      ['2.1', 'services'],
    ],
  ],
  [
    'Migration',
    [
      ['1.8', 'dest_compute_id'],
      ['1.7', 'user_id', 'project_id'],
      ['1.6', 'cross_cell_move'],
      ['1.5', 'uuid'],
      ['1.4', 'memory_total', 'memory_processed', 'memory_remaining'],
      ['1.4', 'disk_total', 'disk_processed', 'disk_remaining'],
      ['1.2', 'migration_type', 'hidden'],
    ],
  ],
  [
    'RequestSpec',
    [
      ['1.14', 'requested_networks'],
      ['1.13', 'request_level_params'],
      ['1.12', 'requested_resources'],
      ['1.11', 'is_bfv'],
      ['1.10', 'network_metadata'],
      ['1.9', 'user_id'],
      ['1.8', 'security_groups'],
      ['1.6', 'requested_destination'],
    ],
  ],
  [
    'Destination',
    [
      ['1.4', 'forbidden_aggregates'],
      ['1.3', 'allow_cross_cell_move'],
      ['1.2', 'aggregates'],
      ['1.1', 'cell'],
    ],
  ],
  ['Flavor', [['1.2', 'description']]],
  ['Selection', [['1.1', 'availability_zone']]],
  [
    'ImageMetaProps',
    [
      ['1.42', 'hw_mem_encryption_model'],
      ['1.41', 'hw_usb_model', 'hw_redirected_usb_ports'],
      ['1.40', 'hw_sound_model'],
      ['1.38', 'hw_firmware_stateless'],
      ['1.37', 'hw_ephemeral_encryption_secret_uuid'],
      ['1.36', 'hw_maxphysaddr_mode', 'hw_maxphysaddr_bits'],
      ['1.35', 'hw_virtio_packed_ring'],
      ['1.34', 'hw_viommu_model'],
      ['1.33', 'hw_locked_memory'],
      ['1.32', 'hw_ephemeral_encryption', 'hw_ephemeral_encryption_format'],
      ['1.31', 'hw_emulation_architecture'],
      ['1.29', 'hw_input_bus'],
      ['1.27', 'hw_tpm_model', 'hw_tpm_version'],
      ['1.25', 'hw_pci_numa_affinity_policy'],
      ['1.24', 'hw_mem_encryption'],
      ['1.23', 'hw_pmu'],
    ],
  ],
  [
    'LibvirtLiveMigrateData',
    [
      ['1.13', 'pci_dev_map_src_dst'],
      ['1.12', 'dst_cpu_shared_set_info'],
      ['1.11', 'target_mdevs', 'source_mdev_types', 'dst_supports_mdev_live_migration'],
      ['1.10', 'src_supports_numa_live_migration', 'dst_supports_numa_live_migration', 'dst_numa_info'],
      ['1.9', 'vifs'],
      ['1.8', 'file_backed_memory_discard'],
      ['1.7', 'dst_wants_file_backed_memory'],
      ['1.6', 'wait_for_vif_plugged'],
      ['1.5', 'src_supports_native_luks'],
      ['1.4', 'old_vol_attachment_ids'],
      ['1.3', 'supported_perf_events'],
      ['1.2', 'serial_listen_ports'],
      ['1.1', 'target_connect_addr'],
    ],
  ],
  [
    'BlockDeviceMapping',
    [
      ['1.21', 'encrypted', 'encryption_secret_uuid', 'encryption_format', 'encryption_options'],
      ['1.20', 'volume_type'],
      ['1.19', 'uuid'],
      ['1.18', 'attachment_id'],
      ['1.17', 'tag'],
    ],
  ],
  [
    'NetworkRequest',
    [
      ['1.3', 'arq_uuid', 'device_profile'],
      ['1.2', 'tag'],
    ],
  ],
  [
    'MigrationContext',
    [
      ['1.2', 'old_resources', 'new_resources'],
      ['1.1', 'old_pci_devices', 'new_pci_devices', 'old_pci_requests', 'new_pci_requests'],
    ],
  ],
  ['ShareMapping', [['1.2', 'access_type', 'access_to', 'access_key']]],
]);

const VERSION = /^(\d{1,6})\.(\d{1,6})(?:\.\d{1,6})?$/;

/**
 * A copy of an object in which it, and each object in it, is of the version that `versions` has for its name, as far as that
 * is older: the fields that came later are left out, as Nova itself leaves them out. Objects without a version there stay as
 * they are.
 * @throws ObjectFormatError (`ERR_OBJECT`) for a version that is none, or of another major
 */
export function backport(object: NovaObject, versions: ReadonlyMap<string, string>): NovaObject {
  const { name, version } = object.identity;
  const wanted = versions.get(name) ?? version;
  const isOlder = minorOf(name, wanted, version) < minorOf(name, version, version);
  const unknown = isOlder ? addedAfter(name, wanted) : new Set<string>();
  const fields = [...object.entries()]
    .filter(([field]) => !unknown.has(field))
    .map(([field, value]): [string, unknown] => [field, backportValue(value, versions)]);
  const changes = object.changes.filter((field) => !unknown.has(field));
  return new NovaObject({ ...object.identity, version: isOlder ? wanted : version }, fields, changes);
}

function backportValue(value: unknown, versions: ReadonlyMap<string, string>): unknown {
  if (typeof value !== 'object' || value === null || value instanceof Date) return value;
  if (Array.isArray(value)) return value.map((member) => backportValue(member, versions));
  if (value instanceof NovaObject) return backport(value as NovaObject, versions); // of whatever kind
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, backportValue(member, versions)]),
  );
}

function addedAfter(name: string, wanted: string): ReadonlySet<string> {
  const steps = (ADDED.get(name) ?? []).filter(
    ([version]) => minorOf(name, version, version) > minorOf(name, wanted, wanted),
  );
  return new Set(steps.flatMap(([, ...fields]) => fields));
}

/** The minor of a version, whose major must be that of another one. */
function minorOf(name: string, version: string, like: string): number {
  const [, major, minor] = VERSION.exec(version) ?? [];
  if (minor !== undefined && major === like.split('.', 1)[0]) return Number(minor);
  throw new ObjectFormatError(`${name} ${like} cannot be made "${version.slice(0, 64)}"`);
}
