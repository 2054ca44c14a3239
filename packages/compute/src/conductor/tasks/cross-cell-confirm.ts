import type { RequestContext } from '@ebbgate/core';
import { NO_OTHER_SIZE } from '../../compute/operations/resize-job.js';
import { POWER_STATE } from '../../objects/states.js';
import type { ConductorMethods } from '../../rpc/conductor-methods.js';
import type { ArgsOf } from '../../rpc/methods.js';
import type { ConductorContext } from '../conductor-context.js';
import { removeInstance } from './cross-cell-copies.js';
import { type CrossCellEnds, endsOf, waitAgain } from './cross-cell-ends.js';

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
    const { migration } = this.#args;
    const ends = await endsOf(this.#conductor, migration);
    const { source, sourceHost, target } = ends;
    const status = (await target.records.migrations.get(migration.get('uuid'))).get('status');
    if (status !== 'confirming') return; // the request came twice
    if (!(await this.#conductor.hosts.takesRequests(source.records, sourceHost))) {
      const fields = { host: sourceHost, migration: migration.get('uuid') };
      this.#conductor.logger.warn(
        fields,
        'A resize cannot be confirmed now: its source takes no new requests',
      );
      await waitAgain(target, migration, 'confirming');
      return;
    }
    try {
      await this.#confirm(ends);
    } catch (error) {
      const fields = { err: error, migration: migration.get('uuid') };
      this.#conductor.logger.error(fields, 'A resize to another cell could not be confirmed');
      await this.#failed(ends);
    }
  }

  async #confirm({ source, sourceHost, target }: CrossCellEnds): Promise<void> {
    const [uuid, migrationUuid] = [this.#args.instance.get('uuid'), this.#args.migration.get('uuid')];
    const before = await source.records.migrations.get(migrationUuid);
    if (before.get('status') !== 'confirmed') {
      const open = { status: ['finished', 'confirming'] } as const;
      const migration = await source.records.migrations.update(migrationUuid, { status: 'confirming' }, open);
      const instance = await source.records.instances.get(uuid);
      const args = { instance, migration };
      await source.computeApi.call(
        this.#context,
        'confirm_snapshot_based_resize_at_source',
        sourceHost,
        args,
      );
    }
    await source.networking.deallocate(uuid);
    await removeInstance(source, uuid);
    const confirming = { status: ['confirming'] } as const;
    await target.records.migrations.update(migrationUuid, { status: 'confirmed' }, confirming);
    const instance = await target.records.instances.get(uuid);
    if (instance.get('vm_state') !== 'resized' || instance.get('task_state') !== null) return; // it is being deleted
    const isOff = instance.find('power_state') === POWER_STATE.shutdown;
    const kept = {
      ...NO_OTHER_SIZE,
      migration_context: null,
      vm_state: isOff ? 'stopped' : 'active',
    } as const;
    await target.records.instances.update(uuid, kept, { vm_state: ['resized'], task_state: [null] });
  }

  /** The instance is in the other cell all the same. */
  async #failed({ target, source }: CrossCellEnds): Promise<void> {
    const [uuid, migrationUuid] = [this.#args.instance.get('uuid'), this.#args.migration.get('uuid')];
    const { logger } = this.#conductor;
    const steps = [
      () => target.records.migrations.update(migrationUuid, { status: 'error' }, { status: ['confirming'] }),
      () => source.records.allocations.release(migrationUuid),
      () =>
        target.records.instances.update(
          uuid,
          { vm_state: 'error', task_state: null },
          { vm_state: ['resized'] },
        ),
    ];
    for (const step of steps) {
      await step().catch((error: unknown) => {
        logger.error({ err: error, instance: uuid }, 'The end of a confirmation was not recorded');
      });
    }
  }
}
