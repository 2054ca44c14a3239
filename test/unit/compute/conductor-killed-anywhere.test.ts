import { expect } from 'chai';
import { describe, it } from 'mocha';
import { run, SCENARIOS } from './conductor-scenarios.js';
import { runEach } from './write-scenarios.js';

describe('a conductor that is killed at any write or message (GS-72, GS-76, COMP-07, decision 5)', function () {
  this.timeout(60_000);

  for (const scenario of SCENARIOS) {
    it(`is followed by one that brings ${scenario.what} to its end`, async () => {
      const whole = await run(scenario);
      expect(whole.problems, 'without a death').to.deep.equal([]);
      expect(whole.writes).to.not.be.empty;
      const found = await runEach((doom) => run(scenario, doom), whole, ['before', 'after']);
      if (found !== '') expect.fail(found);
    });
  }
});
