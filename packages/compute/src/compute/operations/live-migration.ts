import { onAbort, type RequestContext } from '@ebbgate/core';
import type { TaskHandle } from '@ebbgate/service';
import { OperationAbortedError, UnexpectedStateError } from '../../errors.js';
import type { Instance } from '../../objects/instance.js';
import type { LibvirtLiveMigrateData } from '../../objects/migrate-data.js';
import type { MigrationStatus } from '../../objects/states.js';
import type { ArgsOf, ComputeMethods } from '../../rpc/methods.js';
import { beginInBackground } from '../background.js';
import { abortedBy, PUT_BACK_MS } from '../early-end.js';
import type { HostContext } from '../host-context.js';
import { UnsettledWriteError, writeSurely } from '../sure-write.js';
import type { WorkPool } from '../work-pool.js';
import type { MigrationProgress } from '../../virt/driver.js';
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
  /** Ends it before the guest has left: by an operator, by a drain, or with the process. */
  readonly signal: AbortSignal;
  readonly abort: AbortController;
  migrateData: LibvirtLiveMigrateData;
  /** How far it is, as this side has recorded it. */
  status: MigrationStatus;
  /** The guest is at the destination: there is no way back. */
  hasLeft: boolean;
  /** From 0 to 1. */
  progress: number;
  /** When its guest began to be copied, on the monotonic clock. */
  copyingSinceMs: number;
  /** Hears of its progress. */
  task?: Pick<TaskHandle, 'changed'>;
}

/** Before so much is copied, how long the rest takes cannot be told. */
const LEAST_PART = 0.05;

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
      status: 'accepted',
      hasLeft: false,
      progress: 0,
      copyingSinceMs: 0,
    };
    const putBack = {
      begin: (reason: Error) => endEarly(job, abortedBy(reason)),
      needsMs: () => needsMs(job),
      reserveMs: PUT_BACK_MS,
    };
    const record = {
      name: 'live_migration',
      kind: 'operation',
      instance: job.uuid,
      progress: () => job.progress,
      abort: putBack,
    } as const;
    beginInBackground(this.#host, context, record, (task) => {
      job.task = task;
      return this.#once(job, args.migration.get('id'));
    });
  }

  async #once(job: LiveMigrationJob, id: number): Promise<void> {
    const uuid = job.migrationUuid;
    if (this.#taken.has(uuid)) throw new UnexpectedStateError(`Migration ${uuid} is under way already`);
    this.#taken.add(uuid);
    try {
      await this.#takeUp(job);
      job.status = 'queued';
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

  /** Ends a migration whose guest has not left yet; false when there is none with this id, or it cannot be ended any more. */
  abort(migrationId: number): boolean {
    const job = this.#jobs.get(migrationId);
    return job !== undefined && endEarly(job, new OperationAbortedError('An operator aborted the migration'));
  }

  /**
   * Ends the copying of a migration that does not come to an end by itself: the guest stands still while the rest is
   * copied. On ops, so that an operator can shorten a migration that holds up a drain (`decisions.md` 25). False when
   * no guest of this instance is being copied here.
   */
  async forceComplete(instanceUuid: string): Promise<boolean> {
    const copies = [...this.#jobs.values()].some(
      ({ uuid, status }) => uuid === instanceUuid && status === 'running',
    );
    if (copies) await this.#host.virt.forceComplete(instanceUuid);
    return copies;
  }

  /** Nothing else is done to the instance here meanwhile. A delete takes the migration back, as an operator's abort does. */
  async #inTurn(job: LiveMigrationJob, id: number): Promise<void> {
    const turn = { begun: false };
    try {
      await this.#host.locks.run(
        job.uuid,
        async (interruption) => {
          turn.begun = true;
          const leave = onAbort(interruption, () => {
            endEarly(job, interruption.reason);
          });
          await this.#run(job, id).finally(leave);
        },
        job.signal,
      );
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
    const { instances } = this.#host.records;
    // Not any more when a delete has come first.
    await instances.update(job.uuid, { progress: 0 }, { task_state: ['migrating'] });
    await this.#become(job, 'preparing');
    await this.#prepareDestination(job);
    await this.#become(job, 'running');
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
      ({ memory, disk }) =>
        records.migrations.update(job.migrationUuid, {
          memory_total: memory.total,
          memory_processed: memory.processed,
          memory_remaining: memory.remaining,
          disk_total: disk.total,
          disk_processed: disk.processed,
          disk_remaining: disk.remaining,
        }),
      (error) => {
        logger.debug(
          { err: error, migration: job.migrationUuid },
          'The progress of a migration was not written',
        );
      },
    );
    const onProgress = (progress: MigrationProgress): void => {
      const total = progress.memory.total + progress.disk.total;
      const remaining = progress.memory.remaining + progress.disk.remaining;
      job.progress = total === 0 ? 0 : 1 - remaining / total;
      writer.report(progress);
      job.task?.changed();
    };
    job.copyingSinceMs = performance.now();
    const onPostCopy = (): Promise<void> => this.#become(job, 'running (post-copy)');
    try {
      const options = { signal: job.signal, onProgress, onPostCopy };
      await virt.liveMigrate(job.instance, job.dest, job.migrateData, options);
    } finally {
      await writer.flush();
    }
  }

  /** Written again while no answer comes: an answer that was lost must not end what goes well. */
  async #become(job: LiveMigrationJob, status: MigrationStatus): Promise<void> {
    const { migrations } = this.#host.records;
    const expected = { status: [job.status] };
    if (status === 'running (post-copy)') job.status = status; // there is no way back from here on
    await writeSurely(this.#host, {
      write: () => migrations.update(job.migrationUuid, { status }, expected),
      read: () => migrations.get(job.migrationUuid),
      isWritten: (one) => one.get('status') === status,
    });
    job.status = status;
  }
}

/** Only while its guest is copied: before, and from a guest that dirties all that was copied, it cannot be told. */
function needsMs({ status, progress, copyingSinceMs }: LiveMigrationJob): number | undefined {
  if (status !== 'running' || progress < LEAST_PART) return undefined;
  return ((performance.now() - copyingSinceMs) / progress) * (1 - progress);
}

/** False when there is no way back. */
function endEarly(job: LiveMigrationJob, reason: unknown): boolean {
  const canEnd = !job.hasLeft && job.status !== 'running (post-copy)';
  if (canEnd) job.abort.abort(reason);
  return canEnd;
}
