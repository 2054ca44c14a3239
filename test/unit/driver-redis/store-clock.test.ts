import { Deadline } from '@ebbgate/core';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { readTime, StoreClock } from '#driver-redis/store-clock.js';

describe('the clock of the store', () => {
  it('is told by the quickest of its answers, and keeps deadlines of two processes alike (RPC-02)', () => {
    const clock = new StoreClock();
    const hourAhead = Date.now() + 3_600_000;
    const now = performance.now();
    clock.onAnswer(hourAhead, now - 10, now);
    clock.onAnswer(hourAhead - 50, now - 500, now); // slower, and no contradiction: not believed
    const deadline = Deadline.after(30_000);
    const stored = clock.toStore(deadline);
    expect(stored).to.be.closeTo(hourAhead + 30_000, 200);
    expect(clock.fromStore(stored).remainingMs).to.be.closeTo(deadline.remainingMs, 5);
  });

  it('is asked anew when the store may be another one', () => {
    const clock = new StoreClock();
    const now = performance.now();
    clock.onAnswer(Date.now() + 300, now - 2, now);
    clock.forget();
    clock.onAnswer(Date.now(), now - 800, now);
    expect(clock.toStore(Deadline.after(0))).to.be.closeTo(Date.now() + 400, 90);
  });

  it('is followed when it is set: an answer that contradicts what is believed is taken, however slow (RPC-02)', () => {
    const clock = new StoreClock();
    const [now, hour] = [performance.now(), 3_600_000];
    clock.onAnswer(Date.now(), now - 1, now);
    for (const set of [hour, -hour]) {
      clock.onAnswer(Date.now() + set, now - 500, now);
      expect(clock.toStore(Deadline.after(0))).to.be.closeTo(Date.now() + set + 250, 200);
    }
  });

  it('does not move when our own wall clock is set (RPC-02)', () => {
    const clock = new StoreClock();
    const [now, storeMs] = [performance.now(), Date.now()];
    clock.onAnswer(storeMs, now - 1, now);
    const realNow = Date.now;
    Date.now = () => realNow() + 3_600_000;
    try {
      expect(clock.toStore(Deadline.after(1_000))).to.be.closeTo(storeMs + 1_000, 200);
      expect(clock.fromStore(storeMs + 1_000).remainingMs).to.be.closeTo(1_000, 200);
    } finally {
      Date.now = realNow;
    }
  });

  it('is read from the reply to TIME, and from nothing else', () => {
    expect(readTime([Buffer.from('1700000000'), Buffer.from('250000')])).to.equal(1_700_000_000_250);
    for (const odd of [null, [], ['1'], ['x', 'y'], ['1e308', '0'], 'text'])
      expect(readTime(odd)).to.equal(undefined);
  });
});
