import type { RequestContext } from '@ebbgate/core';
import { ResourcesUnavailableError, UnexpectedStateError } from '../../errors.js';
import { faultOf } from '../../objects/instance-fault.js';
import type { Instance } from '../../objects/instance.js';
import { isFinal, POWER_STATE, type TaskState } from '../../objects/states.js';
import type { ArgsOf, ComputeMethods } from '../../rpc/methods.js';
import { resourcesOf } from '../../scheduler/flavor-resources.js';
import { Attempts } from '../attempts.js';
import type { HostContext } from '../host-context.js';
import { beginAction } from '../instance-action.js';
import { startWhenPlugged } from '../plugged-start.js';
import { UnsettledWriteError, writeSurely } from '../sure-write.js';
import { giveUpResize } from './give-up-resize.js';
import { releaseUnused } from './abandon-resize.js';
import type { ResizeEngagement } from './resize-engagement.js';
import {
  NO_OTHER_SIZE,
  oldStateOf,
  resizeJob,
  type ResizeJob,
  sizeFields,
  withOldState,
} from './resize-job.js';

type Args<Name extends keyof ComputeMethods> = ArgsOf<ComputeMethods[Name]>;
type PrepareArgs = Args<'prep_resize'>;

/**
 * The destination's side of cold migrations and resizes (`compute-rpc.md` 3.2, steps 3 and 7). From `prep_resize` on the
 * host counts as engaged, until `finish_resize` has ended here or the source tells that nothing comes.
 */
export class ResizeAtDestination {
  readonly #host: HostContext;
  readonly #engagement: ResizeEngagement;

  constructor(host: HostContext, engagement: ResizeEngagement) {
    this.#host = host;
    this.#engagement = engagement;
  }

