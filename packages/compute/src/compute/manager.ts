import { RequestContext } from '@ebbgate/core';
import type { PeriodicTask } from '@ebbgate/service';
import { COMPUTE_METHODS, type ComputeMethods } from '../rpc/methods.js';
import { COMPUTE_RPC_VERSION } from '../rpc/topics.js';
import { type Handlers, makeEndpoint } from '../rpc/endpoint.js';
import { HeldOperations } from './held-operations.js';
import { ACTIONS_SELF_TRACKED, actionHandlers } from './action-handlers.js';
import { COLD_MOVES_SELF_TRACKED, coldMoveHandlers } from './cold-move-handlers.js';
import { type ColdMoveFlows, coldMoveFlowsOf } from './cold-move-flows.js';
import { crossCellHandlers } from './cross-cell-handlers.js';
import type { HostContext } from './host-context.js';
import { Boot } from './operations/boot.js';
import { cacheImages } from './operations/cache-images.js';
import { deliverEvents } from './operations/external-events.js';
import { LiveMigration } from './operations/live-migration.js';
import { LiveMigrationAtDestination } from './operations/live-migration-dest.js';
import { cleanUpEvacuated } from './operations/evacuated-guests.js';
import { startUp } from './start-up.js';
import { WorkPool } from './work-pool.js';

/** How much a host does at a time. */
export interface ComputeLimits {
  /** Default 10. */
  readonly maxConcurrentBuilds: number;
  /** Default 1, as in Nova. */
  readonly maxConcurrentLiveMigrations: number;
  /** How often an operation held open for another host is checked against the records; default 10000. */
  readonly recheckMs: number;
}

/** Methods whose work is a task of its own, open before the method returns: recording the request too would count it twice. */
export const SELF_TRACKED: ReadonlySet<string> = new Set([
  'build_and_run_instance',
  'live_migration',
  ...ACTIONS_SELF_TRACKED,
  ...COLD_MOVES_SELF_TRACKED,
]);

/** What a compute host answers to: the endpoint of both its servers (GS-30). The work is in `operations/`. */
export class ComputeManager {
  readonly endpoint: object;
  readonly #host: HostContext;
  readonly #recheckMs: number;
  readonly #boot: Boot;
  readonly #migration: LiveMigration;
  readonly #atDestination: LiveMigrationAtDestination;
  readonly #coldMoves: ColdMoveFlows;

  constructor(host: HostContext, limits: ComputeLimits) {
    this.#host = host;
    this.#recheckMs = limits.recheckMs;
    const { tasks, logger, lifetime } = host;
    const held = new HeldOperations({ tasks, logger, lifetime, recheckMs: limits.recheckMs });
    this.#boot = new Boot(host, new WorkPool(limits.maxConcurrentBuilds));
    this.#migration = new LiveMigration(host, new WorkPool(limits.maxConcurrentLiveMigrations));
    this.#atDestination = new LiveMigrationAtDestination(host, held);
    this.#coldMoves = coldMoveFlowsOf(host, held);
    this.endpoint = makeEndpoint(COMPUTE_METHODS, { version: COMPUTE_RPC_VERSION }, this.#handlers());
  }

  /** Before the servers listen. */
  startUp(signal: AbortSignal): Promise<void> {
    return startUp(this.#host, this.#coldMoves, signal);
  }

  /** What is done again and again while the host runs. */
  get periodic(): readonly PeriodicTask[] {
    const run = (): Promise<void> => cleanUpEvacuated(this.#host, new RequestContext());
    return [{ name: 'evacuated-guests', intervalMs: this.#recheckMs, run }];
  }

  #handlers(): Handlers<ComputeMethods> {
    const { events, logger, virt } = this.#host;
    return {
      ...actionHandlers(this.#host),
      ...coldMoveHandlers(this.#coldMoves),
      ...crossCellHandlers(this.#coldMoves),
      build_and_run_instance: (context, args) => {
        this.#boot.begin(context, args);
      },
      check_can_live_migrate_destination: (context, args) => this.#atDestination.check(context, args),
      check_can_live_migrate_source: (context, args) => this.#atDestination.checkSource(context, args),
      live_migration: (context, args) => {
        this.#migration.begin(context, args);
        this.#atDestination.begun(args.instance);
      },
      live_migration_abort: (_context, { migration_id: id }) => {
        if (!this.#migration.abort(id))
          logger.info({ migrationId: id }, 'There is no such migration to abort here');
      },
      live_migration_force_complete: async (_context, { instance }) => {
        const uuid = instance.get('uuid');
        if (!(await this.#migration.forceComplete(uuid)))
          logger.info({ instance: uuid }, 'There is no migration of this instance to complete here');
      },
      pre_live_migration: (context, args) => this.#atDestination.prepare(context, args),
      post_live_migration_at_destination: (_context, args) => this.#atDestination.finish(args),
      rollback_live_migration_at_destination: (_context, args) => this.#atDestination.rollBack(args),
      remove_volume_connection: (_context, args) => virt.disconnectVolume(args.instance, args.volume_id),
      external_instance_event: (_context, args) => {
        deliverEvents(events, logger, args.events);
      },
      cache_images: (_context, { image_ids: ids }) => cacheImages(this.#host, ids),
      get_host_uptime: () => `up ${Math.round(performance.now() / 1000)} s`,
    };
  }
}
