import { join } from 'node:path';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { HostileOutcome } from '../fixtures/processes/hostile-broker.js';
import { TestProcess } from '../support/processes.js';

const SCRIPT = join(import.meta.dirname, '../fixtures/processes/hostile-broker.js');
/** 16 deeds in 11 phases, and 6 more where there is a channel. */
const CASES = 11 * 16 + 8 * 6;

describe('a broker that does its worst', function () {
  this.timeout(120_000);

  it('never ends the process: nonsense and closes at each phase are told, and followed by a new start (AMQP-05, AMQP-09, CORE-11)', async () => {
    const child = new TestProcess('--unhandled-rejections=strict', [SCRIPT]);
    const { code, signal } = await child.ended;
    expect([code, signal, child.stderr]).to.deep.equal([0, null, '']);
    expect(child.lines.pop()).to.equal('done');
    const outcomes = child.lines.map((line) => JSON.parse(line) as HostileOutcome); // the process writes nothing else
    expect(outcomes).to.have.length(CASES);
    expect(outcomes.filter(({ told, works }) => !told || !works)).to.deep.equal([]);
  });
});
