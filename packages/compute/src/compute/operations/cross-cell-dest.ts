import type { RequestContext } from '@ebbgate/core';
import { orUndefined } from '../../db/or-undefined.js';
import { MigrationPreCheckError, OperationAbortedError, UnexpectedStateError } from '../../errors.js';
import type { Flavor } from '../../objects/flavor.js';
import { faultOf } from '../../objects/instance-fault.js';
import type { Instance } from '../../objects/instance.js';
import { MigrationContext } from '../../objects/migration-context.js';
import { isFinal, POWER_STATE } from '../../objects/states.js';
import type { ArgsOf, ComputeMethods } from '../../rpc/methods.js';
import { resourcesOf } from '../../scheduler/flavor-resources.js';
import { Attempts } from '../attempts.js';
import type { HostContext } from '../host-context.js';
import { startWhenPlugged } from '../plugged-start.js';
import { writeSurely } from '../sure-write.js';
import { removeIfDeleted } from './deleted-guests.js';
import type { CrossCellEngagement } from './cross-cell-engagement.js';
import { oldStateOf, resizeJob, type ResizeJob, sizeFields } from './resize-job.js';

type Args<Name extends keyof ComputeMethods> = ArgsOf<ComputeMethods[Name]>;

/**
 * The destination's side of a resize that comes from another cell (`compute-rpc.md` 3.5, steps 3 and 5, and the revert). It
 * sees the records of its own cell only: a copy of the instance, hidden until the move is complete, and of the migration.
 * From step 3 on the host counts as engaged, until step 5 has ended or the conductor tells that nothing comes.
 */
export class CrossCellAtDestination {
  readonly #host: HostContext;
  readonly #engagement: CrossCellEngagement;

  constructor(host: HostContext, engagement: CrossCellEngagement) {
    this.#host = host;
    this.#engagement = engagement;
  }

  /**
   * Step 3: sets the room apart.
   * @throws MigrationPreCheckError (`ERR_MIGRATION_PRE_CHECK`), and nothing is left here
   */
  async prepare(
    context: RequestContext,
    { instance, flavor, migration }: Args<'prep_snapshot_based_resize_at_dest'>,
  ): Promise<MigrationContext> {
    const job = resizeJob(context, instance, migration);
    try {
      return await this.#host.locks.run(job.uuid, () => this.#prepare(job, flavor));
    } catch (error) {
      if (error instanceof MigrationPreCheckError || this.#host.lifetime.aborted) throw error;
      const why = error instanceof Error ? error.message : String(error);
      throw new MigrationPreCheckError(`Migration pre-check error: ${why}`, { cause: error });
    }
  }

  /** A message that comes late finds that the move is over, or goes elsewhere, and claims nothing (B11). */
  async #prepare(job: ResizeJob, flavor: Flavor): Promise<MigrationContext> {
    await this.#stillComes(job);
    this.#engagement.open(job);
    const { context, instance } = job;
    const event = { context, action: 'resize_prep', instance, newFlavor: flavor } as const;
    this.#host.emit({ ...event, phase: 'start' });
    try {
      await this.#host.virt.coldMoves.checkDestination(job.instance);
      await this.#claim(job, flavor);
      await this.#stillComes(job); // or else the claim would be nobody's
    } catch (error) {
      if (!this.#host.lifetime.aborted) {
        await this.#attempts(job).make('releasing the claim', () => this.#release(job));
        this.#engagement.close(job.migrationUuid, error);
      }
      throw error;
    } finally {
      this.#host.emit({ ...event, phase: 'end' });
    }
    return MigrationContext.create({
      instance_uuid: job.uuid,
      migration_id: job.migration.get('id'),
      new_numa_topology: null,
      old_numa_topology: null,
    });
  }

