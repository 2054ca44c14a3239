import type { RequestContext } from '@ebbgate/core';
import { faultOf } from '../../objects/instance-fault.js';
import type { Instance } from '../../objects/instance.js';
import { POWER_STATE } from '../../objects/states.js';
import type { ArgsOf, ComputeMethods } from '../../rpc/methods.js';
import { Attempts } from '../attempts.js';
import type { HostContext } from '../host-context.js';
import { beginAction } from '../instance-action.js';
import { startWhenPlugged } from '../plugged-start.js';
import {
  isNewestMove,
  NO_OTHER_SIZE,
  oldStateOf,
  resizeJob,
  type ResizeJob,
  sizeFields,
} from './resize-job.js';

/**
 * The user wants the instance back as it was (`compute-rpc.md` 3.4), at its source, to which it returns: after the
 * destination has removed its guest.
 */
export class RevertResizeAtSource {
  readonly #host: HostContext;

  constructor(host: HostContext) {
    this.#host = host;
  }

  /** It counts as running from now on. */
  begin(context: RequestContext, args: ArgsOf<ComputeMethods['finish_revert_resize']>): void {
    this.resume(resizeJob(context, args.instance, args.migration));
  }

  /** As {@link begin}; also for one that an end of the process has cut off: done twice it does nothing more. */
  resume(job: ResizeJob): void {
    beginAction(this.#host, job.context, 'finish_revert_resize', job.uuid, (signal) =>
      this.#run(job, signal),
    );
  }

  async #run(job: ResizeJob, signal: AbortSignal): Promise<void> {
    const { records, host, logger } = this.#host;
    const [migration, instance] = await Promise.all([
      records.migrations.get(job.migrationUuid),
      records.instances.get(job.uuid),
    ]);
    const status = migration.get('status');
    const isComing = status === 'reverted' && instance.get('task_state') === 'resize_reverting';
    if (!isComing || job.source !== host || !(await isNewestMove(this.#host, job))) {
      logger.info({ migration: job.migrationUuid, status }, 'There is nothing to make again');
      return;
    }
    try {
      await this.#makeGuestAgain(job, instance, signal);
    } catch (error) {
      if (!this.#host.lifetime.aborted) await this.#failed(job, error);
      throw error;
    }
  }

  async #makeGuestAgain(
    { context, uuid, migration }: ResizeJob,
    there: Instance,
    signal: AbortSignal,
  ): Promise<void> {
    const { records, networking, virt, host, emit } = this.#host;
    emit({ context, action: 'resize_revert', phase: 'start', instance: there });
    const migrationUuid = migration.get('uuid');
    const dest = migration.find('dest_compute') ?? null;
    const size = sizeFields(there.find('old_flavor') ?? there.get('flavor'));
    const reverting = { task_state: ['resize_reverting'] } as const;
    const instance = await records.instances.update(uuid, { ...size, host, node: host }, reverting);
    if (dest !== null) await records.allocations.release(uuid, dest);
    await records.allocations.transfer(migrationUuid, uuid);
    await networking.activateBinding(uuid, host);
    const powerOn = oldStateOf(instance) === 'active';
    await startWhenPlugged(this.#host, uuid, (beforeStart) =>
      virt.coldMoves.finishRevertMigration(instance, { powerOn, beforeStart, signal }),
    );
    const reverted = await this.#recordReverted(uuid, powerOn);
    emit({ context, action: 'resize_revert', phase: 'end', instance: reverted });
  }

  async #recordReverted(uuid: string, powerOn: boolean): Promise<Instance> {
    const { instances } = this.#host.records;
    const reverting = { task_state: ['resize_reverting'] } as const;
    if (powerOn) {
      const active = { vm_state: 'active', task_state: null, power_state: POWER_STATE.running } as const;
      return instances.update(uuid, { ...NO_OTHER_SIZE, ...active, launched_at: new Date() }, reverting);
    }
    const stopping = { vm_state: 'active', task_state: 'powering-off' } as const;
    await instances.update(uuid, { ...NO_OTHER_SIZE, ...stopping }, reverting);
    const stopped = { vm_state: 'stopped', task_state: null, power_state: POWER_STATE.shutdown } as const;
    return instances.update(uuid, stopped, { task_state: ['powering-off'] });
  }

  /** What was kept is here, and so is the instance, in ERROR. */
  async #failed({ uuid, migrationUuid }: ResizeJob, error: unknown): Promise<void> {
    const { records, host, logger } = this.#host;
    const attempts = new Attempts(logger, { instance: uuid, migration: migrationUuid });
    await attempts.make('settling the allocations', () => records.allocations.transfer(migrationUuid, uuid));
    const fault = faultOf(error, host);
    const failed = { host, node: host, vm_state: 'error', task_state: null, fault } as const;
    await attempts.make('resetting the instance', () =>
      records.instances.update(uuid, failed, { task_state: ['resize_reverting', 'powering-off'] }),
    );
    await attempts.make('recording the error', () =>
      records.migrations.update(migrationUuid, { status: 'error' }),
    );
  }
}
