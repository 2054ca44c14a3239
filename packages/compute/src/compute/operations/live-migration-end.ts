import { OperationAbortedError, UnexpectedStateError } from '../../errors.js';
import { EXISTING } from '../../objects/deleted.js';
import type { MigrationStatus } from '../../objects/states.js';
import { faultOf } from '../../objects/instance-fault.js';
import { Attempts } from '../attempts.js';
import type { HostContext } from '../host-context.js';
import { onceAnswered, writeSurely } from '../sure-write.js';
import type { LiveMigrationJob } from './live-migration.js';

/** How a live migration ends at its source: completed, or taken back (`compute-rpc.md` 3.1). */
export class LiveMigrationEnd {
  readonly #host: HostContext;

  constructor(host: HostContext) {
    this.#host = host;
  }

  /**
   * The guest has left: tells the destination, and cleans up here. When the destination cannot finish, the instance is
   * recorded there all the same, since that is where its guest is, in ERROR.
   */
  async complete(job: LiveMigrationJob): Promise<void> {
    const { networking, virt, records } = this.#host;
    const { context, instance, uuid, dest } = job;
    this.#host.emit({ context, action: 'live_migration_post', phase: 'start', instance });
    await this.#surely(job, 'activating the port bindings', () => networking.activateBinding(uuid, dest));
    await this.#attempt(job, 'disconnecting at the source', () => virt.postLiveMigrationAtSource(instance));
    const failure = await this.#finishAtDestination(job);
    // What the instance had here went to the migration when that began; nobody needs it any more.
    await this.#surely(job, 'giving back what it had here', () =>
      records.allocations.release(job.migrationUuid),
    );
    const status = failure === undefined ? 'completed' : 'error';
    await records.migrations.update(job.migrationUuid, { status });
    this.#host.emit({ context, action: 'live_migration_post', phase: 'end', instance });
    if (failure !== undefined) throw failure.error;
  }

  /** What went wrong there; undefined when nothing did, or only the answer was lost. */
  async #finishAtDestination(job: LiveMigrationJob): Promise<{ readonly error: unknown } | undefined> {
    const args = { instance: job.instance, block_migration: job.blockMigration };
    try {
      await this.#host.computeApi.call(job.context, 'post_live_migration_at_destination', job.dest, args);
      return undefined;
    } catch (error) {
      if (this.#host.lifetime.aborted) throw error;
      return (await this.#recordAtDestination(job, error)) ? { error } : undefined;
    }
  }

  /** The guest has not left: takes everything back, at both ends. With the process gone there is nobody to do it. */
  async rollBackUnless(processGone: boolean, job: LiveMigrationJob, error: unknown): Promise<void> {
    if (processGone) return;
    const cancelled = error instanceof OperationAbortedError;
    if (!cancelled) await this.#surely(job, 'recording the error', () => this.#status(job, 'error'));
    await this.rollBack(job, cancelled ? 'cancelled' : 'failed', error);
  }

  /**
   * Takes everything back, at both ends. What cannot be taken back leaves the instance in ERROR.
   * @param end - what the migration then is; `error` when something is left
   * @param error - why; that a migration was cancelled is no fault of an instance that is as before
   */
  async rollBack(
    job: LiveMigrationJob,
    end: 'cancelled' | 'failed' | 'error',
    error: unknown,
  ): Promise<void> {
    const { records, host } = this.#host;
    const { uuid, context, instance } = job;
    this.#host.emit({ context, action: 'live_migration_rollback', phase: 'start', instance });
    const isBound = await this.#rollBackPorts(job);
    if (WAS_PREPARED.has(job.status)) await this.#disconnectVolumes(job);
    const isAllocated = await this.#rollBackAllocations(job);
    const isAsBefore = isBound && isAllocated;
    await this.#tellDestination(job, job.migrateData.find('is_shared_instance_path') !== true);
    // The instance after all that: while it is `migrating`, the next start does it again.
    const fault = isAsBefore && end === 'cancelled' ? undefined : faultOf(error, host);
    const state = { task_state: null, ...(fault && { fault }), ...(!isAsBefore && ERROR) };
    await this.#surely(job, 'resetting the instance', () =>
      records.instances.update(uuid, state, { task_state: ['migrating'] }),
    );
    await this.#surely(job, 'recording the end', () => this.#status(job, isAsBefore ? end : 'error'));
    this.#host.emit({ context, action: 'live_migration_rollback', phase: 'end', instance });
  }

  async #rollBackPorts(job: LiveMigrationJob): Promise<boolean> {
    const { networking, host } = this.#host;
    const { uuid, dest } = job;
    const isBack = await this.#surely(job, 'binding the ports back', () =>
      networking.activateBinding(uuid, host),
    );
    await this.#surely(job, 'unbinding the ports at the destination', () => networking.unbind(uuid, dest));
    return isBack;
  }

  async #disconnectVolumes({ context, instance, dest, ...job }: LiveMigrationJob): Promise<void> {
    for (const volume of Object.keys(job.migrateData.find('old_vol_attachment_ids') ?? {})) {
      const args = { instance, volume_id: volume, delete_attachment: true };
      await this.#attempt(job, 'disconnecting a volume at the destination', () =>
        this.#host.computeApi.call(context, 'remove_volume_connection', dest, args),
      );
    }
  }

  async #rollBackAllocations(job: LiveMigrationJob): Promise<boolean> {
    const { computeApi, records } = this.#host;
    const { context, instance, uuid, dest, migrationUuid, migrateData } = job;
    if (migrateData.find('src_supports_numa_live_migration') === true) {
      await this.#attempt(job, 'dropping the claim of the destination', () =>
        computeApi.call(context, 'drop_move_claim_at_destination', dest, { instance }),
      );
    }
    const isReleased = await this.#surely(job, 'giving back what was claimed there', () =>
      records.allocations.release(uuid, dest),
    );
    const isBack = await this.#surely(job, 'taking back what it has here', () =>
      records.allocations.transfer(migrationUuid, uuid),
    );
    return isReleased && isBack;
  }

  /** The instance is no more: nothing of it stays with the migration, nor at the destination, where its guest may be. */
  async drop(job: LiveMigrationJob): Promise<void> {
    const { allocations } = this.#host.records;
    await this.#surely(job, 'giving back what it had', () => allocations.release(job.migrationUuid));
    await this.#tellDestination(job, true);
    await this.#surely(job, 'recording the end', () => this.#status(job, 'error'));
  }

  /** Always, also when nothing is to be cleaned up there: the destination holds the operation open until it is told. */
  async #tellDestination(
    { context, instance, dest, ...job }: LiveMigrationJob,
    destroyDisks: boolean,
  ): Promise<void> {
    const args = { instance, destroy_disks: destroyDisks, migrate_data: job.migrateData };
    await this.#attempt(job, 'telling the destination', () =>
      this.#host.computeApi.cast(context, 'rollback_live_migration_at_destination', dest, args),
    );
  }

  /** False when the destination has recorded the instance itself, and only its answer was lost. */
  async #recordAtDestination(job: LiveMigrationJob, cause: unknown): Promise<boolean> {
    const { host } = this.#host;
    const { instances } = this.#host.records;
    const { uuid, dest } = job;
    const instance = await instances.get(uuid);
    if (instance.get('vm_state') === 'deleted') {
      await this.drop(job);
      return true;
    }
    const deleting = instance.get('task_state') === 'deleting';
    const state = deleting ? {} : { ...ERROR, task_state: null, fault: faultOf(cause, host) };
    const here = { host: [host], vm_state: EXISTING };
    try {
      await writeSurely(this.#host, {
        write: () => instances.update(uuid, { host: dest, node: dest, ...state }, here),
        read: () => instances.get(uuid),
        isWritten: (one) => one.get('host') === dest && (deleting || one.get('vm_state') === 'error'),
      });
      return true;
    } catch (error) {
      if (error instanceof UnexpectedStateError) return false;
      throw error;
    }
  }

  async #status(job: LiveMigrationJob, status: MigrationStatus): Promise<void> {
    await this.#host.records.migrations.update(job.migrationUuid, { status });
  }

  /** A step that the records or the network service take; again while they do not answer. False when it fails all the same. */
  #surely(job: StepOwner, what: string, step: () => Promise<unknown>): Promise<boolean> {
    return this.#attempt(job, what, () => onceAnswered(this.#host, step));
  }

  /** One step of several that must all be tried; false when it fails. */
  #attempt({ migrationUuid }: StepOwner, what: string, step: () => Promise<unknown>): Promise<boolean> {
    return new Attempts(this.#host.logger, { migration: migrationUuid }).make(what, step);
  }
}

const ERROR = { vm_state: 'error' } as const;

/** What the log names. */
type StepOwner = Pick<LiveMigrationJob, 'migrationUuid'>;

/** In these the destination was prepared; before, it takes back itself what it has connected. */
const WAS_PREPARED: ReadonlySet<MigrationStatus> = new Set(['running', 'running (post-copy)']);
