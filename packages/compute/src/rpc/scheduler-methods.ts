export const SCHEDULER_RPC_VERSION = '4.5';

/**
 * The methods of the scheduler (`compute-rpc.md` 2.2); the columns are those of the compute methods. Nova makes the choice a
 * long call; the others it casts to all schedulers.
 */
// prettier-ignore
export const SCHEDULER_METHODS = {
  select_destinations: {
    since: '4.0', version: '4.5', kind: 'call', topic: 'main', starts: false, route: 'conductor -> scheduler', returns: 'list',
    older: [{ below: '4.5', version: '4.4', drop: ['return_objects', 'return_alternates'] }],
    args: { spec_obj: 'RequestSpec', instance_uuids: 'list', return_objects: 'boolean', return_alternates: 'boolean' },
  },
  update_instance_info: {
    since: '4.2', version: '4.2', kind: 'cast', topic: 'main', starts: false, route: 'host -> all schedulers', returns: 'nothing',
    args: { host_name: 'string', instance_info: 'any' },
  },
  delete_instance_info: {
    since: '4.2', version: '4.2', kind: 'cast', topic: 'main', starts: false, route: 'host -> all schedulers', returns: 'nothing',
    args: { host_name: 'string', instance_uuid: 'string' },
  },
  sync_instance_info: {
    since: '4.2', version: '4.2', kind: 'cast', topic: 'main', starts: false, route: 'host -> all schedulers', returns: 'nothing',
    args: { host_name: 'string', instance_uuids: 'list' },
  },
  update_aggregates: {
    since: '4.1', version: '4.1', kind: 'cast', topic: 'main', starts: false, route: 'API -> all schedulers', returns: 'nothing',
    args: { aggregates: 'any' },
  },
  delete_aggregate: {
    since: '4.1', version: '4.1', kind: 'cast', topic: 'main', starts: false, route: 'API -> all schedulers', returns: 'nothing',
    args: { aggregate: 'any' },
  },
} as const;

/** The type of {@link SCHEDULER_METHODS}. */
export type SchedulerMethods = typeof SCHEDULER_METHODS;
