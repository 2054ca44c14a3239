import { CONDUCTOR_METHODS, CONDUCTOR_NAMESPACE, CONDUCTOR_RPC_VERSION } from '../rpc/conductor-methods.js';
import { makeEndpoint } from '../rpc/endpoint.js';
import type { ConductorContext } from './conductor-context.js';
import { attachVolume } from './tasks/attach-volume.js';
import { buildAgain, scheduleAndBuild } from './tasks/build.js';
import { cacheImagesOn } from './tasks/cache-images.js';
import { RebuildTask } from './tasks/rebuild.js';
import { CrossCellConfirmTask } from './tasks/cross-cell-confirm.js';
import { CrossCellRevertTask } from './tasks/cross-cell-revert.js';
import { migrateServer } from './tasks/cold-migrate.js';
import { LiveMigrateTask } from './tasks/live-migrate.js';
import { unshelve } from './tasks/unshelve.js';

/** What a conductor answers to. The work is in `tasks/`. */
export function conductorEndpoint(conductor: ConductorContext): object {
  const its = { version: CONDUCTOR_RPC_VERSION, namespace: CONDUCTOR_NAMESPACE };
  return makeEndpoint(CONDUCTOR_METHODS, its, {
    schedule_and_build_instances: (context, args) => scheduleAndBuild(conductor, context, args),
    build_instances: (context, args) => buildAgain(conductor, context, args),
    rebuild_instance: (context, args) => new RebuildTask(conductor, context, args).run(),
    migrate_server: (context, args) => migrateServer(conductor, context, args),
    confirm_snapshot_based_resize: (context, args) =>
      new CrossCellConfirmTask(conductor, context, args).run(),
    revert_snapshot_based_resize: (context, args) => new CrossCellRevertTask(conductor, context, args).run(),
    unshelve_instance: (context, args) => unshelve(conductor, context, args),
    cache_images: (context, args) => cacheImagesOn(conductor, context, args),
    attach_volume: (context, args) => attachVolume(conductor, context, args),
    live_migrate_instance: (context, args) => new LiveMigrateTask(conductor, context, args).run(),
  });
}
