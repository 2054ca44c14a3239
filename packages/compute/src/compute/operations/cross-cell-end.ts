import type { RequestContext } from '@ebbgate/core';
import { faultOf } from '../../objects/instance-fault.js';
import type { Instance } from '../../objects/instance.js';
import { POWER_STATE } from '../../objects/states.js';
import type { ArgsOf, ComputeMethods } from '../../rpc/methods.js';
import { Attempts } from '../attempts.js';
import type { HostContext } from '../host-context.js';
import { startWhenPlugged } from '../plugged-start.js';
import { NO_OTHER_SIZE, oldStateOf, resizeJob, type ResizeJob } from './resize-job.js';

/**
 * How a resize to another cell ends at its source (`compute-rpc.md` 3.5): what was kept there is removed, or becomes a guest
 * again.
 */
export class CrossCellEndAtSource {
  readonly #host: HostContext;

  constructor(host: HostContext) {
    this.#host = host;
  }

  /** The instance stays in the other cell. Done twice it does nothing more. */
  async confirm(
    context: RequestContext,
    args: ArgsOf<ComputeMethods['confirm_snapshot_based_resize_at_source']>,
  ): Promise<void> {
    const { records, virt, host, locks } = this.#host;
    const job = resizeJob(context, args.instance, args.migration);
    await locks.run(job.uuid, async (signal) => {
      const ours = { status: ['confirming'], source_compute: [host] } as const;
      await records.migrations.update(job.migrationUuid, {}, ours); // or it comes late
      await virt.coldMoves.confirmMigration(job.instance, { signal });
      await records.allocations.release(job.migrationUuid);
      await records.migrations.update(job.migrationUuid, { status: 'confirmed' }, ours);
    });
  }

  /** The instance comes back, in its old size: its guest in the other cell is gone. */
  async finishRevert(
    context: RequestContext,
    args: ArgsOf<ComputeMethods['finish_revert_snapshot_based_resize_at_source']>,
  ): Promise<void> {
    const { records, host, locks } = this.#host;
    const job = resizeJob(context, args.instance, args.migration);
    await locks.run(job.uuid, async (signal) => {
      const ours = { status: ['reverting', 'reverted'], source_compute: [host] } as const; // it may have been cut off
      await records.migrations.update(job.migrationUuid, {}, ours);
      const reverting = { task_state: ['resize_reverting'], host: [host] } as const;
      const instance = await records.instances.update(job.uuid, NO_OTHER_SIZE, reverting);
      try {
        await this.#makeGuestAgain(job, instance, signal);
      } catch (error) {
        if (!this.#host.lifetime.aborted) await this.#failed(job, error);
        throw error;
      }
    });
  }

  async #makeGuestAgain(
    { uuid, migrationUuid }: ResizeJob,
    instance: Instance,
    signal: AbortSignal,
  ): Promise<void> {
    const { records, networking, virt, host } = this.#host;
    await records.allocations.transfer(migrationUuid, uuid);
    await networking.activateBinding(uuid, host);
    const powerOn = oldStateOf(instance) === 'active';
    await startWhenPlugged(this.#host, uuid, (beforeStart) =>
      virt.coldMoves.finishRevertMigration(instance, { powerOn, beforeStart, signal }),
    );
    const open = { status: ['reverting', 'reverted'] } as const;
    await records.migrations.update(migrationUuid, { status: 'reverted' }, open);
    const reverting = { task_state: ['resize_reverting'] } as const;
    if (powerOn) {
      const active = { vm_state: 'active', task_state: null, power_state: POWER_STATE.running } as const;
      await records.instances.update(uuid, { ...active, launched_at: new Date() }, reverting);
      return;
    }
    await records.instances.update(uuid, { vm_state: 'active', task_state: 'powering-off' }, reverting);
    const stopped = { vm_state: 'stopped', task_state: null, power_state: POWER_STATE.shutdown } as const;
    await records.instances.update(uuid, stopped, { task_state: ['powering-off'] });
  }

  async #failed({ uuid, migrationUuid }: ResizeJob, error: unknown): Promise<void> {
    const { records, logger, host } = this.#host;
    const attempts = new Attempts(logger, { instance: uuid, migration: migrationUuid });
    await attempts.make('recording the error', () =>
      records.migrations.update(migrationUuid, { status: 'error' }, { status: ['reverting', 'reverted'] }),
    );
    await attempts.make('settling the allocations', () => records.allocations.transfer(migrationUuid, uuid));
    await attempts.make('resetting the instance', () =>
      records.instances.update(
        uuid,
        { vm_state: 'error', task_state: null, fault: faultOf(error, host) },
        { task_state: ['resize_reverting', 'powering-off'] },
      ),
    );
  }
}