  async #stillComes({ migrationUuid }: ResizeJob): Promise<void> {
    const { records, host } = this.#host;
    const ours = { status: ['pre-migrating'], dest_compute: [host] } as const;
    await records.migrations.update(migrationUuid, { dest_node: host }, ours);
  }

  async #claim({ uuid, instance }: ResizeJob, flavor: Flavor): Promise<void> {
    const { records, host } = this.#host;
    const [claimed] = await records.allocations.find({ consumer: uuid, host });
    if (claimed) return; // by the scheduler
    const bootsFromVolume = (instance.find('image_ref') ?? '') === '';
    if (await records.allocations.claim(uuid, host, resourcesOf(flavor, { bootsFromVolume }))) return;
    throw new MigrationPreCheckError(`Migration pre-check error: ${host} has no room for instance ${uuid}`);
  }

  async #release({ uuid }: ResizeJob): Promise<void> {
    await this.#host.records.allocations.release(uuid, this.#host.host);
  }

  /** Step 5: the disks are in the image. When it rejects there is no guest here; the conductor sees to the rest. */
  async finish(
    context: RequestContext,
    { instance, migration, snapshot_id: imageId }: Args<'finish_snapshot_based_resize_at_dest'>,
  ): Promise<void> {
    const { locks, lifetime } = this.#host;
    const job = resizeJob(context, instance, migration);
    try {
      await locks.run(job.uuid, (signal) => this.#finish(job, imageId, signal));
      this.#engagement.close(job.migrationUuid);
    } catch (error) {
      if (!lifetime.aborted) this.#engagement.close(job.migrationUuid, error);
      throw error;
    } finally {
      if (imageId !== null && !lifetime.aborted) {
        await this.#attempts(job).make('removing the image', () =>
          this.#host.virt.snapshotMoves.removeImage(imageId),
        );
      }
    }
  }

  async #finish(job: ResizeJob, imageId: string | null, signal: AbortSignal): Promise<void> {
    const { records, host } = this.#host;
    if (await this.#hasFinished(job)) return; // a conductor asks again
    const ours = { status: ['post-migrating'], dest_compute: [host] } as const;
    await records.migrations.update(job.migrationUuid, { dest_node: host }, ours);
    const flavor = job.instance.find('new_flavor') ?? job.instance.get('flavor');
    const here = { ...sizeFields(flavor), host, node: host, task_state: 'resize_finish' } as const;
    // The latter when it was cut off: what there is of the guest is made anew.
    const from = { task_state: ['resize_migrated', 'resize_finish'] } as const;
    const coming = await records.instances.update(job.uuid, here, from);
    try {
      const { context } = job;
      this.#host.emit({ context, action: 'resize_finish', phase: 'start', instance: coming });
      await this.#host.virt.destroy(job.uuid);
      const resized = await this.#makeGuest(job, coming, imageId, signal);
      this.#host.emit({ context, action: 'resize_finish', phase: 'end', instance: resized });
    } catch (error) {
      if (!this.#host.lifetime.aborted) await this.#failed(job, error);
      throw error;
    }
  }

  /** Also when only its last word was cut off. Once the instance is shown here the move is over. */
  async #hasFinished({ uuid, migrationUuid }: ResizeJob): Promise<boolean> {
    const { records, host } = this.#host;
    const copy = await records.instances.get(uuid);
    const isHere = copy.get('vm_state') === 'resized' && copy.find('host') === host;
    if (!isHere || copy.find('hidden') !== true) return false;
    await this.#sayFinished(migrationUuid);
    return true;
  }

  async #makeGuest(
    { uuid, migrationUuid }: ResizeJob,
    instance: Instance,
    imageId: string | null,
    signal: AbortSignal,
  ): Promise<Instance> {
    const { records, networking, virt, host } = this.#host;
    await networking.activateBinding(uuid, host);
    const powerOn = oldStateOf(instance) === 'active';
    await startWhenPlugged(this.#host, uuid, (beforeStart) =>
      virt.snapshotMoves.spawnFromImage(instance, imageId, { powerOn, beforeStart, signal }),
    );
    const done = {
      vm_state: 'resized',
      task_state: null,
      power_state: powerOn ? POWER_STATE.running : POWER_STATE.shutdown,
      launched_at: new Date(),
    } as const;
    const resized = await writeSurely(this.#host, {
      write: () => records.instances.update(uuid, done, { task_state: ['resize_finish'] }),
      read: () => records.instances.get(uuid),
      isWritten: (one) => one.get('host') === host && one.get('vm_state') === 'resized',
    });
    await this.#sayFinished(migrationUuid);
    return resized;
  }

  async #sayFinished(migrationUuid: string): Promise<void> {
    const { records } = this.#host;
    // The last word: a conductor that has given up has written another status, and then the guest goes.
    const ours = { status: ['post-migrating', 'finished'] } as const;
    await writeSurely(this.#host, {
      write: () => records.migrations.update(migrationUuid, { status: 'finished' }, ours),
      read: () => records.migrations.get(migrationUuid),
      isWritten: (one) => one.get('status') === 'finished',
    });
  }

  async #failed(job: ResizeJob, error: unknown): Promise<void> {
    const attempts = this.#attempts(job);
    await attempts.make('removing the guest', () => this.#host.virt.destroy(job.uuid));
    await attempts.make('recording the error', () =>
      this.#host.records.instances.update(
        job.uuid,
        { vm_state: 'error', task_state: null, fault: faultOf(error, this.#host.host) },
        { task_state: ['resize_finish', null], hidden: [true], deleted: [false] },
      ),
    );
  }

  /** Nothing comes here, says the conductor. False when it is about no move from another cell that has ended. */
  async drop(uuid: string): Promise<boolean> {
    const { records, host, locks, virt } = this.#host;
    const moves = await records.migrations.find({ instance_uuid: uuid, dest_compute: host });
    const last = moves.at(-1);
    if (last?.find('cross_cell_move') !== true || !isFinal(last.get('status'))) return false;
    locks.interrupt(uuid, new OperationAbortedError('The conductor has ended the move'));
    await locks.run(uuid, async () => {
      const instance = await records.instances.get(uuid);
      if (!instance.find('hidden')) return; // a later move, of which this message knows nothing
      await virt.destroy(uuid);
      await records.allocations.release(uuid, host);
    });
    const error = new UnexpectedStateError('The conductor has ended the move');
    for (const move of moves)
      if (isFinal(move.get('status'))) this.#engagement.close(move.get('uuid'), error);
    return true;
  }

  /**
   * The user wants the instance back where it was: the guest goes. Done twice it does nothing more. If the conductor has taken the
   * move back meanwhile it goes as well: its word for that may have come to nobody, and our look at the start too early.
   */
  async revert(
    context: RequestContext,
    { instance, migration }: Args<'revert_snapshot_based_resize_at_dest'>,
  ): Promise<void> {
    const job = resizeJob(context, instance, migration);
    try {
      await this.#revert(job);
    } catch (error) {
      if (!this.#host.lifetime.aborted) await this.#dropIfEnded(job.uuid);
      throw error;
    }
  }

  async #dropIfEnded(uuid: string): Promise<void> {
    const { records, locks } = this.#host;
    const copy = await orUndefined(records.instances.get(uuid));
    if (copy?.find('hidden') !== true || (await this.drop(uuid))) return;
    await locks.run(uuid, () => removeIfDeleted(this.#host, uuid));
  }

  async #revert(job: ResizeJob): Promise<void> {
    const { records, virt, locks, host } = this.#host;
    await locks.run(job.uuid, async () => {
      const ours = { status: ['reverting'], dest_compute: [host] } as const;
      await records.migrations.update(job.migrationUuid, { dest_node: host }, ours);
      await virt.destroy(job.uuid);
      await this.#release(job);
    });
  }

  #attempts({ uuid, migrationUuid }: ResizeJob): Attempts {
    return new Attempts(this.#host.logger, { instance: uuid, migration: migrationUuid });
  }
}
