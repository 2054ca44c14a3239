import type { MaybePromise, RequestContext } from '@ebbgate/core';
import { type ConductorCells, isHidden } from '../cells/cell-access.js';
import { notesOf } from '../cells/move-notes.js';
import { MOVING } from '../compute/operations/resize-job.js';
import { OperationAbortedError, UnexpectedStateError } from '../errors.js';
import type { Migration } from '../objects/migration.js';
import type { MigrationStatus } from '../objects/states.js';
import { novaContext } from '../rpc/nova-context.js';
import type { ConductorContext } from './conductor-context.js';
import { CrossCellConfirmTask } from './tasks/cross-cell-confirm.js';
import {
  type CrossCellEnds,
  endsFrom,
  forgetMove,
  isDeleted,
  type MoveRecords,
  recordsOf,
  whileBeating,
} from './tasks/cross-cell-ends.js';
import { CrossCellRevertTask } from './tasks/cross-cell-revert.js';
import { canFinish, finishMove, orTakeBack } from './tasks/cross-cell-finish.js';
import { switchOver } from './tasks/cross-cell-switch.js';
import { takeBack } from './tasks/cross-cell-take-back.js';

/** Statuses of moves that may be under way, or wait for their user. */
const OPEN: readonly MigrationStatus[] = [
  'pre-migrating',
  'migrating',
  'post-migrating',
  'finished',
  'confirming',
  'reverting',
];
/** Looked at once, when a conductor starts: the last steps may be missing. */
const ENDED: readonly MigrationStatus[] = ['error', 'reverted'];

/** What is to be done about a move that nobody drives. */
type Verdict = 'nothing' | 'wait' | 'finish' | 'switch-over' | 'take-back' | 'confirm' | 'revert' | 'forget';

type Judge = (conductor: ConductorContext, ends: CrossCellEnds, found: MoveRecords) => MaybePromise<Verdict>;

/** What the migration of the target cell says; undefined: there is none, or none any more. */
function saidThere({ there }: MoveRecords): MigrationStatus | undefined {
  return isDeleted(there) ? undefined : there?.get('status');
}

const unlessFinished: Judge = (_conductor, _ends, found) =>
  saidThere(found) === 'finished' ? 'switch-over' : 'take-back';

/** The source has let go: forward is the only way on which the guest runs. */
const onceSent: Judge = async (conductor, ends, found) => {
  const said = saidThere(found);
  if (said === 'finished') return 'switch-over';
  const isOpen = said !== undefined && MOVING.has(said);
  return isOpen && (await canFinish(conductor, ends)) ? 'finish' : 'take-back';
};

/** The source itself ends this one, also at its next start. */
const whileAtSource: Judge = async ({ hosts }, { source }, { here }) =>
  (await hosts.isUp(source.records, here.get('source_compute'))) ? 'wait' : 'take-back';

const onceLeft: Judge = async (_conductor, ends, found) => {
  switch (saidThere(found)) {
    case 'confirming':
      return 'confirm';
    case 'reverting':
      return 'revert';
    case 'error':
      return found.there && isHidden(found.there) ? 'take-back' : 'nothing';
    case 'finished':
      return (await isShown(ends, found)) ? 'nothing' : 'switch-over';
    default:
      return 'nothing';
  }
};

/** Is the instance in the other cell for everybody to see? */
async function isShown(
  { registry, target, uuid }: CrossCellEnds,
  { there, copy }: MoveRecords,
): Promise<boolean> {
  if ([there, copy].some((record) => record && isHidden(record))) return false;
  return (await registry.mappings.find(uuid)) === target.name;
}

const whileConfirming: Judge = (_conductor, _ends, found) =>
  saidThere(found) === 'confirming' ? 'confirm' : 'nothing';

const whileReverting: Judge = (_conductor, _ends, found) => {
  const said = saidThere(found);
  if (said === undefined) return 'forget';
  return said === 'reverting' ? 'revert' : 'take-back';
};

