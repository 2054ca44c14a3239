import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { FLOWS } from '../matrix/memory/flows.js';
import type { Result } from '../matrix/memory/matrix.js';
import { failureOf, runParts } from '../matrix/memory/parts.js';
import { WAYS } from '../matrix/parties.js';
import { faultSeed } from '../support/rigs/random-faults.js';

const MINUTES = 60_000;

describe('every flow, with SIGTERM or kill -9 at each of its steps, in memory and on a simulated clock', function () {
  this.timeout(15 * MINUTES);
  let results: readonly Result[] = [];
  const how = ['--seed', String(faultSeed())];

  before(async () => {
    results = await runParts(how);
  });

  it('is tried at each step, for each that has a part in it, in both ways (GS-5)', () => {
    expect(results.length).to.be.above(2000);
    for (const { name, parties } of FLOWS) {
      const its = results.filter(({ flow }) => flow === name);
      for (const party of parties)
        for (const way of WAYS) {
          const steps = its.filter((one) => one.party === party && one.way === way).map(({ step }) => step);
          expect(steps, `${name}, ${party}, ${way}`).to.deep.equal(steps.map((_step, index) => index + 1));
          expect(steps).to.not.be.empty;
        }
    }
  });

  for (const { name } of FLOWS) {
    it(`loses nothing of ${name}, and after SIGTERM completes what had begun (COMP-07, GS-2, GS-5, GS-6, GS-8, GS-68, GS-72, GS-76, GS-101, GS-102)`, () => {
      const its = results.filter(({ flow }) => flow === name);
      const bad = its.filter(({ problems }) => problems.length > 0).map((one) => failureOf(one, how));
      expect(its).to.not.be.empty;
      if (bad.length > 0) expect.fail(`\n${bad.join('\n')}`);
    });
  }
});

/** What breaks when a host cannot be reached any more that drains, and who is the first that notices. */
const CONTROLS = [
  { flow: 'boot', party: 'source' },
  { flow: 'live-migration', party: 'source' },
  { flow: 'live-migration', party: 'destination' },
  { flow: 'cold-migration', party: 'destination' },
  { flow: 'resize', party: 'destination' },
  { flow: 'revert', party: 'source' },
  { flow: 'rebuild', party: 'source' },
  { flow: 'cross-cell-resize', party: 'destination' },
] as const;

describe('the same matrix on hosts without ops servers', function () {
  this.timeout(5 * MINUTES);

  for (const { flow, party } of CONTROLS) {
    it(`breaks ${flow} in some steps, when the ${party} gets SIGTERM (GS-4)`, async () => {
      const chosen = ['--flow', flow, '--party', party, '--way', 'TERM'];
      const results = await runParts([...chosen, '--no-ops-server', '--until-broken']);
      expect(results.filter(({ problems }) => problems.length > 0)).to.not.be.empty;
    });
  }
});
