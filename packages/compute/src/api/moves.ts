import type { CallerContext } from '@ebbgate/rpc';
import { notesOf } from '../cells/move-notes.js';
import { checkExpected } from '../db/expected.js';
import { HostDownError, RecordNotFoundError, UnexpectedStateError } from '../errors.js';
import type { Flavor } from '../objects/flavor.js';
import type { Instance } from '../objects/instance.js';
import type { Migration } from '../objects/migration.js';
import type { MigrationStatus } from '../objects/states.js';
import { type ActionParts, isHostUp, liveHostOf } from './action-parts.js';
import { sendOrTakeBack } from './take-back.js';

/** The states from which an instance can move while it is shut down. */
export const MOVES_COLD = { vm_state: ['active', 'stopped'], task_state: [null] } as const;

/**
 * What users ask for to move their instances while they are shut down, or to give them another size, and how they end it:
 * checks the states and that the host needed is up, and hands the work on. Each resolves when the request is out. A request
 * that could not be sent leaves nothing behind; one of which nobody knows whether it was (`outcome` of the error) leaves
 * what it needs when it arrives. All
 * reject with UnexpectedStateError (`ERR_UNEXPECTED_STATE`) when the instance is in no state for it, HostDownError
 * (`ERR_HOST_DOWN`) when the host needed is down, both before anything has happened, and RecordNotFoundError
 * (`ERR_NOT_FOUND`).
 */
export class Moves {
  readonly #parts: ActionParts;

  constructor(parts: ActionParts) {
    this.#parts = parts;
  }

  /** Another host, the same size. @param host - where to; null lets the scheduler choose */
  migrate(context: CallerContext, uuid: string, host: string | null): Promise<Instance> {
    return this.#move(context, uuid, null, host);
  }

  /** Another size, on another host. */
  resize(context: CallerContext, uuid: string, flavor: Flavor): Promise<Instance> {
    return this.#move(context, uuid, flavor, null);
  }

  async #move(
    context: CallerContext,
    uuid: string,
    flavor: Flavor | null,
    host: string | null,
  ): Promise<Instance> {
    const { records, conductor } = this.#parts;
    await liveHostOf(this.#parts, await records.instances.get(uuid));
    const instance = await records.instances.update(uuid, { task_state: 'resize_prep' }, MOVES_COLD);
    await sendOrTakeBack(
      () =>
        conductor.cast(context, 'migrate_server', {
          instance,
          scheduler_hint: host === null ? {} : { host },
          live: false,
          rebuild: false,
          flavor: flavor ?? instance.get('flavor'),
          block_migration: null,
          disk_over_commit: null,
          reservations: null,
          clean_shutdown: true,
          request_spec: null,
          host_list: null,
        }),
      () => records.instances.update(uuid, { task_state: null }, { task_state: ['resize_prep'] }),
    );
    return instance;
  }

  /** The instance stays where it is, in its new size. The source has to be up. */
  async confirmResize(context: CallerContext, uuid: string): Promise<Migration> {
    const { instance, migration: finished } = await this.#resized(uuid);
    const source = finished.get('source_compute');
    if (!(await isHostUp(await this.#sourceOf(instance, finished), source))) {
      throw new HostDownError(`Compute service of ${source} is down`);
    }
    const migration = await this.#mark(finished, 'finished', 'confirming');
    await sendOrTakeBack(
      () => castConfirm(this.#parts, context, instance, migration),
      () => this.#mark(finished, 'confirming', 'finished'),
    );
    return migration;
  }

  /** The instance becomes again what it was, where it was. */
  async revertResize(context: CallerContext, uuid: string): Promise<Migration> {
    const { migration: finished } = await this.#resized(uuid);
    const dest = finished.get('dest_compute');
    if (dest === null) throw new UnexpectedStateError('The resize has no destination');
    const migration = await this.#mark(finished, 'finished', 'reverting');
    const { instances } = this.#parts.records;
    const unmark = (): Promise<Migration> => this.#mark(finished, 'reverting', 'finished');
    const resized = { vm_state: ['resized'], task_state: [null] } as const;
    const reverting = instances.update(uuid, { task_state: 'resize_reverting' }, resized);
    const instance = await reverting.catch(async (error: unknown) => {
      await unmark();
      throw error;
    });
    await sendOrTakeBack(
      async () => {
        if (isCrossCell(migration)) {
          const args = { instance, migration };
          await this.#parts.conductor.cast(context, 'revert_snapshot_based_resize', args);
          return;
        }
        const args = { instance, migration, request_spec: null };
        await this.#parts.computeApi.cast(context, 'revert_resize', dest, args);
      },
      async () => {
        await unmark();
        await instances.update(uuid, { task_state: null }, { task_state: ['resize_reverting'] });
      },
    );
    return migration;
  }

  /** The resize that waits for its end. The first of two requests marks it: the other then finds another status. */
  async #resized(uuid: string): Promise<{ readonly instance: Instance; readonly migration: Migration }> {
    const instance = await this.#parts.records.instances.get(uuid);
    checkExpected('instance', uuid, instance, { vm_state: ['resized'], task_state: [null] });
    const finished = await this.#parts.records.migrations.find({ instance_uuid: uuid, status: 'finished' });
    const migration = finished.at(-1);
    if (!migration) throw new RecordNotFoundError('finished resize of instance', uuid);
    return { instance, migration };
  }

  /** Where it is to be seen whether the source is up. */
  async #sourceOf(
    instance: Instance,
    migration: Migration,
  ): Promise<Pick<ActionParts, 'records' | 'liveness'>> {
    if (!isCrossCell(migration)) return this.#parts;
    const { cells, liveness } = this.#parts;
    const notes = notesOf(instance);
    const cell = notes && (await cells?.get(notes.source));
    if (!cell) throw new UnexpectedStateError('The instance has come from a cell that is not known here');
    return { records: cell.records, liveness };
  }

  #mark(migration: Migration, from: MigrationStatus, to: MigrationStatus): Promise<Migration> {
    return this.#parts.records.migrations.update(migration.get('uuid'), { status: to }, { status: [from] });
  }
}

/**
 * An instance that is being deleted leaves nothing at the source of a resize that waits for its end: that removes what it
 * has kept, at its next start if it is down.
 */
export async function confirmOnDelete(
  parts: ActionParts,
  context: CallerContext,
  instance: Instance,
): Promise<void> {
  for (const status of ['finished', 'reverting', 'reverted'] as const) {
    const moves = await parts.records.migrations.find({ instance_uuid: instance.get('uuid'), status });
    for (const move of moves) {
      const source = move.get('source_compute');
      if (instance.find('host') === source || instance.find('host') !== move.find('dest_compute')) continue;
      const expected = { status: [status] };
      const confirming = { status: 'confirming' } as const;
      const migration = await parts.records.migrations.update(move.get('uuid'), confirming, expected);
      // Taken back, the next delete sends it again.
      await sendOrTakeBack(
        () => castConfirm(parts, context, instance, migration),
        () => parts.records.migrations.update(move.get('uuid'), { status }, { status: ['confirming'] }),
      );
    }
  }
}

/** A move to another cell is the conductor's affair, which reaches both. */
function isCrossCell(migration: Migration): boolean {
  return migration.find('cross_cell_move') === true;
}

async function castConfirm(
  { computeApi, conductor }: ActionParts,
  context: CallerContext,
  instance: Instance,
  migration: Migration,
): Promise<void> {
  const args = { instance, migration };
  if (isCrossCell(migration)) await conductor.cast(context, 'confirm_snapshot_based_resize', args);
  else await computeApi.cast(context, 'confirm_resize', migration.get('source_compute'), args);
}