/** By what the migration of the source cell is. */
const VERDICTS: ReadonlyMap<MigrationStatus, Judge> = new Map<MigrationStatus, Judge>([
  ['pre-migrating', unlessFinished],
  ['migrating', whileAtSource],
  ['post-migrating', onceSent],
  ['finished', onceLeft],
  ['confirming', whileConfirming],
  ['confirmed', whileConfirming],
  ['reverting', whileReverting],
  ['reverted', whileReverting],
  ['error', () => 'take-back'],
]);

interface Sight {
  readonly touched: number | undefined;
  readonly sinceMs: number;
}

/**
 * Finds the moves between cells whose conductor has died, and takes each up, or back. Whoever drives a move touches its
 * record in its old cell again and again; one that nobody has touched for `takeOverMs`, by the clock of whoever looks, is
 * nobody's. Of several conductors that find it, one gets it.
 */
export class CrossCellRecovery {
  readonly #conductor: ConductorContext;
  readonly #cells: ConductorCells;
  readonly #now: () => number;
  readonly #sights = new Map<string, Sight>();
  /** Seen open, and not known to have ended well; uuids of instance by those of their migrations. */
  readonly #watched = new Map<string, string>();
  /** As `uuid:status`: there is nothing to be done. */
  readonly #settled = new Set<string>();
  /** Told of once, until they can be looked at again. */
  readonly #failing = new Set<string>();
  #isFirst = true;

  /** @param now - a monotonic clock, in milliseconds */
  constructor(
    conductor: ConductorContext,
    cells: ConductorCells,
    now: () => number = () => performance.now(),
  ) {
    this.#conductor = conductor;
    this.#cells = cells;
    this.#now = now;
  }

