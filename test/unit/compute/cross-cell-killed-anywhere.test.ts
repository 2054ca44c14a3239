import { expect } from 'chai';
import { describe, it } from 'mocha';
import { MemoryJournal } from '#compute/compute/request-journal.js';
import { eventually } from '../../support/rigs/deadline.js';
import { startConductor, CONDUCTOR } from './conductor-scenarios.js';
import { CONFIRMED, KEPT, recover, REVERTED, TAKEN_BACK, wordsOf } from './cross-cell-words.js';
import { Lifeline, movesBy } from './doomed-conductor.js';
import { type Doom, DoomedHost } from './doomed-host.js';
import { BIGGER, kill } from './resize-words.js';
import { DEST, SOURCE } from './test-cloud.js';
import {
  type CellsOutcome,
  FIRST_CELL,
  MOVED,
  SECOND_CELL,
  type TwoCells,
  withTwoCells,
} from './two-cells.js';

/** A part of a move between cells, and a host that dies in it. */
interface Phase {
  readonly what: string;
  /** Those that have a part in it. */
  readonly hosts: readonly string[];
  readonly begin: (cells: TwoCells) => Promise<string>;
  readonly ask: (cells: TwoCells, uuid: string) => Promise<unknown>;
  readonly ends: readonly CellsOutcome[];
}

const PHASES: readonly Phase[] = [
  {
    what: 'a move',
    hosts: [SOURCE, DEST],
    begin: ({ first }) => first.bootActive(SOURCE),
    ask: (cells, uuid) => cells.resize(uuid),
    ends: [TAKEN_BACK, KEPT, MOVED],
  },
  {
    what: 'a confirmation',
    hosts: [SOURCE],
    begin: (cells) => cells.bootMoved(),
    ask: (cells, uuid) => cells.confirm(uuid),
    ends: [CONFIRMED],
  },
  {
    what: 'a revert',
    hosts: [SOURCE, DEST],
    begin: (cells) => cells.bootMoved(),
    ask: (cells, uuid) => cells.revert(uuid),
    ends: [REVERTED, KEPT],
  },
];

interface Run {
  readonly writes: readonly string[];
  readonly words: string;
}

async function run(phase: Phase, dies: string, doom?: Doom): Promise<Run> {
  const doomed = new DoomedHost(dies, doom);
  let words = '';
  const expected = phase.ends.map(wordsOf);
  await withTwoCells({ recordsOf: doomed.recordsOf, rpcTimeoutMs: 150, recheckMs: 20 }, async (cells) => {
    const uuid = await phase.begin(cells);
    await cells.settled();
    doomed.arm();
    await phase.ask(cells, uuid);
    const its = dies === SOURCE ? cells.first : cells.second;
    if (doom) {
      await doomed.died;
      await kill(its, dies);
      doomed.raise();
      await its.cloud.host(dies).start();
    }
    const look = async (): Promise<boolean> => {
      await cells.settled();
      await recover(cells, [FIRST_CELL, SECOND_CELL]);
      words = wordsOf(await cells.outcome(uuid));
      return expected.includes(words);
    };
    await eventually(phase.what, 5000, look).catch(() => undefined);
  });
  return { writes: doomed.writes, words };
}

describe('a move between cells one of whose hosts is killed at any write (COMP-07, GS-6)', function () {
  this.timeout(60_000);

  for (const phase of PHASES) {
    for (const dies of phase.hosts) {
      it(`leaves nothing half done of ${phase.what}, ${dies}`, async () => {
        const expected = phase.ends.map(wordsOf);
        const whole = await run(phase, dies);
        expect(expected, 'without a death').to.include(whole.words);
        expect(whole.writes).to.not.be.empty;
        const dooms = whole.writes.flatMap((what, index) =>
          (['before', 'after'] as const).map((when) => ({ what, write: index + 1, when })),
        );
        const found: string[] = [];
        for (const { what, ...doom } of dooms) {
          const { words } = await run(phase, dies, doom);
          if (!expected.includes(words)) found.push(`${doom.when} ${doom.write}, ${what}: ${words}`);
        }
        expect(found).to.deep.equal([]);
      });
    }
  }
});

describe('a move between cells whose source has let go', () => {
  it('comes to its end when the conductor and the destination are killed, at whatever write of that (GS-76, COMP-07)', async () => {
    const finish = async (doom?: Doom): Promise<Run> => {
      const doomed = new DoomedHost(DEST, doom);
      let words = '';
      await withTwoCells({ recordsOf: doomed.recordsOf, recheckMs: 20 }, async (cells) => {
        const uuid = await cells.first.bootActive(SOURCE);
        let calls = 0;
        const isLast = (method: string): boolean => {
          if (method === 'call') calls += 1;
          if (calls === 3) doomed.arm();
          return calls === 3; // two hosts are prepared, and the third call has the guest made
        };
        const life = new Lifeline(1, true, isLast);
        const { moves, done } = await movesBy(cells, await cells.registry.get(FIRST_CELL), life);
        await moves.resize(cells.first.recorded.context, uuid, BIGGER);
        await done();
        expect(life.dead).to.equal(true);
        if (doom) {
          await doomed.died;
          await kill(cells.second, DEST);
          doomed.raise();
          await cells.second.cloud.host(DEST).start();
        } else await cells.second.becomes(uuid, 'resized/-');
        await recover(cells, [FIRST_CELL]);
        words = wordsOf(await cells.outcome(uuid));
      });
      return { writes: doomed.writes, words };
    };
    const whole = await finish();
    expect(whole.words).to.equal(wordsOf(MOVED));
    expect(whole.writes).to.have.length(4);
    for (const write of whole.writes.keys()) {
      for (const when of ['before', 'after'] as const) {
        const { words } = await finish({ write: write + 1, when });
        expect(words, `${when} ${String(whole.writes[write])}`).to.equal(wordsOf(MOVED));
      }
    }
  });
});

describe('a conductor that is killed before a move between cells is noted', () => {
  it('is followed by one that begins with it anew, at whatever write (GS-72, GS-76)', async () => {
    const move = async (doom?: Doom): Promise<Run> => {
      const doomed = new DoomedHost(CONDUCTOR, doom);
      const journal = new MemoryJournal();
      let words = '';
      await withTwoCells({ conductors: 0, recheckMs: 20 }, async (cells) => {
        const { cloud } = cells.first;
        const between = { own: FIRST_CELL, registry: cells.registry };
        let service = await startConductor(cloud, journal, doomed, between);
        try {
          const uuid = await cells.first.bootActive(SOURCE);
          doomed.arm();
          await cells.resize(uuid);
          if (doom) {
            await doomed.died;
            await service.drain('killed', { withinMs: 0 });
            service = await startConductor(cloud, journal, undefined, between);
          }
          await cells.second.becomes(uuid, 'resized/-');
          await service.registry.whenIdle();
          await cells.settled();
          words = wordsOf(await cells.outcome(uuid));
        } finally {
          await service.drain('the end');
        }
      });
      return { writes: doomed.writes, words };
    };
    const whole = await move();
    expect(whole.words).to.equal(wordsOf(MOVED));
    expect(whole.writes).to.deep.equal(['new migration', 'transfer']);
    for (const write of [1, 2]) {
      for (const when of ['before', 'after'] as const)
        expect((await move({ write, when })).words, `${when} ${write}`).to.equal(wordsOf(MOVED));
    }
  });
});
