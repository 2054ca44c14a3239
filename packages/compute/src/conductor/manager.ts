import { CONDUCTOR_METHODS, CONDUCTOR_NAMESPACE, CONDUCTOR_RPC_VERSION } from '../rpc/conductor-methods.js';
import { makeEndpoint } from '../rpc/endpoint.js';
import type { ConductorContext } from './conductor-context.js';
import { scheduleAndBuild } from './tasks/build.js';
import { LiveMigrateTask } from './tasks/live-migrate.js';

/** What a conductor answers to. The work is in `tasks/`. */
export function conductorEndpoint(conductor: ConductorContext): object {
  const its = { version: CONDUCTOR_RPC_VERSION, namespace: CONDUCTOR_NAMESPACE };
  return makeEndpoint(CONDUCTOR_METHODS, its, {
    schedule_and_build_instances: (context, args) => scheduleAndBuild(conductor, context, args),
    live_migrate_instance: (context, args) => new LiveMigrateTask(conductor, context, args).run(),
  });
}
