import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { FLOWS } from '../../matrix/memory/flows.js';
import type { Undisturbed } from '../../matrix/memory/undisturbed.js';

const PROGRAM = fileURLToPath(new URL('../../matrix/memory/undisturbed.js', import.meta.url));

/** The steps, whichever of the two servers a message goes to; the schedule may put them in another order. */
function asOneServer(steps: readonly string[]): readonly string[] {
  return steps.map((step) => step.replace('compute-ops', 'compute')).sort();
}

describe('what an ops server costs while nobody stops anything', function () {
  this.timeout(120_000);
  let seen: readonly Undisturbed[] = [];

  before(async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [PROGRAM], { maxBuffer: 2 ** 26 });
    const lines = stdout.split('\n').filter((line) => line !== '');
    seen = lines.map((line) => JSON.parse(line) as Undisturbed); // its own words
  });

  it('is asked of two clouds that differ (GS-88)', () => {
    const isToOps = (step: string): boolean => step.includes('compute-ops');
    expect(seen.flatMap(({ withOpsServer }) => withOpsServer).filter(isToOps)).to.not.be.empty;
    expect(seen.flatMap(({ without }) => without).filter(isToOps)).to.deep.equal([]);
  });

  for (const { name } of FLOWS) {
    it(`is no message and no change of a record in ${name} (GS-88, FD-36)`, () => {
      const flow = seen.find((one) => one.flow === name);
      const steps = flow?.withOpsServer ?? [];
      expect(steps).to.not.be.empty;
      expect(asOneServer(steps)).to.deep.equal(asOneServer(flow?.without ?? []));
    });
  }
});
