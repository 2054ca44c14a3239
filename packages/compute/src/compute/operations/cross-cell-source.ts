import type { RequestContext } from '@ebbgate/core';
import { OperationAbortedError } from '../../errors.js';
import { faultOf } from '../../objects/instance-fault.js';
import type { Instance, InstanceFields } from '../../objects/instance.js';
import { POWER_STATE } from '../../objects/states.js';
import type { ArgsOf, ComputeMethods } from '../../rpc/methods.js';
import { Attempts } from '../attempts.js';
import type { HostContext } from '../host-context.js';
import { cutOff } from '../instance-action.js';
import { NO_OTHER_SIZE, resizeJob, type ResizeJob } from './resize-job.js';

type PrepareArgs = ArgsOf<ComputeMethods['prep_snapshot_based_resize_at_source']>;

/** How far it is. `kept`: of the guest only its disks are here. */
type Stage = 'untouched' | 'begun' | 'kept';

interface SourceJob extends ResizeJob {
  readonly imageId: string | null;
  stage: Stage;
}

/**
 * The source's side of a resize that goes to another cell (`compute-rpc.md` 3.5, step 4): the disks go into an image, and
 * stay here for the case of a revert. It sees the records of its own cell only.
 */
export class CrossCellAtSource {
  readonly #host: HostContext;

  constructor(host: HostContext) {
    this.#host = host;
  }

  /** A message that comes late finds another status: then there is nothing to do, and nothing to undo. */
  async prepare(context: RequestContext, args: PrepareArgs): Promise<void> {
    const { records, host, locks } = this.#host;
    const job: SourceJob = {
      ...resizeJob(context, args.instance, args.migration),
      imageId: args.snapshot_id,
      stage: 'untouched',
    };
    await locks.run(job.uuid, async (signal) => {
      const ours = { status: ['pre-migrating'], source_compute: [host] } as const;
      await records.migrations.update(job.migrationUuid, { status: 'migrating' }, ours);
      try {
        await this.#send(job, signal);
      } catch (error) {
        if (!this.#host.lifetime.aborted) await this.#takeBack(job, error);
        throw error;
      }
    });
  }

  async #send(job: SourceJob, signal: AbortSignal): Promise<void> {
    const { records, virt, host, emit } = this.#host;
    const { uuid, migrationUuid, imageId } = job;
    const preparing = { task_state: ['resize_prep'], host: [host] } as const;
    const instance = await records.instances.update(uuid, { task_state: 'resize_migrating' }, preparing);
    job.stage = 'begun';
    const { context } = job;
    emit({ context, action: 'resize', phase: 'start', instance });
    await virt.powerOff(instance, { clean: true, signal });
    if (imageId !== null) await virt.snapshot(instance, imageId, { signal });
    if (signal.aborted) throw new OperationAbortedError('The instance is being deleted');
    job.stage = 'kept';
    await virt.snapshotMoves.keepDisks(instance);
    const sent = { task_state: 'resize_migrated', power_state: POWER_STATE.shutdown } as const;
    const migrated = await records.instances.update(uuid, sent, { task_state: ['resize_migrating'] });
    const migrating = { status: ['migrating'] } as const;
    await records.migrations.update(migrationUuid, { status: 'post-migrating' }, migrating);
    emit({ context, action: 'resize', phase: 'end', instance: migrated });
  }

  /** As long as the guest is here it does again what it did; afterwards a hard reboot makes it again of its disks. */
  async #takeBack(job: SourceJob, error: unknown): Promise<void> {
    const { records, virt, host, logger } = this.#host;
    const { uuid, migrationUuid, imageId } = job;
    const attempts = new Attempts(logger, { instance: uuid, migration: migrationUuid });
    await attempts.make('recording the error', () =>
      records.migrations.update(
        migrationUuid,
        { status: 'error' },
        { status: ['migrating', 'post-migrating'] },
      ),
    );
    if (imageId !== null)
      await attempts.make('removing the image', () => virt.snapshotMoves.removeImage(imageId));
    const changes = { ...(await this.#asBefore(job, attempts)), fault: faultOf(error, host) };
    await attempts.make('resetting the instance', () =>
      records.instances.update(uuid, changes, {
        task_state: ['resize_prep', 'resize_migrating', 'resize_migrated'],
      }),
    );
  }

  async #asBefore(job: SourceJob, attempts: Attempts): Promise<Partial<InstanceFields>> {
    const changes = { ...NO_OTHER_SIZE, task_state: null };
    if (job.stage === 'untouched') return changes;
    const { instance } = job;
    const wasOff = instance.get('vm_state') === 'stopped';
    const isBack = job.stage === 'begun' && (wasOff || (await this.#powerOn(instance, attempts)));
    const isOn = (await this.#host.virt.guestState(job.uuid)) === 'running';
    const power_state = isOn ? POWER_STATE.running : POWER_STATE.shutdown;
    return { ...changes, power_state, ...(!isBack && { vm_state: 'error' }) };
  }

  #powerOn(instance: Instance, attempts: Attempts): Promise<boolean> {
    const { virt, lifetime } = this.#host;
    return attempts.make('starting the guest again', () => virt.powerOn(instance, { signal: lifetime }));
  }

  /** What an end of the process has cut off: the conductor gets no answer, so it is taken back. */
  async recover(job: ResizeJob): Promise<void> {
    if (job.instance.get('task_state') !== 'resize_migrating') return; // it was sent, or has not begun
    const hasGuest = (await this.#host.virt.guestState(job.uuid)) !== undefined;
    await this.#host.locks.run(job.uuid, () =>
      this.#takeBack({ ...job, imageId: null, stage: hasGuest ? 'begun' : 'kept' }, cutOff()),
    );
  }
}
