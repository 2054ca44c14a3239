import { expect } from 'chai';
import { describe, it } from 'mocha';
import { CONFIRMED, recover, REVERTED, TAKEN_BACK, wordsOf } from './cross-cell-words.js';
import { Lifeline, movesBy } from './doomed-conductor.js';
import { BIGGER } from './resize-words.js';
import { SOURCE } from './test-cloud.js';
import {
  type CellsOutcome,
  FIRST_CELL,
  MOVED,
  SECOND_CELL,
  type TwoCells,
  withTwoCells,
} from './two-cells.js';

const OPTIONS = { recheckMs: 5, rpcTimeoutMs: 2000 } as const;
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
    ends: [TAKEN_BACK, MOVED], // once the source has let go there is a destination that goes on
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