  /** Looks once at all moves that have a record in this cell. Rejects when the records cannot be read. */
  async look(): Promise<void> {
    try {
      for (const migration of await this.#candidates()) await this.#lookAt(migration);
      this.#isFirst = false;
    } catch (error) {
      this.#sights.clear(); // while the records are away nobody can touch them
      throw error;
    }
  }

  async #candidates(): Promise<readonly Migration[]> {
    const { migrations } = this.#conductor.records;
    const statuses = this.#isFirst ? [...OPEN, ...ENDED] : OPEN;
    const all = (await Promise.all(statuses.map((status) => migrations.find({ status })))).flat();
    const found = all.filter(mayLeadElsewhere);
    const known = new Set(found.map((one) => one.get('uuid')));
    const missing = [...this.#watched.keys()].filter((uuid) => !known.has(uuid));
    return [...found, ...(await Promise.all(missing.map((uuid) => migrations.get(uuid))))];
  }

  async #lookAt(migration: Migration): Promise<void> {
    const uuid = migration.get('uuid');
    const key = `${uuid}:${migration.get('status')}`;
    if (this.#settled.has(key)) return;
    const instanceUuid = migration.get('instance_uuid');
    const isKnown = migration.find('cross_cell_move') === true;
    if (isKnown) this.#watched.set(uuid, instanceUuid);
    const fields = { migration: uuid, instance: instanceUuid };
    try {
      const verdict = await this.#lookBetween(instanceUuid, uuid);
      this.#failing.delete(uuid);
      if (verdict !== 'nothing' || !isKnown) return;
      this.#settled.add(key);
      this.#watched.delete(uuid);
      this.#sights.delete(uuid);
    } catch (error) {
      this.#sights.delete(uuid);
      if (this.#failing.has(uuid)) return;
      this.#failing.add(uuid);
      this.#conductor.logger.error({ err: error, ...fields }, 'A move between cells could not be looked at');
    }
  }

  async #lookBetween(instanceUuid: string, migrationUuid: string): Promise<Verdict> {
    const notes = notesOf(await this.#conductor.records.instances.get(instanceUuid));
    if (notes?.migration !== migrationUuid) return 'nothing'; // it is over, or a later one has taken its place
    const ends = await endsFrom(this.#cells.registry, notes, instanceUuid);
    const found = await recordsOf(ends);
    if (!this.#isSilent(found.here)) return 'wait';
    const verdict = await this.#judge(ends, found);
    if (verdict === 'nothing' || verdict === 'wait' || !(await claim(ends, found.here))) return verdict;
    const fields = { migration: migrationUuid, instance: instanceUuid, verdict };
    this.#conductor.logger.warn(fields, 'A move between cells was cut off: it is taken up');
    await this.#act(ends, found, verdict);
    this.#sights.delete(migrationUuid);
    return verdict;
  }

  async #judge(ends: CrossCellEnds, found: MoveRecords): Promise<Verdict> {
    if (notesOf(found.instance)?.migration !== ends.migrationUuid) return 'nothing'; // it is over in its old cell
    const judge = VERDICTS.get(found.here.get('status'));
    return (await judge?.(this.#conductor, ends, found)) ?? 'nothing';
  }

  /** True when nobody has touched it for so long, as we have seen it ourselves: the clocks of others do not count. */
  #isSilent(here: Migration): boolean {
    const uuid = here.get('uuid');
    const touched = (here.find('updated_at') ?? null)?.getTime();
    const before = this.#sights.get(uuid);
    if (before?.touched !== touched || !before) {
      this.#sights.set(uuid, { touched, sinceMs: this.#now() });
      return false;
    }
    return this.#now() - before.sinceMs >= this.#cells.registry.takeOverMs;
  }

  async #act(ends: CrossCellEnds, { here, instance }: MoveRecords, verdict: Verdict): Promise<void> {
    const conductor = this.#conductor;
    const context: RequestContext = novaContext({ isAdmin: true });
    const args = { instance, migration: here };
    if (verdict === 'confirm') return new CrossCellConfirmTask(conductor, context, args).run();
    if (verdict === 'revert') return new CrossCellRevertTask(conductor, context, args).run();
    await whileBeating(
      conductor,
      () => ends,
      async () => {
        if (verdict === 'finish')
          await orTakeBack(
            conductor,
            context,
            () => ends,
            () => finishMove(context, ends),
          );
        else if (verdict === 'switch-over') await switchOver(ends);
        else if (verdict === 'forget') await forgetMove(ends.source, ends.uuid);
        else {
          if (here.get('status') === 'pre-migrating') await endUnlessBegun(ends);
          if (MOVING.has(here.get('status'))) await endUnlessFinished(ends);
          const failure = new OperationAbortedError('The conductor ended in the middle of the move');
          await takeBack(conductor, context, ends, failure);
        }
      },
    );
  }
}

/** One whose conductor was cut off between two writes is noted on the instance, and not yet marked itself. */
function mayLeadElsewhere(migration: Migration): boolean {
  const isBegun = migration.get('status') === 'pre-migrating' && migration.find('dest_compute') === null;
  return isBegun || migration.find('cross_cell_move') === true;
}

/** One of those who have found it gets it: the others find it touched. */
async function claim({ source, migrationUuid }: CrossCellEnds, here: Migration): Promise<boolean> {
  try {
    const asSeen = { updated_at: [here.find('updated_at') as Date | null] }; // or undefined: never touched
    await source.records.migrations.update(migrationUuid, {}, asSeen);
    return true;
  } catch (error) {
    if (error instanceof UnexpectedStateError) return false;
    throw error;
  }
}

/**
 * The source has the first word: what it was asked for may still reach it.
 * @throws UnexpectedStateError (`ERR_UNEXPECTED_STATE`) when it has begun meanwhile: the next look sees how far it is
 */
async function endUnlessBegun({ source, migrationUuid }: CrossCellEnds): Promise<void> {
  const unbegun = { status: ['pre-migrating'] } as const;
  await source.records.migrations.update(migrationUuid, { status: 'error' }, unbegun);
}

/**
 * The destination has the last word.
 * @throws UnexpectedStateError (`ERR_UNEXPECTED_STATE`) when it has finished meanwhile: there is nothing to be taken back
 */
async function endUnlessFinished(ends: CrossCellEnds): Promise<void> {
  const { there } = await recordsOf(ends);
  if (!there || isDeleted(there) || there.get('status') === 'error') return;
  await ends.target.records.migrations.update(
    ends.migrationUuid,
    { status: 'error' },
    { status: [...MOVING] },
  );
}
