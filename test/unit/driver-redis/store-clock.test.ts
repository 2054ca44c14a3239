import { Deadline } from '@ebbgate/core';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { readTime, StoreClock } from '#driver-redis/store-clock.js';

describe('the clock of the store', () => {
  it('is told by the quickest of its answers, and keeps deadlines of two processes alike (RPC-02)', () => {
    const clock = new StoreClock();
    const hourAhead = Date.now() + 3_600_000;
    clock.onAnswer(hourAhead, 0, 10);
    clock.onAnswer(hourAhead + 60_000, 0, 500); // slower: not believed
    const deadline = Deadline.after(30_000);
    const stored = clock.toStore(deadline);
    expect(stored).to.be.closeTo(hourAhead + 30_000, 200);
    expect(clock.fromStore(stored).remainingMs).to.be.closeTo(deadline.remainingMs, 5);
  });

  it('is asked anew when the store may be another one', () => {
    const clock = new StoreClock();
    clock.onAnswer(Date.now() + 3_600_000, 0, 1);
    clock.forget();
    clock.onAnswer(Date.now(), 0, 400);
    expect(clock.toStore(Deadline.after(0))).to.be.closeTo(Date.now() + 200, 150);
  });

  it('is read from the reply to TIME, and from nothing else', () => {
    expect(readTime([Buffer.from('1700000000'), Buffer.from('250000')])).to.equal(1_700_000_000_250);
    for (const odd of [null, [], ['1'], ['x', 'y'], 'text']) expect(readTime(odd)).to.equal(undefined);
  });
});
