import type { RequestContext } from '@ebbgate/core';
import { faultOf } from '../../objects/instance-fault.js';
import type { Instance } from '../../objects/instance.js';
import type { RequestSpec } from '../../objects/request-spec.js';
import type { ArgsOf, ComputeMethods } from '../../rpc/methods.js';
import { Attempts } from '../attempts.js';
import type { HostContext } from '../host-context.js';
import { beginAction } from '../instance-action.js';
import { isNewestMove, resizeJob, type ResizeJob } from './resize-job.js';

/** How far a revert is at the destination. */
interface RevertJob extends ResizeJob {
  readonly requestSpec: RequestSpec | null;
  /** There is no guest here any more. */
  hasLeft: boolean;
}

/**
 * The user wants the instance back as it was (`compute-rpc.md` 3.4), at its destination, which it leaves: the guest is
 * removed, and the source makes it again of what it has kept.
 */
export class RevertResizeAtDestination {
  readonly #host: HostContext;

  constructor(host: HostContext) {
    this.#host = host;
  }

  /** It counts as running from now on. */
  begin(context: RequestContext, args: ArgsOf<ComputeMethods['revert_resize']>): void {
    const job = resizeJob(context, args.instance, args.migration);
    this.#begin({ ...job, requestSpec: args.request_spec, hasLeft: false });
  }

  /** One that an end of the process has cut off: what was done is not done again. */
  resume(job: ResizeJob): void {
    this.#begin({ ...job, requestSpec: null, hasLeft: false });
  }

  #begin(job: RevertJob): void {
    beginAction(this.#host, job.context, 'revert_resize', job.uuid, () => this.#run(job));
  }

  async #run(job: RevertJob): Promise<void> {
    const { records, host, logger } = this.#host;
    const [migration, instance] = await Promise.all([
      records.migrations.get(job.migrationUuid),
      records.instances.get(job.uuid),
    ]);
    const status = migration.get('status');
    const isHere = instance.find('host') === host && instance.get('task_state') === 'resize_reverting';
    const isIt = isHere && (await isNewestMove(this.#host, job));
    if (!isIt || (status !== 'reverting' && status !== 'reverted')) {
      logger.info({ migration: job.migrationUuid, status }, 'There is nothing to revert');
      return;
    }
    job.hasLeft = status === 'reverted';
    try {
      await this.#revert(job, instance);
    } catch (error) {
      if (!this.#host.lifetime.aborted) await this.#failed(job, error);
      throw error;
    }
  }

  async #revert(job: RevertJob, instance: Instance): Promise<void> {
    const { records, networking, virt, computeApi, host } = this.#host;
    const { context, uuid, migrationUuid, source } = job;
    if (!job.hasLeft) {
      await networking.activateBinding(uuid, source);
      await virt.destroy(uuid, { keepDisks: await this.#isStorageShared(job) });
      job.hasLeft = true;
    }
    const reverting = { status: ['reverting', 'reverted'] } as const;
    const migration = await records.migrations.update(migrationUuid, { status: 'reverted' }, reverting);
    await records.allocations.release(uuid, host);
    await computeApi.cast(context, 'finish_revert_resize', source, {
      instance,
      migration,
      request_spec: job.requestSpec,
    });
  }

  /** When the source cannot be asked its disks may be the very ones that are here: then they are kept. */
  async #isStorageShared({ context, uuid, source }: RevertJob): Promise<boolean> {
    const { computeApi, virt, logger } = this.#host;
    const mark = await virt.markDisks(uuid);
    if (mark === undefined) return false;
    try {
      return await computeApi.call(context, 'check_instance_shared_storage', source, { data: mark });
    } catch (error) {
      logger.warn({ err: error, instance: uuid, source }, 'Storage is taken as shared: the disks are kept');
      return true;
    } finally {
      await virt.unmarkDisks(mark);
    }
  }

  /** The instance is where its guest is, or what was kept of it: in ERROR, with what it has there and no more. */
  async #failed({ uuid, migrationUuid, source, hasLeft }: RevertJob, error: unknown): Promise<void> {
    const { records, networking, host, logger } = this.#host;
    const attempts = new Attempts(logger, { instance: uuid, migration: migrationUuid });
    const where = hasLeft ? source : host;
    await attempts.make('binding the ports', () => networking.activateBinding(uuid, where));
    await attempts.make('settling the allocations', async () => {
      if (!hasLeft) await records.allocations.release(migrationUuid);
      else {
        await records.allocations.release(uuid, host);
        await records.allocations.transfer(migrationUuid, uuid);
      }
    });
    const fault = faultOf(error, host);
    const failed = { host: where, node: where, vm_state: 'error', task_state: null, fault } as const;
    await attempts.make('resetting the instance', () =>
      records.instances.update(uuid, failed, { task_state: ['resize_reverting'], host: [host] }),
    );
    await attempts.make('recording the error', () =>
      records.migrations.update(migrationUuid, { status: 'error' }),
    );
  }
}
