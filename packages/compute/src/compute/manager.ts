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
import { GUEST_SELF_TRACKED, guestHandlers } from './guest-handlers.js';
import type { HostContext } from './host-context.js';
import { confirmDue } from './operations/auto-confirm.js';
import { Boot } from './operations/boot.js';
import { cacheImages } from './operations/cache-images.js';
import { deliverEvents } from './operations/external-events.js';
import { LiveMigration } from './operations/live-migration.js';
import { LiveMigrationAtDestination } from './operations/live-migration-dest.js';
import { cleanUpEvacuated } from './operations/evacuated-guests.js';
import { Shelve } from './operations/shelve.js';
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

/** Methods whose work is a task of its own, open before the method waits or returns: the request too would be counted twice. */
export const SELF_TRACKED: ReadonlySet<string> = new Set([
  'build_and_run_instance',
  'cache_images',
  'live_migration',
  'pre_live_migration',
  ...ACTIONS_SELF_TRACKED,
  ...COLD_MOVES_SELF_TRACKED,
  ...GUEST_SELF_TRACKED,
]);

/** What a compute host answers to: the endpoint of both its servers (GS-30). The work is in `operations/`. */
export class ComputeManager {
  readonly endpoint: object;
  readonly #host: HostContext;
  readonly #limits: ComputeLimits & { readonly resizeConfirmWindowMs: number };
  readonly #shelve: Shelve;
  readonly #boot: Boot;
  readonly #migration: LiveMigration;
  readonly #atDestination: LiveMigrationAtDestination;
  readonly #coldMoves: ColdMoveFlows;

  constructor(host: HostContext, limits: ComputeLimits & { readonly resizeConfirmWindowMs: number }) {
    this.#host = host;
    this.#limits = limits;
    this.#shelve = new Shelve(host);
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
    return startUp(this.#host, this.#coldMoves, this.endpoint, signal);
  }

  /** @param told - settles once the records say that this host drains; undefined: they are not told */
  drainBegins(told: Promise<unknown> | undefined): void {
    void this.#coldMoves.sourceEngagement.drainBegins(told);
  }

  /** Removes what finished evacuations have left here: also while the host is forced down. */
  cleanUp(): Promise<void> {
    return cleanUpEvacuated(this.#host, new RequestContext());
  }

  /** What is done again and again while the host runs. */
  get periodic(): readonly PeriodicTask[] {
    const { recheckMs: intervalMs, resizeConfirmWindowMs } = this.#limits;
    const host = this.#host;
    const every = (name: string, work: (context: RequestContext) => Promise<void>): PeriodicTask => ({
      name,
      intervalMs,
      run: () => work(new RequestContext()),
    });
    return [
      every('evacuated-guests', () => this.cleanUp()),
      ...((host.shelvedOffloadMs ?? 0) > 0
        ? [every('shelved-instances', (context) => this.#shelve.offloadDue(context))]
        : []),
      ...(resizeConfirmWindowMs > 0
        ? [every('unconfirmed-resizes', (context) => confirmDue(host, context, resizeConfirmWindowMs))]
        : []),
    ];
  }

  #handlers(): Handlers<ComputeMethods> {
    const { events, emit, logger, virt } = this.#host;
    return {
      ...actionHandlers(this.#host),
      ...coldMoveHandlers(this.#coldMoves),
      ...crossCellHandlers(this.#coldMoves),
      ...guestHandlers(this.#host, this.#shelve),
      build_and_run_instance: (context, args) => {
        this.#boot.begin(context, args);
      },
      check_can_live_migrate_destination: (context, args) => this.#atDestination.check(context, args),
      check_can_live_migrate_source: (context, args) => this.#atDestination.checkSource(context, args),
      live_migration: (context, args) => {
        this.#migration.begin(context, args);
        this.#atDestination.begun(args.instance);
      },
      live_migration_abort: (context, { instance, migration_id: id }) => {
        emit({ context, action: 'live_migration_abort', phase: 'start', instance });
        if (this.#migration.abort(id))
          emit({ context, action: 'live_migration_abort', phase: 'end', instance });
        else logger.info({ migrationId: id }, 'There is no migration that could be aborted here');
      },
      live_migration_force_complete: async (context, { instance }) => {
        const uuid = instance.get('uuid');
        emit({ context, action: 'live_migration_force_complete', phase: 'start', instance });
        if (await this.#migration.forceComplete(uuid))
          emit({ context, action: 'live_migration_force_complete', phase: 'end', instance });
        else logger.info({ instance: uuid }, 'This instance is not being copied here');
      },
      check_instance_shared_storage: async (_context, { data }) => {
        await this.#coldMoves.sourceEngagement.lookAgain(); // the other side of a revert asks
        return virt.seesMark(data);
      },
      pre_live_migration: (context, args) => this.#atDestination.prepare(context, args),
      post_live_migration_at_destination: (context, args) => this.#atDestination.finish(context, args),
      rollback_live_migration_at_destination: (context, args) => this.#atDestination.rollBack(context, args),
      remove_volume_connection: (_context, args) => virt.disconnectVolume(args.instance, args.volume_id),
      external_instance_event: (_context, args) => {
        deliverEvents(events, logger, args.events);
      },
      drop_move_claim_at_destination: async (_context, { instance }) => {
        const uuid = instance.get('uuid');
        if (await this.#atDestination.dropClaim(uuid)) return;
        if (await this.#coldMoves.crossCellAtDestination.drop(uuid)) return;
        await this.#coldMoves.resizeAtDestination.dropClaim(uuid);
      },
      cache_images: (context, { image_ids: ids }) => cacheImages(this.#host, context, ids),
      get_host_uptime: () => `up ${Math.round(performance.now() / 1000)} s`,
    };
  }
}
