import { join } from 'node:path';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { HostileOutcome } from '../fixtures/processes/hostile-redis.js';
import { TestProcess } from '../support/processes.js';

const PROCESSES = join(import.meta.dirname, '../fixtures/processes');
const STATES = ['never connected', 'refused', 'connecting', 'declaring', 'reading', 'frozen', 'lost'];
/** Of one step of an end, however little the store says. */
const END_MS = 10_000;
/** 19 answers in 7 phases. */
const CASES = 19 * 7;

describe('a Redis that does its worst', function () {
  this.timeout(120_000);

  it('never ends the process: whatever is answered at each phase, messages are sent and heard afterwards (AMQP-05, REDIS-11, CORE-11)', async () => {
    const child = new TestProcess('--unhandled-rejections=strict', [join(PROCESSES, 'hostile-redis.js')]);
    const { code, signal } = await child.ended;
    expect([code, signal, child.stderr]).to.deep.equal([0, null, '']);
    expect(child.lines.pop()).to.equal('done');
    const outcomes = child.lines.map((line) => JSON.parse(line) as HostileOutcome); // the process writes nothing else
    expect(outcomes).to.have.length(CASES);
    expect(outcomes.filter(({ works }) => !works)).to.deep.equal([]);
  });
});

describe('what outlives the Redis driver', function () {
  this.timeout(60_000);

  it('is nothing: a program whose transports were closed, in whatever state, ends by itself (CORE-05, AMQP-41)', async () => {
    const child = new TestProcess(join(PROCESSES, 'redis-closer.js'));
    const { code, signal } = await child.ended;
    expect([code, signal, child.stderr]).to.deep.equal([0, null, '']);
    const told = child.lines
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as { state: string; tookMs: number }); // the process writes nothing else
    expect(told.map(({ state }) => state)).to.deep.equal([...STATES, 'exit']);
    for (const { state, tookMs } of told) expect(tookMs, state).to.be.below(END_MS);
  });
});