  #open(job: ResizeJob): void {
    this.#engagement.open(job, () => this.dropClaim(job.uuid));
  }

  /** Step 3: claims room, and asks the source to send the disks. */
  async prepare(context: RequestContext, args: PrepareArgs): Promise<void> {
    const job = resizeJob(context, args.instance, args.migration);
    this.#open(job);
    try {
      await this.#host.locks.run(job.uuid, () => this.#prepare(job, args));
    } catch (error) {
      if (!this.#host.lifetime.aborted) await this.#engagement.closeIfOver(job, error);
      throw error;
    }
  }

  async #prepare(job: ResizeJob, args: PrepareArgs): Promise<void> {
    await this.#takeUp(job, args);
    const { context, instance } = job;
    const event = { context, action: 'resize_prep', instance, newFlavor: args.flavor } as const;
    this.#host.emit({ ...event, phase: 'start' });
    try {
      await this.#claim(job, args);
      await this.#askSource(job, args);
    } catch (error) {
      if (!this.#host.lifetime.aborted) await giveUpResize(this.#host, job, args, error);
      throw error;
    } finally {
      this.#host.emit({ ...event, phase: 'end' }); // also after a failure, as upstream
    }
  }

  /** A message that comes late, or twice, finds another state: then there is nothing to do. */
  async #takeUp(job: ResizeJob, args: PrepareArgs): Promise<void> {
    const { records, host, lifetime } = this.#host;
    const here = { dest_compute: host, dest_node: host, dest_host: host };
    const claim = (by: readonly (string | null)[]): Promise<unknown> =>
      records.migrations.update(job.migrationUuid, here, { status: ['pre-migrating'], dest_compute: by });
    try {
      await claim([null]);
    } catch (error) {
      if (error instanceof UnsettledWriteError && !lifetime.aborted) {
        await claim([null, host]); // it may be; then it is ours to give up
        await giveUpResize(this.#host, job, args, error);
      } else if (error instanceof UnexpectedStateError) await releaseUnused(this.#host, job.uuid);
      throw error;
    }
  }

  async #claim(
    { uuid, instance, source }: ResizeJob,
    { flavor, request_spec: spec }: PrepareArgs,
  ): Promise<void> {
    const { records, virt, host } = this.#host;
    if (source !== host) await virt.coldMoves.checkDestination(instance);
    const resources = resourcesOf(flavor, { bootsFromVolume: spec.find('is_bfv') === true });
    if (await records.allocations.claim(uuid, host, resources)) return; // it has been, by the scheduler
    throw new ResourcesUnavailableError(`${host} has no room for instance ${uuid}`);
  }

  async #askSource(job: ResizeJob, args: PrepareArgs): Promise<void> {
    const { records, computeApi } = this.#host;
    const current = await records.instances.get(job.uuid);
    const sizes = {
      old_flavor: current.get('flavor'),
      new_flavor: args.flavor,
      system_metadata: withOldState(current),
    };
    const instance = await records.instances.update(job.uuid, sizes, { task_state: ['resize_prep'] });
    await computeApi.cast(job.context, 'resize_instance', job.source, {
      instance,
      migration: await records.migrations.get(job.migrationUuid),
      image: args.image,
      flavor: args.flavor,
      clean_shutdown: args.clean_shutdown,
      request_spec: args.request_spec,
    });
  }

  /** Step 7: the disks are here. It counts as running from now on. */
  beginFinish(context: RequestContext, args: Args<'finish_resize'>): void {
    const diskInfo = typeof args.disk_info === 'string' ? args.disk_info : null;
    this.#begin(resizeJob(context, args.instance, args.migration), diskInfo, ['resize_migrated']);
  }

  /** The disks are to come, as the records say: the host is engaged again, after a start. */
  expect(job: ResizeJob): void {
    this.#open(job);
  }

  /** Does step 7 again that an end of the process has cut off, or whose message may have been lost with the source. */
  resume(job: ResizeJob): void {
    this.#open(job);
    this.#begin(job, null, ['resize_migrated', 'resize_finish']);
  }

  #begin(job: ResizeJob, diskInfo: string | null, from: readonly TaskState[]): void {
    beginAction(this.#host, job.context, 'finish_resize', job.uuid, async (signal) => {
      try {
        await this.#finish(job, diskInfo, from, signal);
        this.#engagement.close(job.migrationUuid);
      } catch (error) {
        if (!this.#host.lifetime.aborted) {
          await this.#failed(job, error);
          await this.#engagement.closeIfOver(job, error);
        }
        throw error;
      }
    });
  }

  async #finish(
    job: ResizeJob,
    diskInfo: string | null,
    from: readonly TaskState[],
    signal: AbortSignal,
  ): Promise<void> {
    const { records, host } = this.#host;
    const expected = { task_state: from, host: [host] };
    const instance = await records.instances.update(job.uuid, { task_state: 'resize_finish' }, expected);
    const { context } = job;
    this.#host.emit({ context, action: 'resize_finish', phase: 'start', instance });
    const resized = await this.#makeGuest(job, instance, diskInfo, signal);
    this.#host.emit({ context, action: 'resize_finish', phase: 'end', instance: resized });
  }

  async #makeGuest(
    job: ResizeJob,
    instance: Instance,
    diskInfo: string | null,
    signal: AbortSignal,
  ): Promise<Instance> {
    const { records, networking, virt, host } = this.#host;
    const { uuid, migrationUuid } = job;
    await networking.activateBinding(uuid, host);
    const flavor = instance.find('new_flavor') ?? instance.get('flavor');
    const expected = { task_state: ['resize_finish'] } as const;
    const resized = await records.instances.update(uuid, sizeFields(flavor), expected);
    const powerOn = oldStateOf(resized) === 'active';
    await startWhenPlugged(this.#host, uuid, (beforeStart) =>
      virt.coldMoves.finishMigration(resized, diskInfo, { powerOn, beforeStart, signal }),
    );
    const under = ['post-migrating', 'finished'] as const; // the latter when it was cut off right here before
    await records.migrations.update(migrationUuid, { status: 'finished' }, { status: under });
    const done = {
      vm_state: 'resized',
      task_state: null,
      power_state: powerOn ? POWER_STATE.running : POWER_STATE.shutdown,
      launched_at: new Date(),
    } as const;
    return writeSurely(this.#host, {
      write: () => records.instances.update(uuid, done, expected),
      read: () => records.instances.get(uuid),
      isWritten: (one) => one.get('host') === host && one.get('vm_state') === 'resized',
    });
  }

  /** A message that came late, or twice, has found another task: then there is nothing to undo. */
  async #failed(job: ResizeJob, error: unknown): Promise<void> {
    const { records, logger } = this.#host;
    const attempts = new Attempts(logger, { instance: job.uuid, migration: job.migrationUuid });
    await attempts.make('cleaning up after a resize', async () => {
      const instance = await records.instances.get(job.uuid);
      const task = instance.get('task_state');
      const hasNotBegun = task === 'resize_migrated' && error instanceof UnsettledWriteError;
      if (task === 'resize_finish' || hasNotBegun)
        await this.#leaveInError(job, instance, { error, attempts });
      else if (task === 'deleting' || instance.get('vm_state') === 'deleted') await this.#drop(job, instance);
    });
  }

  /** The disks are here, so the instance stays here, in ERROR; what it had at the source goes. */
  async #leaveInError(
    job: ResizeJob,
    instance: Instance,
    { error, attempts }: { readonly error: unknown; readonly attempts: Attempts },
  ): Promise<void> {
    const { records, host } = this.#host;
    const { uuid, migrationUuid } = job;
    await attempts.make('releasing the source', () => records.allocations.release(migrationUuid));
    const old = instance.find('old_flavor');
    const changes = { ...(old && sizeFields(old)), ...NO_OTHER_SIZE };
    const fault = faultOf(error, host);
    const failed = { ...changes, vm_state: 'error', task_state: null, fault } as const;
    await attempts.make('resetting the instance', () =>
      records.instances.update(uuid, failed, { task_state: ['resize_migrated', 'resize_finish'] }),
    );
    await attempts.make('recording the error', () =>
      records.migrations.update(migrationUuid, { status: 'error' }),
    );
  }

  /** It is deleted before it has come to be here: nothing of it stays at the source either. */
  async #drop({ context, migrationUuid, source }: ResizeJob, instance: Instance): Promise<void> {
    const { records, virt, computeApi } = this.#host;
    const moving = { status: ['post-migrating'] } as const;
    const migration = await records.migrations.update(migrationUuid, { status: 'confirming' }, moving);
    await virt.coldMoves.dropDisks(instance);
    await computeApi.cast(context, 'confirm_resize', source, { instance, migration });
  }

  /** The guest does not come, says its source: nothing of it stays here. Does nothing when it is here, or may still come. */
  async dropClaim(uuid: string): Promise<void> {
    const { records, virt, host } = this.#host;
    const instance = await records.instances.get(uuid);
    const moves = await records.migrations.find({ instance_uuid: uuid, dest_compute: host });
    const isOwn = moves.at(-1)?.get('source_compute') === host; // it was to get another size, here
    const isHere = instance.find('host') === host && !isOwn;
    if (isHere || moves.some((move) => !isFinal(move.get('status')))) return;
    try {
      await virt.coldMoves.dropDisks(instance);
      if (!isOwn) await records.allocations.release(uuid, host);
    } finally {
      const error = new UnexpectedStateError('The source could not send the guest');
      for (const move of moves) this.#engagement.close(move.get('uuid'), error);
    }
  }
}
