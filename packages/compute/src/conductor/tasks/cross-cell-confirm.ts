import { MessagingTimeoutError, type RequestContext } from '@ebbgate/core';
import { DrainingError } from '@ebbgate/rpc';
import type { CellAccess } from '../../cells/cell-access.js';
import { Attempts } from '../../compute/attempts.js';
import { NO_OTHER_SIZE } from '../../compute/operations/resize-job.js';
import type { Instance } from '../../objects/instance.js';
import type { Migration } from '../../objects/migration.js';
import { POWER_STATE } from '../../objects/states.js';
import type { ConductorMethods } from '../../rpc/conductor-methods.js';
import type { ArgsOf } from '../../rpc/methods.js';
import { faultOf } from '../../objects/instance-fault.js';
import type { ConductorContext } from '../conductor-context.js';
import { removeInstance } from './cross-cell-copies.js';
import { asDriver, type CrossCellEnds, forgetMove, waitAgain } from './cross-cell-ends.js';

type Args = ArgsOf<ConductorMethods['confirm_snapshot_based_resize']>;

/**
 * The user keeps the instance in the other cell (`compute-rpc.md` 3.5): what its source has kept goes, and its records there.
 * Done again after a failure it does the rest.
 */
export class CrossCellConfirmTask {
  readonly #conductor: ConductorContext;
  readonly #context: RequestContext;
  readonly #args: Args;

  constructor(conductor: ConductorContext, context: RequestContext, args: Args) {
    this.#conductor = conductor;
    this.#context = context;
    this.#args = args;
  }

  async run(): Promise<void> {
    await asDriver(this.#conductor, this.#args, (ends) => this.#run(ends));
  }

  async #run(ends: CrossCellEnds): Promise<void> {
    const { source, migrationUuid } = ends;
    if (!(await isConfirming(ends))) return; // the request came twice
    const before = await source.records.migrations.get(migrationUuid);
    const fields = { host: before.get('source_compute'), migration: migrationUuid };
    if (!(await this.#conductor.hosts.takesRequests(source.records, fields.host))) {
      const why = 'A resize cannot be confirmed now: its source takes no new requests';
      this.#conductor.logger.warn(fields, why);
      await this.#putBack(ends, before);
      return;
    }
    try {
      await this.#confirm(ends, before);
    } catch (error) {
      if (!(await isConfirming(ends))) return; // another conductor has done it meanwhile
      if (error instanceof DrainingError || error instanceof MessagingTimeoutError) {
        this.#conductor.logger.warn({ err: error, ...fields }, 'A resize cannot be confirmed now');
        if (error instanceof DrainingError) await this.#putBack(ends, before);
        return; // a source that gives no answer has died, or is slow: a conductor asks again
      }
      this.#conductor.logger.error(
        { err: error, ...fields },
        'A resize to another cell could not be confirmed',
      );
      await this.#failed(ends, error);
    }
  }

  /** The source has refused it, and it can be asked for again. Once the source has begun a conductor comes again by itself. */
  async #putBack(ends: CrossCellEnds, before: Migration): Promise<void> {
    if (before.get('status') !== 'finished') return;
    const { migrations } = ends.source.records;
    const refused = { status: ['finished', 'confirming'] } as const;
    await migrations.update(ends.migrationUuid, { status: 'finished' }, refused);
    await waitAgain(ends, 'confirming');
  }

  async #confirm({ source, target, uuid, migrationUuid }: CrossCellEnds, before: Migration): Promise<void> {
    if (before.get('status') !== 'confirmed') await this.#removeAtSource(source, uuid, migrationUuid);
    await source.networking.deallocate(uuid);
    await removeInstance(source, uuid);
    const instance = await this.#keep(target, uuid, migrationUuid);
    const confirming = { status: ['confirming'] } as const;
    await target.records.migrations.update(migrationUuid, { status: 'confirmed' }, confirming);
    await forgetMove(target, uuid);
    this.#conductor.emit({ context: this.#context, action: 'resize_confirm', phase: 'end', instance });
  }

  async #removeAtSource(
    { records, computeApi }: CellAccess,
    uuid: string,
    migrationUuid: string,
  ): Promise<void> {
    const open = { status: ['finished', 'confirming'] } as const;
    const migration = await records.migrations.update(migrationUuid, { status: 'confirming' }, open);
    const instance = await records.instances.get(uuid);
    this.#conductor.emit({ context: this.#context, action: 'resize_confirm', phase: 'start', instance });
    const args = { instance, migration };
    const host = migration.get('source_compute');
    const method = 'confirm_snapshot_based_resize_at_source';
    await computeApi.call(this.#context, method, host, args).catch(async (error: unknown) => {
      const now = await records.migrations.get(migrationUuid);
      if (now.get('status') !== 'confirmed') throw error; // or it was asked twice, and has done it
    });
  }

  /** It is what it was before, unless it is being deleted, or was moved again since. */
  async #keep({ records }: CellAccess, uuid: string, migrationUuid: string): Promise<Instance> {
    const instance = await records.instances.get(uuid);
    const newest = (await records.migrations.find({ instance_uuid: uuid })).at(-1);
    if (instance.get('vm_state') !== 'resized' || instance.get('task_state') !== null) return instance;
    if (newest?.get('uuid') !== migrationUuid) return instance;
    const isOff = instance.find('power_state') === POWER_STATE.shutdown;
    const kept = {
      ...NO_OTHER_SIZE,
      migration_context: null,
      vm_state: isOff ? 'stopped' : 'active',
    } as const;
    return records.instances.update(uuid, kept, { vm_state: ['resized'], task_state: [null] });
  }

  /** The instance is in the other cell all the same. The migration ends last: until then it is tried again. */
  async #failed({ target, source, uuid, migrationUuid }: CrossCellEnds, error: unknown): Promise<void> {
    const attempts = new Attempts(this.#conductor.logger, { instance: uuid, migration: migrationUuid });
    const fault = faultOf(error, null);
    const failed = { vm_state: 'error', task_state: null, fault } as const;
    await attempts.make('the instance', () =>
      target.records.instances.update(uuid, failed, { vm_state: ['resized'] }),
    );
    await attempts.make('the allocation', () => source.records.allocations.release(migrationUuid));
    const confirming = { status: ['confirming'] } as const;
    await attempts.make('the migration', () =>
      target.records.migrations.update(migrationUuid, { status: 'error' }, confirming),
    );
  }
}

async function isConfirming({ target, migrationUuid }: CrossCellEnds): Promise<boolean> {
  return (await target.records.migrations.get(migrationUuid)).get('status') === 'confirming';
}
