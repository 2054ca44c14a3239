/**
 * The methods that the graceful-shutdown blueprint names (`compute-rpc.md` 2.1). See `methods.ts` for the columns.
 * `rebuild_instance` is on ops as the blueprint's list has it (GS-64); Nova itself left it on main.
 */
// prettier-ignore
export const NAMED_METHODS = {
  check_can_live_migrate_destination: {
    since: '1.2', version: '6.0', kind: 'long-call', topic: 'main', starts: true, route: 'conductor -> dest', returns: 'MigrateData',
    args: { instance: 'Instance', block_migration: 'boolean?', disk_over_commit: 'boolean?',
      migration: 'Migration', limits: 'object?' },
  },
  check_can_live_migrate_source: {
    since: '1.2', version: '6.0', kind: 'call', topic: 'main', starts: true, route: 'dest -> source', returns: 'MigrateData',
    args: { instance: 'Instance', dest_check_data: 'MigrateData' },
  },
  pre_live_migration: {
    since: '1.23', version: '6.0', kind: 'long-call', topic: 'ops', starts: false, route: 'source -> dest', returns: 'MigrateData',
    args: { instance: 'Instance', disk: 'any', migrate_data: 'MigrateData' },
  },
  live_migration: {
    since: '1.40', version: '6.0', kind: 'cast', topic: 'ops', starts: false, route: 'conductor -> source', returns: 'nothing',
    args: { instance: 'Instance', dest: 'string', block_migration: 'boolean?', migrate_data: 'MigrateData',
      migration: 'Migration' },
  },
  post_live_migration_at_destination: {
    since: '1.20', version: '6.0', kind: 'long-call', topic: 'ops', starts: false, route: 'source -> dest', returns: 'nothing',
    args: { instance: 'Instance', block_migration: 'boolean?' },
  },
  remove_volume_connection: {
    since: '1.26', version: '6.3', kind: 'call', topic: 'ops', starts: false, route: 'source -> dest', returns: 'nothing',
    older: [{ below: '6.3', version: '6.0', drop: ['delete_attachment'] }],
    args: { instance: 'Instance', volume_id: 'string', delete_attachment: 'boolean' },
  },
  rollback_live_migration_at_destination: {
    since: '1.32', version: '6.0', kind: 'cast', topic: 'ops', starts: false, route: 'source -> dest', returns: 'nothing',
    args: { instance: 'Instance', destroy_disks: 'boolean', migrate_data: 'MigrateData?' },
  },
  drop_move_claim_at_destination: {
    since: '5.3', version: '6.0', kind: 'call', topic: 'ops', starts: false, route: 'source -> dest', returns: 'nothing',
    args: { instance: 'Instance' },
  },
  prep_resize: {
    since: '1.38', version: '6.0', kind: 'cast', topic: 'main', starts: true, route: 'conductor -> dest', returns: 'nothing',
    args: { instance: 'Instance', flavor: 'Flavor', image: 'dict', request_spec: 'RequestSpec',
      filter_properties: 'dict?', node: 'string?', migration: 'Migration?', clean_shutdown: 'boolean',
      host_list: 'list?' },
  },
  resize_instance: {
    since: '1.29', version: '6.0', kind: 'cast', topic: 'ops', starts: false, route: 'dest -> source', returns: 'nothing',
    args: { instance: 'Instance', migration: 'Migration', image: 'dict', flavor: 'Flavor',
      clean_shutdown: 'boolean', request_spec: 'RequestSpec?' },
  },
  finish_resize: {
    since: '1.14', version: '6.0', kind: 'cast', topic: 'ops', starts: false, route: 'source -> dest', returns: 'nothing',
    args: { instance: 'Instance', migration: 'Migration', image: 'dict', disk_info: 'any',
      request_spec: 'RequestSpec?' },
  },
  confirm_resize: {
    since: '1.12', version: '6.0', kind: 'cast', topic: 'main', starts: true, route: 'API -> source', returns: 'nothing',
    args: { instance: 'Instance', migration: 'Migration' },
  },
  revert_resize: {
    since: '1.31', version: '6.0', kind: 'cast', topic: 'main', starts: true, route: 'API -> dest', returns: 'nothing',
    args: { instance: 'Instance', migration: 'Migration', request_spec: 'RequestSpec?' },
  },
  check_instance_shared_storage: {
    since: '2.28', version: '6.0', kind: 'call', topic: 'ops', starts: false, route: 'dest -> source', returns: 'boolean',
    args: { data: 'dict' },
  },
  finish_revert_resize: {
    since: '1.15', version: '6.0', kind: 'cast', topic: 'ops', starts: false, route: 'dest -> source', returns: 'nothing',
    args: { instance: 'Instance', migration: 'Migration', request_spec: 'RequestSpec?' },
  },
  prep_snapshot_based_resize_at_dest: {
    since: '5.5', version: '6.0', kind: 'long-call', topic: 'main', starts: true, route: 'conductor -> dest', returns: 'object',
    args: { instance: 'Instance', flavor: 'Flavor', nodename: 'string', migration: 'Migration',
      limits: 'object?' },
  },
  prep_snapshot_based_resize_at_source: {
    since: '5.6', version: '6.0', kind: 'long-call', topic: 'ops', starts: false, route: 'conductor -> source', returns: 'nothing',
    args: { instance: 'Instance', migration: 'Migration', snapshot_id: 'string?' },
  },
  finish_snapshot_based_resize_at_dest: {
    since: '5.7', version: '6.0', kind: 'long-call', topic: 'ops', starts: false, route: 'conductor -> dest', returns: 'nothing',
    args: { instance: 'Instance', migration: 'Migration', snapshot_id: 'string?' },
  },
  confirm_snapshot_based_resize_at_source: {
    since: '5.8', version: '6.0', kind: 'long-call', topic: 'main', starts: true, route: 'conductor -> source', returns: 'nothing',
    args: { instance: 'Instance', migration: 'Migration' },
  },
  revert_snapshot_based_resize_at_dest: {
    since: '5.9', version: '6.0', kind: 'long-call', topic: 'main', starts: true, route: 'conductor -> dest', returns: 'nothing',
    args: { instance: 'Instance', migration: 'Migration' },
  },
  finish_revert_snapshot_based_resize_at_source: {
    since: '5.10', version: '6.0', kind: 'long-call', topic: 'ops', starts: false, route: 'conductor -> source', returns: 'nothing',
    args: { instance: 'Instance', migration: 'Migration' },
  },
  validate_console_port: {
    since: '2.26', version: '6.0', kind: 'call', topic: 'ops', starts: false, route: 'console proxy -> host', returns: 'boolean',
    args: { instance: 'Instance', port: 'string', console_type: 'string' },
  },
  external_instance_event: {
    since: '3.23', version: '6.0', kind: 'cast', topic: 'ops', starts: false, route: 'API -> each host concerned', returns: 'nothing',
    args: { instances: 'Instances', events: 'Events' },
  },
  rebuild_instance: {
    since: '1.24', version: '6.2', kind: 'cast', topic: 'ops', starts: true, route: 'conductor -> host', returns: 'nothing',
    older: [{ below: '6.2', version: '6.1', drop: ['target_state'], refuse: true },
      { below: '6.1', version: '6.0', drop: ['reimage_boot_volume'], refuse: true }],
    args: { instance: 'Instance', new_pass: 'string?', injected_files: 'list?', image_ref: 'string?',
      orig_image_ref: 'string?', orig_sys_metadata: 'dict?', bdms: 'BlockDevices?',
      recreate: 'boolean?', on_shared_storage: 'boolean?', preserve_ephemeral: 'boolean?',
      migration: 'Migration?', scheduled_node: 'string?', limits: 'any', request_spec: 'RequestSpec?',
      accel_uuids: 'list?', reimage_boot_volume: 'boolean?', target_state: 'string?' },
  },
} as const;
