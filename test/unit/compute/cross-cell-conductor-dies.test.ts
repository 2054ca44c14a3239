import { expect } from 'chai';
import { describe, it } from 'mocha';
import { CrossCellRecovery } from '#compute/conductor/cross-cell-recovery.js';
import { conductorIn, Lifeline, movesBy } from './doomed-conductor.js';
import { BIGGER } from './resize-words.js';
import { DEST, SOURCE } from './test-cloud.js';
import {
  asBefore,
  type CellsOutcome,
  FIRST_CELL,
  MOVED,
  SECOND_CELL,
  type TwoCells,
  withTwoCells,
} from './two-cells.js';

const OPTIONS = { recheckMs: 5, rpcTimeoutMs: 2000 } as const;
/** More looks than any recovery needs: one to see it, one to take it up, and the same again when it goes on by itself. */
const LOOKS = 8;

/** What a host of the other cell has been to an instance that it does not have. */
const THERE = ['-', 'deleted/-@null hidden deleted', `deleted/-@${DEST} hidden deleted`] as const;
const TAKEN_BACK = asBefore();
const KEPT: CellsOutcome = { ...asBefore(), instance: [`error/-@${SOURCE}`, ''], guests: [], kept: [SOURCE] };
const CONFIRMED: CellsOutcome = {
  ...MOVED,
  instance: [`deleted/-@${SOURCE} hidden deleted`, `active/-@${DEST}`],
  migration: ['confirmed hidden', 'confirmed'],
  kept: [],
  bound: [null, DEST],
  allocations: [`instance@${DEST}:1024`],
};
const REVERTED: CellsOutcome = { ...asBefore(), migration: ['reverted', ''] };

/** In words, without what the other cell remembers of what it does not have. */
function wordsOf(outcome: CellsOutcome): string {
  const [here, there] = outcome.instance;
  const isGone = outcome.cell === FIRST_CELL && (there === '' || THERE.some((one) => one === there));
  const [moveHere, moveThere] = outcome.migration;
  const isOver = moveThere === '' || moveThere === '-' || moveThere.endsWith(' hidden deleted');
  return JSON.stringify({
    ...outcome,
    instance: isGone ? [here] : [here, there],
    migration: isGone && isOver ? [moveHere] : outcome.migration,
  });
}

/** Conductors look until there is nothing to be found; each look comes after so long that what nobody touches is nobody's. */
async function recover(cells: TwoCells, finders: readonly string[]): Promise<void> {
  const { registry } = cells;
  let nowMs = 0;
  const recoveries = finders.map(async (own) => {
    const conductor = conductorIn(await registry.get(own), registry);
    return new CrossCellRecovery(conductor, { own, registry }, () => nowMs);
  });
  for (let look = 0; look < LOOKS; look += 1) {
    await Promise.all(recoveries.map(async (recovery) => (await recovery).look()));
    await cells.first.idle(SOURCE);
    nowMs += registry.takeOverMs;
  }
  await cells.settled();
}

interface Phase {
  readonly what: string;
  /** Where the conductor dies. */
  readonly cell: string;
  readonly begin: (cells: TwoCells) => Promise<string>;
  readonly ask: (
    moves: Awaited<ReturnType<typeof movesBy>>['moves'],
    cells: TwoCells,
    uuid: string,
  ) => Promise<unknown>;
  /** The change from which on it counts. */
  readonly from: string;
  /** The first before which it can die. */
  readonly first: number;
  readonly ends: readonly CellsOutcome[];
  /** So many changes at least: or else it was not tried at all. */
  readonly steps: number;
}

const PHASES: readonly Phase[] = [
  {
    what: 'a move',
    cell: FIRST_CELL,
    begin: ({ first }) => first.bootActive(SOURCE),
    ask: (moves, { first }, uuid) => moves.resize(first.recorded.context, uuid, BIGGER),
    from: 'update', // the notes
    first: 2, // before them it is a cold migration like others
    ends: [TAKEN_BACK, KEPT, MOVED],
    steps: 20,
  },
  {
    what: 'a confirmation',
    cell: SECOND_CELL,
    begin: (cells) => cells.bootMoved(),
    ask: (moves, { first }, uuid) => moves.confirmResize(first.recorded.context, uuid),
    from: 'update',
    first: 1,
    ends: [CONFIRMED],
    steps: 6,
  },
  {
    what: 'a revert',
    cell: SECOND_CELL,
    begin: (cells) => cells.bootMoved(),
    ask: (moves, { first }, uuid) => moves.revertResize(first.recorded.context, uuid),
    from: 'update',
    first: 1,
    ends: [REVERTED],
    steps: 9,
  },
];

/** Asks for it, with a conductor that dies at this change. False: it did not come to that. */
async function dies(phase: Phase, cells: TwoCells, uuid: string, life: Lifeline): Promise<boolean> {
  const { moves, done } = await movesBy(cells, await cells.registry.get(phase.cell), life);
  await phase.ask(moves, cells, uuid);
  await done();
  return life.dead;
}

async function remove(cells: TwoCells, uuid: string): Promise<void> {
  const test = (await cells.registry.ofInstance(uuid)).name === FIRST_CELL ? cells.first : cells.second;
  await test.cloud.actions.delete(cells.first.recorded.context, uuid);
  await test.becomes(uuid, 'deleted/-');
  await cells.settled();
}

describe('a move between cells whose conductor dies', function () {
  this.timeout(30_000);

  for (const phase of PHASES) {
    for (const [who, finders] of [
      ['a conductor of its cell', [phase.cell]],
      ['one of several conductors that see it', [FIRST_CELL, FIRST_CELL, SECOND_CELL]],
    ] as const) {
      for (const inFlight of [false, true]) {
        const when = inFlight ? 'after each change, unheard' : 'before each change';
        it(`in ${phase.what}, ${when}, is ended by ${who}, and leaves nothing (GS-76, COMP-07)`, () =>
          withTwoCells(OPTIONS, async (cells) => {
            const expected = phase.ends.map(wordsOf);
            let at = inFlight ? 1 : phase.first;
            for (; ; at += 1) {
              const uuid = await phase.begin(cells);
              const life = new Lifeline(at, inFlight, (method) => method === phase.from);
              if (!(await dies(phase, cells, uuid, life))) break;
              await recover(cells, finders);
              const found = wordsOf(await cells.outcome(uuid));
              expect(expected, `it died at change ${at}`).to.include(found);
              await remove(cells, uuid);
            }
            expect(at).to.be.greaterThan(phase.steps);
          }));
      }
    }
  }
});
