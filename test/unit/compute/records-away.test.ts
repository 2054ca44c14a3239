import { expect } from 'chai';
import { describe, it } from 'mocha';
import { SCENARIOS } from './host-scenarios.js';
import { run, runEach } from './write-scenarios.js';

describe('records that do not answer at any one write (COMP-07)', function () {
  this.timeout(60_000);

  for (const scenario of SCENARIOS) {
    it(`do not change the end of ${scenario.what}`, async () => {
      const whole = await run(scenario);
      expect(whole.problems).to.deep.equal([]);
      const found = await runEach((doom) => run(scenario, doom), whole, ['lost', 'away']);
      if (found !== '') expect.fail(found);
    });
  }
});
