import { onAbort, type RequestContext } from '@ebbgate/core';
import { OperationAbortedError, UnexpectedStateError } from '../../errors.js';
import type { Instance } from '../../objects/instance.js';
import type { LibvirtLiveMigrateData } from '../../objects/migrate-data.js';
import type { MigrationStatus } from '../../objects/states.js';
import type { ArgsOf, ComputeMethods } from '../../rpc/methods.js';
import { beginInBackground } from '../background.js';
import type { HostContext } from '../host-context.js';
import { UnsettledWriteError, writeSurely } from '../sure-write.js';
import type { WorkPool } from '../work-pool.js';
import { LiveMigrationEnd } from './live-migration-end.js';
import { ProgressWriter } from './progress-writer.js';

type LiveMigrationArgs = ArgsOf<ComputeMethods['live_migration']>;

/** One migration on its way, as its source sees it. */
export interface LiveMigrationJob {
  readonly context: RequestContext;
  readonly instance: Instance;
  readonly uuid: string;
  readonly migrationUuid: string;
  readonly dest: string;
  readonly blockMigration: boolean | null;
  /** Ends it before the guest has left: by an operator, or with the process. */
  readonly signal: AbortSignal;
  readonly abort: AbortController;
  migrateData: LibvirtLiveMigrateData;
  /** The guest is at the destination: there is no way back. */
  hasLeft: boolean;
  /** From 0 to 1. */
  progress: number;
}

/** The source's side of live migrations (`compute-rpc.md` 3.1, steps 7 to 11). */
export class LiveMigration {
  readonly #host: HostContext;
  readonly #pool: WorkPool;
  readonly #end: LiveMigrationEnd;
  /** By the id of the migration. */
  readonly #jobs = new Map<number, LiveMigrationJob>();
  /** Uuids of the migrations that a message here is at: a second one has no part in them. */
  readonly #taken = new Set<string>();

  constructor(host: HostContext, pool: WorkPool) {
    this.#host = host;
    this.#pool = pool;
    this.#end = new LiveMigrationEnd(host);
  }

