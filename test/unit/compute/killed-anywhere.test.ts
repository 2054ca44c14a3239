import { expect } from 'chai';
import { describe, it } from 'mocha';
import { SCENARIOS } from './host-scenarios.js';
import { run, runEach } from './write-scenarios.js';

describe('a host that is killed at any write (COMP-07, GS-6, GS-102)', function () {
  this.timeout(60_000);

  for (const scenario of SCENARIOS) {
    it(`leaves nothing half done of ${scenario.what}`, async () => {
      const whole = await run(scenario);
      expect(whole.problems, 'without a death').to.deep.equal([]);
      expect(whole.writes).to.not.be.empty;
      const found = await runEach((doom) => run(scenario, doom), whole, ['before', 'after']);
      if (found !== '') expect.fail(found);
    });
  }
});
