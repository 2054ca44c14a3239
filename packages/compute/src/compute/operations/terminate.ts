import type { RequestContext } from '@ebbgate/core';
import { OperationAbortedError } from '../../errors.js';
import { deletedNow } from '../../objects/deleted.js';
import type { Instance } from '../../objects/instance.js';
import type { Migration } from '../../objects/migration.js';
import { isFinal, type MigrationStatus } from '../../objects/states.js';
import type { ArgsOf, ComputeMethods } from '../../rpc/methods.js';
import { beginInBackground } from '../background.js';
import type { HostContext } from '../host-context.js';
import { afterFailure } from '../instance-action.js';

type TerminateArgs = ArgsOf<ComputeMethods['terminate_instance']>;

/** Statuses of a resize whose source keeps what the instance had there until it is told how the resize ends. */
const HAS_LEFT: ReadonlySet<MigrationStatus> = new Set([
  'post-migrating',
  'finished',
  'confirming',
  'reverting',
]);

/**
 * Deletes instances. Whatever else is done to one here is asked to end: a build is cancelled, a live migration whose guest
 * has not left is taken back. Then the guest, its ports, its resources and its record go, in this order; each step can be
 * done twice, so that a delete which was cut off is simply done again.
 */
export class Terminate {
  readonly #host: HostContext;

  constructor(host: HostContext) {
    this.#host = host;
  }

  begin(context: RequestContext, args: TerminateArgs): void {
    const { locks } = this.#host;
    const uuid = args.instance.get('uuid');
    const record = { name: 'terminate_instance', kind: 'operation', instance: uuid } as const;
    beginInBackground(this.#host, context, record, async () => {
      locks.interrupt(uuid, new OperationAbortedError('The instance is being deleted'));
      await locks.run(uuid, () => this.#terminate(context.detached(), args));
    });
  }

  async #terminate(context: RequestContext, args: TerminateArgs): Promise<void> {
    const { records, host, computeApi, logger } = this.#host;
    const instance = await records.instances.get(args.instance.get('uuid'));
    if (instance.get('task_state') !== 'deleting') {
      logger.info({ instance: instance.get('uuid') }, 'An instance is not to be deleted, or was already');
      return;
    }
    const home = instance.get('host');
    if (home !== null && home !== host) {
      // It was on its way when the delete was asked for, and has arrived: its guest is there.
      await computeApi.cast(context, 'terminate_instance', home, { instance, bdms: args.bdms });
      return;
    }
    await this.#delete(context, instance);
  }

  /** The record of the instance last: until then the next start does all of it again. */
  async #delete(context: RequestContext, instance: Instance): Promise<void> {
    const { records, virt, networking, host } = this.#host;
    const { emit } = this.#host;
    const uuid = instance.get('uuid');
    emit({ context, action: 'delete', phase: 'start', instance });
    try {
      emit({ context, action: 'shutdown', phase: 'start', instance });
      await virt.destroy(uuid);
      await networking.deallocate(uuid);
      emit({ context, action: 'shutdown', phase: 'end', instance });
      await records.allocations.release(uuid);
      await this.#endMoves(context, instance);
      const ours = { task_state: ['deleting'], host: [host, null] } as const;
      const deleted = await records.instances.update(uuid, deletedNow(), ours);
      emit({ context, action: 'delete', phase: 'end', instance: deleted });
    } catch (error) {
      await afterFailure(this.#host, uuid, ['deleting'], error, { vm_state: 'error' });
      throw error;
    }
  }

  /** What was to be done with it elsewhere: a resize that nobody has confirmed still has its disks at the source. */
  async #endMoves(context: RequestContext, instance: Instance): Promise<void> {
    const { records, computeApi, virt, host, logger } = this.#host;
    for (const migration of await records.migrations.find({ instance_uuid: instance.get('uuid') })) {
      const [uuid, status] = [migration.get('uuid'), migration.get('status')];
      if (isFinal(status)) continue;
      const source = migration.get('source_compute');
      try {
        if (migration.find('cross_cell_move') === true) {
          await this.#endCrossCell(context, instance, migration);
          continue;
        }
        if (HAS_LEFT.has(status) && source !== host) {
          const expected = { status: [status] };
          const ended = await records.migrations.update(uuid, { status: 'confirming' }, expected);
          await virt.coldMoves.dropDisks(instance);
          await computeApi.cast(context, 'confirm_resize', source, { instance, migration: ended });
          continue;
        }
        if (HAS_LEFT.has(status)) await this.#dropOld(instance); // it got another size here
        await records.migrations.update(uuid, { status: 'error' }, { status: [status] });
        await records.allocations.release(uuid);
      } catch (error) {
        logger.error({ err: error, migration: uuid }, 'A move of a deleted instance was not ended');
      }
    }
  }

  async #dropOld(instance: Instance): Promise<void> {
    const { coldMoves } = this.#host.virt;
    await coldMoves.dropDisks(instance);
    await coldMoves.confirmMigration(instance);
  }

  /** Where it comes from its disks go here; where it came to the conductor sees to that, which reaches the other cell. */
  async #endCrossCell(context: RequestContext, instance: Instance, migration: Migration): Promise<void> {
    const { records, conductorApi, virt, host } = this.#host;
    const [uuid, status] = [migration.get('uuid'), migration.get('status')];
    const expected = { status: [status] };
    if (migration.get('source_compute') === host) {
      await records.migrations.update(uuid, { status: 'error' }, expected);
      await virt.coldMoves.confirmMigration(instance);
      await records.allocations.release(uuid);
      return;
    }
    const ended = await records.migrations.update(uuid, { status: 'confirming' }, expected);
    await conductorApi.cast(context, 'confirm_snapshot_based_resize', { instance, migration: ended });
  }
}
