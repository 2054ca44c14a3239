import { OperationAbortedError, UnexpectedStateError } from '../../errors.js';
import { EXISTING } from '../../objects/deleted.js';
import type { MigrationStatus } from '../../objects/states.js';
import type { HostContext } from '../host-context.js';
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
    const { computeApi, networking, virt, records } = this.#host;
    const { context, instance, uuid, dest, blockMigration } = job;
    await this.#attempt(job, 'activating the port bindings', () => networking.activateBinding(uuid, dest));
    await this.#attempt(job, 'disconnecting at the source', () => virt.postLiveMigrationAtSource(instance));
    // What the instance had here went to the migration when that began; nobody needs it any more.
    await this.#attempt(job, 'giving back what it had here', () =>
      records.allocations.release(job.migrationUuid),
    );
    try {
      const args = { instance, block_migration: blockMigration };
      await computeApi.call(context, 'post_live_migration_at_destination', dest, args);
    } catch (error) {
      if (this.#host.lifetime.aborted) throw error;
      if (await this.#recordAtDestination(job)) {
        await records.migrations.update(job.migrationUuid, { status: 'error' });
        throw error;
      }
    }
    await records.migrations.update(job.migrationUuid, { status: 'completed' });
  }

  /** The guest has not left: takes everything back, at both ends. With the process gone there is nobody to do it. */
  async rollBackUnless(processGone: boolean, job: LiveMigrationJob, error: unknown): Promise<void> {
    if (processGone) return;
    const cancelled = error instanceof OperationAbortedError;
    if (!cancelled) await this.#attempt(job, 'recording the error', () => this.#status(job, 'error'));
    await this.rollBack(job, cancelled ? 'cancelled' : 'failed');
  }

  /** Takes everything back, at both ends. @param end - what the migration then is */
  async rollBack(job: LiveMigrationJob, end: 'cancelled' | 'failed' | 'error'): Promise<void> {
    const { computeApi, networking, records, host } = this.#host;
    const { context, instance, uuid, dest, migrateData } = job;
    await this.#attempt(job, 'binding the ports back', () => networking.activateBinding(uuid, host));
    for (const volume of Object.keys(migrateData.find('old_vol_attachment_ids') ?? {})) {
      const args = { instance, volume_id: volume, delete_attachment: true };
      await this.#attempt(job, 'disconnecting a volume at the destination', () =>
        computeApi.call(context, 'remove_volume_connection', dest, args),
      );
    }
    await this.#attempt(job, 'giving back what was claimed there', () =>
      records.allocations.release(uuid, dest),
    );
    await this.#attempt(job, 'taking back what it has here', () =>
      records.allocations.transfer(job.migrationUuid, uuid),
    );
    await this.#attempt(job, 'resetting the instance', () =>
      records.instances.update(uuid, { task_state: null }, { task_state: ['migrating'] }),
    );
    await this.#attempt(job, 'recording the end', () => this.#status(job, end));
    // Always, also when nothing is to be cleaned up there: the destination holds the operation open until it is told.
    await this.#attempt(job, 'telling the destination', () =>
      computeApi.cast(context, 'rollback_live_migration_at_destination', dest, {
        instance,
        destroy_disks: migrateData.find('is_shared_instance_path') !== true,
        migrate_data: migrateData,
      }),
    );
  }

  /** The instance is no more: nothing of it stays with the migration, nor at the destination, where its guest may be. */
  async drop(job: LiveMigrationJob): Promise<void> {
    const { computeApi, records } = this.#host;
    const { context, instance, dest, migrateData } = job;
    await this.#attempt(job, 'giving back what it had', () => records.allocations.release(job.migrationUuid));
    await this.#attempt(job, 'recording the end', () => this.#status(job, 'error'));
    await this.#attempt(job, 'telling the destination', () =>
      computeApi.cast(context, 'rollback_live_migration_at_destination', dest, {
        instance,
        destroy_disks: true,
        migrate_data: migrateData,
      }),
    );
  }

  /** False when the destination has recorded the instance itself, and only its answer was lost. */
  async #recordAtDestination(job: LiveMigrationJob): Promise<boolean> {
    const { records, host } = this.#host;
    const { uuid, dest } = job;
    const place = { host: dest, node: dest };
    try {
      const instance = await records.instances.get(uuid);
      if (instance.get('vm_state') === 'deleted') {
        await this.drop(job);
        return true;
      }
      const deleting = instance.get('task_state') === 'deleting';
      const state = deleting ? {} : ({ vm_state: 'error', task_state: null } as const);
      await records.instances.update(uuid, { ...place, ...state }, { host: [host], vm_state: EXISTING });
      return true;
    } catch (error) {
      if (error instanceof UnexpectedStateError) return false;
      throw error;
    }
  }

  async #status(job: LiveMigrationJob, status: MigrationStatus): Promise<void> {
    await this.#host.records.migrations.update(job.migrationUuid, { status });
  }

  /** One step of several that must all be tried. */
  async #attempt(job: LiveMigrationJob, what: string, step: () => Promise<unknown>): Promise<void> {
    try {
      await step();
    } catch (error) {
      this.#host.logger.error(
        { err: error, migration: job.migrationUuid, step: what },
        'A step of a migration failed',
      );
    }
  }
}
