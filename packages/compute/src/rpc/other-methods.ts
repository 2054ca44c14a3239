/**
 * What else is needed to run instances (`compute-rpc.md` 2.2). See `methods.ts` for the columns. The two that shorten a
 * live migration are on ops, so that they reach a host that drains (`decisions.md` 25); Nova has them on main.
 */
// prettier-ignore
export const OTHER_METHODS = {
  build_and_run_instance: {
    since: '3.23', version: '6.0', kind: 'cast', topic: 'main', starts: true, route: 'conductor -> host', returns: 'nothing',
    args: { instance: 'Instance', image: 'dict', request_spec: 'RequestSpec', filter_properties: 'dict?',
      admin_password: 'string?', injected_files: 'list?', requested_networks: 'NetworkRequests?',
      security_groups: 'list?', block_device_mapping: 'BlockDevices?', node: 'string?', limits: 'any',
      host_list: 'list?', accel_uuids: 'list?' },
  },
  live_migration_abort: {
    since: '4.10', version: '6.0', kind: 'cast', topic: 'ops', starts: false, route: 'API -> source', returns: 'nothing',
    args: { instance: 'Instance', migration_id: 'number' },
  },
  live_migration_force_complete: {
    since: '4.9', version: '6.0', kind: 'cast', topic: 'ops', starts: false, route: 'API -> source', returns: 'nothing',
    args: { instance: 'Instance' },
  },
  terminate_instance: {
    since: '1.37', version: '6.0', kind: 'cast', topic: 'main', starts: true, route: 'API -> host', returns: 'nothing',
    args: { instance: 'Instance', bdms: 'BlockDevices?' },
  },
  start_instance: {
    since: '1.21', version: '6.0', kind: 'cast', topic: 'main', starts: true, route: 'API -> host', returns: 'nothing',
    args: { instance: 'Instance' },
  },
  stop_instance: {
    since: '1.21', version: '6.0', kind: 'cast', topic: 'main', starts: true, route: 'API -> host', returns: 'nothing',
    args: { instance: 'Instance', clean_shutdown: 'boolean' },
  },
  reboot_instance: {
    since: '1.4', version: '6.0', kind: 'cast', topic: 'main', starts: true, route: 'API -> host', returns: 'nothing',
    args: { instance: 'Instance', block_device_info: 'any', reboot_type: 'string' },
  },
  snapshot_instance: {
    since: '1.34', version: '6.0', kind: 'cast', topic: 'main', starts: true, route: 'API -> host', returns: 'nothing',
    args: { instance: 'Instance', image_id: 'string' },
  },
  get_console_output: {
    since: '1.7', version: '6.0', kind: 'call', topic: 'main', starts: false, route: 'API -> host', returns: 'any',
    args: { instance: 'Instance', tail_length: 'any' },
  },
  get_vnc_console: {
    since: '1.7', version: '6.0', kind: 'call', topic: 'main', starts: false, route: 'API -> host', returns: 'dict',
    args: { instance: 'Instance', console_type: 'string' },
  },
  get_spice_console: {
    since: '1.7', version: '6.0', kind: 'call', topic: 'main', starts: false, route: 'API -> host', returns: 'dict',
    args: { instance: 'Instance', console_type: 'string' },
  },
  get_serial_console: {
    since: '1.7', version: '6.0', kind: 'call', topic: 'main', starts: false, route: 'API -> host', returns: 'dict',
    args: { instance: 'Instance', console_type: 'string' },
  },
  get_host_uptime: {
    since: '1.1', version: '6.0', kind: 'call', topic: 'main', starts: false, route: 'API -> host', returns: 'string',
    args: {},
  },
  set_host_enabled: {
    since: '1.1', version: '6.0', kind: 'long-call', topic: 'main', starts: false, route: 'API -> host', returns: 'string',
    args: { enabled: 'boolean' },
  },
  reserve_block_device_name: {
    since: '2.3', version: '6.0', kind: 'long-call', topic: 'main', starts: true, route: 'API -> host', returns: 'object',
    args: { instance: 'Instance', device: 'string?', volume_id: 'string', disk_bus: 'string?',
      device_type: 'string?', tag: 'string?', multiattach: 'boolean?' },
  },
  attach_volume: {
    since: '1.9', version: '6.0', kind: 'cast', topic: 'main', starts: true, route: 'API -> host', returns: 'nothing',
    args: { instance: 'Instance', bdm: 'object' },
  },
  cache_images: {
    since: '5.4', version: '6.0', kind: 'long-call', topic: 'main', starts: true, route: 'conductor -> host', returns: 'dict',
    args: { image_ids: 'list' },
  },
  shelve_instance: {
    since: '2.31', version: '6.0', kind: 'cast', topic: 'main', starts: true, route: 'API -> host', returns: 'nothing',
    args: { instance: 'Instance', image_id: 'string?', clean_shutdown: 'boolean', accel_uuids: 'list?' },
  },
  shelve_offload_instance: {
    since: '2.31', version: '6.0', kind: 'cast', topic: 'main', starts: true, route: 'API -> host', returns: 'nothing',
    args: { instance: 'Instance', clean_shutdown: 'boolean', accel_uuids: 'list?' },
  },
  unshelve_instance: {
    since: '2.31', version: '6.0', kind: 'cast', topic: 'main', starts: true, route: 'conductor -> host', returns: 'nothing',
    args: { instance: 'Instance', image: 'any', filter_properties: 'dict?', node: 'string?',
      request_spec: 'RequestSpec?', accel_uuids: 'list?' },
  },
  suspend_instance: {
    since: '1.6', version: '6.0', kind: 'cast', topic: 'main', starts: true, route: 'API -> host', returns: 'nothing',
    args: { instance: 'Instance' },
  },
  resume_instance: {
    since: '1.6', version: '6.0', kind: 'cast', topic: 'main', starts: true, route: 'API -> host', returns: 'nothing',
    args: { instance: 'Instance' },
  },
  pause_instance: {
    since: '1.6', version: '6.0', kind: 'cast', topic: 'main', starts: true, route: 'API -> host', returns: 'nothing',
    args: { instance: 'Instance' },
  },
  unpause_instance: {
    since: '1.6', version: '6.0', kind: 'cast', topic: 'main', starts: true, route: 'API -> host', returns: 'nothing',
    args: { instance: 'Instance' },
  },
  rescue_instance: {
    since: '1.9', version: '6.0', kind: 'cast', topic: 'main', starts: true, route: 'API -> host', returns: 'nothing',
    args: { instance: 'Instance', rescue_password: 'string?', rescue_image_ref: 'string?',
      clean_shutdown: 'boolean' },
  },
  unrescue_instance: {
    since: '1.9', version: '6.0', kind: 'cast', topic: 'main', starts: true, route: 'API -> host', returns: 'nothing',
    args: { instance: 'Instance' },
  },
  set_admin_password: {
    since: '1.33', version: '6.0', kind: 'call', topic: 'main', starts: true, route: 'API -> host', returns: 'nothing',
    args: { instance: 'Instance', new_pass: 'string?' },
  },
  trigger_crash_dump: {
    since: '4.6', version: '6.0', kind: 'cast', topic: 'main', starts: true, route: 'API -> host', returns: 'nothing',
    args: { instance: 'Instance' },
  },
  quiesce_instance: {
    since: '2.35', version: '6.0', kind: 'call', topic: 'main', starts: true, route: 'API -> host', returns: 'nothing',
    args: { instance: 'Instance' },
  },
  allow_share: {
    since: '6.4', version: '6.4', kind: 'cast', topic: 'main', starts: true, route: 'API -> host', returns: 'nothing',
    args: { instance: 'Instance', share_mapping: 'object' },
  },
  deny_share: {
    since: '6.4', version: '6.4', kind: 'cast', topic: 'main', starts: true, route: 'API -> host', returns: 'nothing',
    args: { instance: 'Instance', share_mapping: 'object' },
  },
  unquiesce_instance: {
    since: '2.35', version: '6.0', kind: 'cast', topic: 'main', starts: true, route: 'API -> host', returns: 'nothing',
    args: { instance: 'Instance', mapping: 'any' },
  },
} as const;
