import type { RequestContext } from '@ebbgate/core';
import type { Instance } from '../../objects/instance.js';
import { POWER_STATE } from '../../objects/states.js';
import type { ArgsOf, ComputeMethods } from '../../rpc/methods.js';
import { faultOf } from '../../objects/instance-fault.js';
import { Attempts } from '../attempts.js';
import type { HostContext } from '../host-context.js';
import { beginAction } from '../instance-action.js';
import { NO_OTHER_SIZE, resizeJob, type ResizeJob } from './resize-job.js';

/**
 * The user keeps the instance where it is, in its new size (`compute-rpc.md` 3.3): the source removes what it has kept. The
 * destination has no part in it.
 */
export class ConfirmResize {
  readonly #host: HostContext;

  constructor(host: HostContext) {
    this.#host = host;
  }

  /** It counts as running from now on. */
  begin(context: RequestContext, args: ArgsOf<ComputeMethods['confirm_resize']>): void {
    this.resume(resizeJob(context, args.instance, args.migration));
  }

  /** As {@link begin}; also for one that an end of the process has cut off: done twice it does nothing more. */
  resume(job: ResizeJob): void {
    beginAction(this.#host, job.context, 'confirm_resize', job.uuid, (signal) => this.#run(job, signal));
  }

  async #run(job: ResizeJob, signal: AbortSignal): Promise<void> {
    const { records, host, logger } = this.#host;
    const status = (await records.migrations.get(job.migrationUuid)).get('status');
    if (job.source !== host || (status !== 'finished' && status !== 'confirming')) {
      logger.info({ migration: job.migrationUuid, status }, 'There is nothing to confirm');
      return;
    }
    try {
      await this.#confirm(job, signal);
    } catch (error) {
      if (!this.#host.lifetime.aborted) await this.#failed(job, error);
      throw error;
    }
  }

  /** The migration last: until it is `confirmed` the next start does all of it again. */
  async #confirm(job: ResizeJob, signal: AbortSignal): Promise<void> {
    const { records, virt } = this.#host;
    const { uuid, migrationUuid } = job;
    const { context } = job;
    const instance = await records.instances.get(uuid);
    this.#host.emit({ context, action: 'resize_confirm', phase: 'start', instance });
    await virt.coldMoves.confirmMigration(instance, { signal });
    await records.allocations.release(migrationUuid);
    const settled = await this.#settle(job);
    const unconfirmed = { status: ['finished', 'confirming'] } as const;
    await records.migrations.update(migrationUuid, { status: 'confirmed' }, unconfirmed);
    this.#host.emit({ context, action: 'resize_confirm', phase: 'end', instance: settled });
  }

  /** What waits for its end no more; one that is being deleted is none of ours. */
  async #settle({ uuid }: ResizeJob): Promise<Instance> {
    const { records } = this.#host;
    const instance = await records.instances.get(uuid);
    if (instance.get('vm_state') !== 'resized' || instance.get('task_state') !== null) return instance;
    const isOff = instance.find('power_state') === POWER_STATE.shutdown;
    const confirmed = { ...NO_OTHER_SIZE, vm_state: isOff ? 'stopped' : 'active', task_state: null } as const;
    return records.instances.update(uuid, confirmed, { vm_state: ['resized'], task_state: [null] });
  }

  /** The instance is at its destination, whatever has happened here: what it had here goes. */
  async #failed({ uuid, migrationUuid }: ResizeJob, error: unknown): Promise<void> {
    const { records, logger, host } = this.#host;
    const attempts = new Attempts(logger, { instance: uuid, migration: migrationUuid });
    await attempts.make('releasing the source', () => records.allocations.release(migrationUuid));
    await attempts.make('resetting the instance', () =>
      records.instances.update(
        uuid,
        { vm_state: 'error', task_state: null, fault: faultOf(error, host) },
        { vm_state: ['resized'] },
      ),
    );
    await attempts.make('recording the error', () =>
      records.migrations.update(migrationUuid, { status: 'error' }),
    );
  }
}
