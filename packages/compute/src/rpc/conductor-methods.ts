export const CONDUCTOR_NAMESPACE = 'compute_task';
export const CONDUCTOR_RPC_VERSION = '1.26';

/**
 * The methods of the conductor that exist so far (`compute-rpc.md` 2.2); the columns are those of the compute methods.
 * In `schedule_and_build_instances` the instances to be built travel themselves, where Nova wraps each in a BuildRequest.
 */
// prettier-ignore
export const CONDUCTOR_METHODS = {
  schedule_and_build_instances: {
    since: '1.16', version: '1.17', kind: 'cast', topic: 'main', starts: true, route: 'API -> conductor', returns: 'nothing',
    args: { build_requests: 'Instances', request_specs: 'list', image: 'dict', admin_password: 'string?',
      injected_files: 'list?', requested_networks: 'NetworkRequests?', block_device_mapping: 'list', tags: 'list?' },
  },
  live_migrate_instance: {
    since: '1.15', version: '1.15', kind: 'cast', topic: 'main', starts: true, route: 'API -> conductor', returns: 'nothing',
    args: { instance: 'Instance', scheduler_hint: 'dict', block_migration: 'boolean?', disk_over_commit: 'boolean?',
      request_spec: 'RequestSpec?' },
  },
} as const;

/** The type of {@link CONDUCTOR_METHODS}. */
export type ConductorMethods = typeof CONDUCTOR_METHODS;
