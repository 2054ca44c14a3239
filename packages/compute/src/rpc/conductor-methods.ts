export const CONDUCTOR_NAMESPACE = 'compute_task';
export const CONDUCTOR_RPC_VERSION = '1.26';

/**
 * The methods of the conductor (`compute-rpc.md` 2.2); the columns are those of the compute methods.
 * In `schedule_and_build_instances` the instances to be built travel themselves, where Nova wraps each in a BuildRequest.
 */
// prettier-ignore
export const CONDUCTOR_METHODS = {
  schedule_and_build_instances: {
    since: '1.16', version: '1.17', kind: 'cast', topic: 'main', starts: true, route: 'API -> conductor', returns: 'nothing',
    args: { build_requests: 'Instances', request_specs: 'list', image: 'dict', admin_password: 'string?',
      injected_files: 'list?', requested_networks: 'NetworkRequests?', block_device_mapping: 'list', tags: 'list?' },
  },
  build_instances: {
    since: '1.5', version: '1.19', kind: 'cast', topic: 'main', starts: true, route: 'host -> conductor', returns: 'nothing',
    args: { instances: 'Instances', image: 'dict', filter_properties: 'dict?', admin_password: 'string?',
      injected_files: 'list?', requested_networks: 'NetworkRequests?', security_groups: 'list?',
      block_device_mapping: 'BlockDevices?', legacy_bdm: 'boolean?', request_spec: 'RequestSpec?', host_lists: 'list?' },
  },
  migrate_server: {
    since: '1.0', version: '1.20', kind: 'cast', topic: 'main', starts: true, route: 'API, host -> conductor', returns: 'nothing',
    args: { instance: 'Instance', scheduler_hint: 'dict', live: 'boolean', rebuild: 'boolean', flavor: 'Flavor?',
      block_migration: 'boolean?', disk_over_commit: 'boolean?', reservations: 'list?', clean_shutdown: 'boolean',
      request_spec: 'RequestSpec?', host_list: 'list?' },
  },
  live_migrate_instance: {
    since: '1.15', version: '1.15', kind: 'cast', topic: 'main', starts: true, route: 'API -> conductor', returns: 'nothing',
    args: { instance: 'Instance', scheduler_hint: 'dict', block_migration: 'boolean?', disk_over_commit: 'boolean?',
      request_spec: 'RequestSpec?' },
  },
  confirm_snapshot_based_resize: {
    since: '1.22', version: '1.22', kind: 'cast', topic: 'main', starts: true, route: 'API -> conductor', returns: 'nothing',
    args: { instance: 'Instance', migration: 'Migration' },
  },
  revert_snapshot_based_resize: {
    since: '1.23', version: '1.23', kind: 'cast', topic: 'main', starts: true, route: 'API -> conductor', returns: 'nothing',
    args: { instance: 'Instance', migration: 'Migration' },
  },
  unshelve_instance: {
    since: '1.3', version: '1.14', kind: 'cast', topic: 'main', starts: true, route: 'API -> conductor', returns: 'nothing',
    args: { instance: 'Instance', request_spec: 'RequestSpec?' },
  },
  cache_images: {
    since: '1.21', version: '1.21', kind: 'cast', topic: 'main', starts: true, route: 'API -> conductor', returns: 'nothing',
    args: { aggregate: 'object', image_ids: 'list' },
  },
  attach_volume: {
    since: '1.26', version: '1.26', kind: 'long-call', topic: 'main', starts: true, route: 'API -> conductor', returns: 'string',
    args: { instance: 'Instance', volume: 'dict', device: 'string?', disk_bus: 'string?', device_type: 'string?',
      tag: 'string?', supports_multiattach: 'boolean', delete_on_termination: 'boolean' },
  },
  rebuild_instance: {
    since: '1.8', version: '1.25', kind: 'cast', topic: 'main', starts: true, route: 'API -> conductor', returns: 'nothing',
    args: { instance: 'Instance', orig_image_ref: 'string?', image_ref: 'string?', injected_files: 'list?',
      new_pass: 'string?', orig_sys_metadata: 'dict?', bdms: 'BlockDevices?', recreate: 'boolean',
      on_shared_storage: 'boolean?', preserve_ephemeral: 'boolean?', host: 'string?', request_spec: 'RequestSpec?',
      reimage_boot_volume: 'boolean?', target_state: 'string?' },
  },
} as const;

/** The type of {@link CONDUCTOR_METHODS}. */
export type ConductorMethods = typeof CONDUCTOR_METHODS;
