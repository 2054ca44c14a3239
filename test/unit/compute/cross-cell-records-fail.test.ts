import { expect } from 'chai';
import { describe, it } from 'mocha';
import { DEST, SOURCE } from './test-cloud.js';
import { asBefore, type CellsOutcome, type TwoCells, withTwoCells } from './two-cells.js';

/** So long that no test sees it happen: what ends, ends because it was told. */
const NO_RECHECK = { recheckMs: 600_000 } as const;
const GONE = 'deleted/-@null hidden deleted';

/** All as before, and of both copies only what nobody sees. */
const BOTH_GONE = asBefore({
  instance: [`active/-@${SOURCE}`, GONE],
  migration: ['error', 'error hidden deleted'],
});

/** How a call of `work` fails once. @param lost - the work is done, and only its answer is lost */
function once<Args extends unknown[], Result>(
  work: (...args: Args) => Promise<Result>,
  lost: boolean,
  when: (...args: Args) => boolean = () => true,
): (...args: Args) => Promise<Result> {
  let failed = false;
  return async (...args) => {
    if (failed || !when(...args)) return work(...args);
    failed = true;
    if (lost) await work(...args);
    throw new Error('failed, as ordered');
  };
}

interface Failure {
  readonly order: (cells: TwoCells, lost: boolean) => void;
  /** What the second cell has left when it was not done, and when it was. */
  readonly left: readonly [notDone: Partial<CellsOutcome>, done: Partial<CellsOutcome>];
}

const ALL = {} as const;

const FAILURES: Readonly<Record<string, Failure>> = {
  'the copy of the instance': {
    order: ({ second: { cloud } }, lost) => {
      const { instances } = cloud.records;
      instances.create = once(instances.create.bind(instances), lost);
    },
    left: [
      { instance: [`active/-@${SOURCE}`, '-'], migration: ['error', '-'] },
      { migration: ['error', '-'] },
    ],
  },
  'the copy of the migration': {
    order: ({ second: { cloud } }, lost) => {
      const { migrations } = cloud.records;
      migrations.create = once(migrations.create.bind(migrations), lost);
    },
    left: [{ migration: ['error', '-'] }, ALL],
  },
  'the ports': {
    order: ({ second: { cloud } }, lost) => {
      const { networking } = cloud;
      networking.adopt = once(networking.adopt.bind(networking), lost);
    },
    left: [ALL, ALL],
  },
  'the migration context, with the destination prepared': {
    order: ({ second: { cloud } }, lost) => {
      const { instances } = cloud.records;
      const isIt = (_uuid: string, changes: object): boolean => 'migration_context' in changes;
      instances.update = once(instances.update.bind(instances), lost, isIt);
    },
    left: [ALL, ALL],
  },
};

describe('a resize to another cell whose records or ports cannot be written there (compute-rpc 3.5, steps 2 and 3)', () => {
  for (const [what, { order, left }] of Object.entries(FAILURES)) {
    for (const lost of [false, true]) {
      it(`ends as it began in both cells: ${what}, ${lost ? 'written, but the answer is lost' : 'not written'} (GS-100)`, () =>
        withTwoCells(NO_RECHECK, async (cells) => {
          order(cells, lost);
          const uuid = await cells.first.bootActive(SOURCE);
          const ports = await cells.first.cloud.networking.portsOf(uuid);
          await cells.resize(uuid);
          await cells.first.migrationBecomes(uuid, 'error');
          await cells.settled();
          expect(await cells.outcome(uuid)).to.deep.equal({ ...BOTH_GONE, ...left[lost ? 1 : 0] });
          expect(await cells.first.cloud.networking.portsOf(uuid)).to.deep.equal(ports);
          expect(await cells.second.cloud.networking.portsOf(uuid)).to.deep.equal([]);
          const { ended } = await cells.second.terminate(DEST);
          expect((await ended).report.outcome).to.equal('clean');
        }));
    }
  }

  it('can be asked for again, and then goes through', () =>
    withTwoCells(NO_RECHECK, async (cells) => {
      FAILURES['the copy of the migration']?.order(cells, false);
      const uuid = await cells.first.bootActive(SOURCE);
      await cells.resize(uuid);
      await cells.first.migrationBecomes(uuid, 'error');
      await cells.settled();
      await cells.resize(uuid);
      await cells.second.becomes(uuid, 'resized/-');
      await cells.settled();
      expect((await cells.outcome(uuid)).guests).to.deep.equal([`${DEST}:running`]);
    }));
});