  /** Takes a migration up. It counts as running from now on, also while it waits for its turn. */
  begin(context: RequestContext, args: LiveMigrationArgs): void {
    const abort = new AbortController();
    const job: LiveMigrationJob = {
      context: context.detached(),
      instance: args.instance,
      uuid: args.instance.get('uuid'),
      migrationUuid: args.migration.get('uuid'),
      dest: args.dest,
      blockMigration: args.block_migration,
      signal: AbortSignal.any([abort.signal, this.#host.lifetime]),
      abort,
      migrateData: args.migrate_data,
      hasLeft: false,
      progress: 0,
    };
    const record = {
      name: 'live_migration',
      kind: 'operation',
      instance: job.uuid,
      progress: () => job.progress,
    } as const;
    beginInBackground(this.#host, context, record, () => this.#once(job, args.migration.get('id')));
  }

  async #once(job: LiveMigrationJob, id: number): Promise<void> {
    const uuid = job.migrationUuid;
    if (this.#taken.has(uuid)) throw new UnexpectedStateError(`Migration ${uuid} is under way already`);
    this.#taken.add(uuid);
    try {
      await this.#takeUp(job);
      await this.#inTurn(job, id);
    } finally {
      this.#taken.delete(uuid);
    }
  }

  /** A message that comes late, or twice, finds another status: then there is nothing to do, and nothing to undo. */
  async #takeUp(job: LiveMigrationJob): Promise<void> {
    const { records, lifetime } = this.#host;
    const { migrationUuid } = job;
    const accepted = { status: ['accepted'] } as const;
    try {
      await writeSurely(this.#host, {
        write: () => records.migrations.update(migrationUuid, { status: 'queued' }, accepted),
        read: () => records.migrations.get(migrationUuid),
        isWritten: (one) => one.get('status') === 'queued',
      });
    } catch (error) {
      if (error instanceof UnsettledWriteError && !lifetime.aborted) {
        // Only when this still has to begin: another message may have ended it.
        const ours = { status: ['accepted', 'queued'] } as const;
        await records.migrations.update(migrationUuid, { status: 'error' }, ours);
        await this.#end.rollBackUnless(lifetime.aborted, job, error);
      }
      throw error;
    }
  }

  /** Ends a migration whose guest has not left yet; false when there is none with this id. */
  abort(migrationId: number): boolean {
    const job = this.#jobs.get(migrationId);
    job?.abort.abort(new OperationAbortedError('An operator aborted the migration'));
    return job !== undefined;
  }

  /**
   * Ends the copying of a migration that does not come to an end by itself: the guest stands still while the rest is
   * copied. On ops, so that an operator can shorten a migration that holds up a drain (`decisions.md` 25). False when
   * no migration of the instance is under way here.
   */
  async forceComplete(instanceUuid: string): Promise<boolean> {
    const known = [...this.#jobs.values()].some(({ uuid }) => uuid === instanceUuid);
    if (known) await this.#host.virt.forceComplete(instanceUuid);
    return known;
  }

  /** Nothing else is done to the instance here meanwhile. A delete takes the migration back, as an operator's abort does. */
  async #inTurn(job: LiveMigrationJob, id: number): Promise<void> {
    const turn = { begun: false };
    try {
      await this.#host.locks.run(job.uuid, async (interruption) => {
        turn.begun = true;
        const leave = onAbort(interruption, () => {
          job.abort.abort(interruption.reason);
        });
        await this.#run(job, id).finally(leave);
      });
    } catch (error) {
      if (!turn.begun) await this.#end.rollBackUnless(this.#host.lifetime.aborted, job, error);
      throw error;
    }
  }

  async #run(job: LiveMigrationJob, id: number): Promise<void> {
    this.#jobs.set(id, job);
    try {
      await this.#pool.run(async () => {
        await this.#migrate(job);
        job.hasLeft = true;
        await this.#end.complete(job);
      }, job.signal);
    } catch (error) {
      if (!job.hasLeft) await this.#end.rollBackUnless(this.#host.lifetime.aborted, job, error);
      throw error;
    } finally {
      this.#jobs.delete(id);
    }
  }

  async #migrate(job: LiveMigrationJob): Promise<void> {
    // Not any more when a delete has come first.
    await this.#host.records.instances.update(job.uuid, { progress: 0 }, { task_state: ['migrating'] });
    await this.#status(job, 'queued', 'preparing');
    await this.#prepareDestination(job);
    await this.#status(job, 'preparing', 'running');
    await this.#copy(job);
  }

  async #prepareDestination(job: LiveMigrationJob): Promise<void> {
    const { computeApi, events, networking, vifPluggingTimeoutMs } = this.#host;
    const { context, instance, uuid, dest, signal } = job;
    const ports = await networking.portsOf(uuid);
    // Announced before the destination plugs the interfaces, so that the event cannot come too early.
    const plugged = events.expect(uuid, 'network-vif-plugged', ports);
    try {
      const args = { instance, disk: null, migrate_data: job.migrateData };
      job.migrateData = await computeApi.call(context, 'pre_live_migration', dest, args, { signal });
      if (job.migrateData.find('wait_for_vif_plugged') === true) {
        await plugged.wait({ timeoutMs: vifPluggingTimeoutMs, signal });
      }
    } finally {
      plugged.cancel();
    }
  }

  async #copy(job: LiveMigrationJob): Promise<void> {
    const { records, virt, logger } = this.#host;
    const writer = new ProgressWriter(
      ({ total, processed, remaining }) =>
        records.migrations.update(job.migrationUuid, {
          memory_total: total,
          memory_processed: processed,
          memory_remaining: remaining,
        }),
      (error) => {
        logger.debug(
          { err: error, migration: job.migrationUuid },
          'The progress of a migration was not written',
        );
      },
    );
    const onProgress = (progress: { total: number; processed: number; remaining: number }): void => {
      job.progress = progress.total === 0 ? 0 : progress.processed / progress.total;
      writer.report(progress);
    };
    try {
      await virt.liveMigrate(job.instance, job.dest, job.migrateData, { signal: job.signal, onProgress });
    } finally {
      await writer.flush();
    }
  }

  async #status(job: LiveMigrationJob, from: MigrationStatus, to: MigrationStatus): Promise<void> {
    await this.#host.records.migrations.update(job.migrationUuid, { status: to }, { status: [from] });
  }
}
