export const SCHEDULER_RPC_VERSION = '4.5';

/** The methods of the scheduler (`compute-rpc.md` 2.2); the columns are those of the compute methods. Nova makes it a long call. */
// prettier-ignore
export const SCHEDULER_METHODS = {
  select_destinations: {
    since: '4.0', version: '4.5', kind: 'call', topic: 'main', starts: false, route: 'conductor -> scheduler', returns: 'list',
    args: { spec_obj: 'RequestSpec', instance_uuids: 'list', return_objects: 'boolean', return_alternates: 'boolean' },
  },
} as const;

/** The type of {@link SCHEDULER_METHODS}. */
export type SchedulerMethods = typeof SCHEDULER_METHODS;
