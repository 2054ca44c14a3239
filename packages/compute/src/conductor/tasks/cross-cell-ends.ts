import type { CellAccess, CellRegistry } from '../../cells/cell-access.js';
import { orUndefined } from '../../db/or-undefined.js';
import { type MoveNotes, notesOf, withoutNotes } from '../../cells/move-notes.js';
import { RecordNotFoundError } from '../../errors.js';
import type { Instance } from '../../objects/instance.js';
import type { Migration } from '../../objects/migration.js';
import type { MigrationStatus } from '../../objects/states.js';
import type { ConductorContext } from '../conductor-context.js';

/** A move between two cells. Its instance and its migration have a record in each. */
export interface CrossCellEnds {
  readonly registry: CellRegistry;
  /** Where it comes from. */
  readonly source: CellAccess;
  /** Where it goes to. */
  readonly target: CellAccess;
  /** Of the instance. */
  readonly uuid: string;
  readonly migrationUuid: string;
}

/** What the records of both cells say of a move. */
export interface MoveRecords {
  readonly here: Migration;
  readonly instance: Instance;
  /** Undefined: the target cell has none yet. */
  readonly there: Migration | undefined;
  /** Likewise. */
  readonly copy: Instance | undefined;
}

async function endsOf(
  { cells, records }: ConductorContext,
  instanceUuid: string,
  migrationUuid: string,
): Promise<CrossCellEnds> {
  const notes = notesOf(await records.instances.get(instanceUuid));
  if (!cells || notes?.migration !== migrationUuid)
    throw new RecordNotFoundError('move between cells', migrationUuid);
  return endsFrom(cells.registry, notes, instanceUuid);
}

/** @throws RecordNotFoundError (`ERR_NOT_FOUND`) when there is no such cell */
export async function endsFrom(
  registry: CellRegistry,
  notes: MoveNotes,
  uuid: string,
): Promise<CrossCellEnds> {
  const [source, target] = await Promise.all([registry.get(notes.source), registry.get(notes.target)]);
  return { registry, source, target, uuid, migrationUuid: notes.migration };
}

/** Reads all of them. */
export async function recordsOf(ends: CrossCellEnds): Promise<MoveRecords> {
  const { source, target, uuid, migrationUuid } = ends;
  const [here, instance, there, copy] = await Promise.all([
    source.records.migrations.get(migrationUuid),
    source.records.instances.get(uuid),
    orUndefined(target.records.migrations.get(migrationUuid)),
    orUndefined(target.records.instances.get(uuid)),
  ]);
  return { here, instance, there, copy };
}

/**
 * Does a part of a move; meanwhile both records of the migration are touched again and again. By this the destination, and
 * other conductors, know that somebody still drives the move.
 * @param endsNow - the cell that it goes to may change while it is chosen
 */
export async function whileBeating<T>(
  { logger }: ConductorContext,
  endsNow: () => CrossCellEnds,
  work: () => Promise<T>,
): Promise<T> {
  const beat = (): void => {
    const { source, target, migrationUuid } = endsNow();
    for (const { records } of [source, target]) {
      records.migrations.update(migrationUuid, {}).catch((error: unknown) => {
        logger.debug({ err: error }, 'A sign of life was not written');
      });
    }
  };
  const timer = setInterval(beat, endsNow().registry.beatMs);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}

/**
 * Does what the end of a move takes, as whoever drives it.
 * @throws RecordNotFoundError (`ERR_NOT_FOUND`) when this conductor does not know of the move, or of its cells; and what
 * `work` throws
 */
export async function asDriver(
  conductor: ConductorContext,
  { instance, migration }: { readonly instance: Instance; readonly migration: Migration },
  work: (ends: CrossCellEnds) => Promise<void>,
): Promise<void> {
  const ends = await endsOf(conductor, instance.get('uuid'), migration.get('uuid'));
  await whileBeating(
    conductor,
    () => ends,
    () => work(ends),
  );
}

/** Nothing has happened: the resize waits for its end again, which can be asked for once more. */
export async function waitAgain(
  { target: { records }, uuid, migrationUuid }: CrossCellEnds,
  asked: MigrationStatus,
): Promise<void> {
  await records.migrations.update(migrationUuid, { status: 'finished' }, { status: [asked] });
  const instance = await records.instances.get(uuid);
  if (instance.get('task_state') !== 'resize_reverting') return;
  await records.instances.update(uuid, { task_state: null }, { task_state: ['resize_reverting'] });
}

/** The move is over: the instance, in the cell where it stays, tells of it no more. */
export async function forgetMove({ records: { instances } }: CellAccess, uuid: string): Promise<void> {
  await instances.update(uuid, { system_metadata: withoutNotes(await instances.get(uuid)) });
}

/** Nothing more is to be done or taken back. */
export function isDeleted(record: { find(name: 'deleted'): boolean | undefined } | undefined): boolean {
  return record?.find('deleted') === true;
}
