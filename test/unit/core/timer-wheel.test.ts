import { TimerEntry, TimerWheel } from '@ebbgate/core';
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import { onFakeClock } from '../../support/fake-clock.js';

const TICK_MS = 8;

class Noted extends TimerEntry {
  readonly firedAt: number[] = [];
  onFire: () => void = () => {};

  override onTime(): void {
    this.firedAt.push(performance.now());
    this.onFire();
  }
}

describe('the timer wheel', () => {
  it('fires every entry once, at its time or one tick later, never before, whatever is added and removed', async () => {
    const delay = fc.oneof(fc.double({ min: 0, max: 100, noNaN: true }), fc.integer({ min: 0, max: 60_000 }));
    const steps = fc.array(
      fc.record({ delay, remove: fc.integer({ min: 0, max: 9 }), pause: fc.integer({ min: 0, max: 3000 }) }),
      {
        minLength: 1,
        maxLength: 30,
      },
    );
    await onFakeClock(async (clock) => {
      fc.assert(
        fc.property(steps, (list) => {
          const wheel = new TimerWheel();
          const all: { entry: Noted; due: number }[] = [];
          const removed = new Set<Noted>();
          for (const step of list) {
            const entry = new Noted();
            wheel.add(entry, step.delay);
            all.push({ entry, due: performance.now() + step.delay });
            const victim = all[step.remove]?.entry;
            if (victim && step.remove < all.length - 1 && victim.firedAt.length === 0) {
              wheel.remove(victim);
              removed.add(victim);
            }
            clock.tick(step.pause);
          }
          clock.tick(61_000);
          for (const { entry, due } of all) {
            expect(entry.firedAt).to.have.length(removed.has(entry) ? 0 : 1);
            for (const at of entry.firedAt) expect(at - due).to.be.within(0, TICK_MS + 1);
          }
          expect(wheel.size).to.equal(0);
        }),
        { numRuns: 300 },
      );
    });
  }).timeout(20_000);

  it('fires what a long stall has made late, each once, however long it was', async () => {
    await onFakeClock(async (clock) => {
      const wheel = new TimerWheel();
      const entries = [1, 500, 8191, 8192, 8200, 20_000].map((delayMs) => {
        const entry = new Noted();
        wheel.add(entry, delayMs);
        return entry;
      });
      clock.jump(3_600_000);
      await clock.tickAsync(10);
      expect(entries.map(({ firedAt }) => firedAt.length)).to.deep.equal([1, 1, 1, 1, 1, 1]);
      expect(wheel.size).to.equal(0);
    });
  });

  it('fires what an entry adds at its own time, in a later tick', async () => {
    await onFakeClock(async (clock) => {
      const wheel = new TimerWheel();
      const entry = new Noted();
      entry.onFire = () => {
        if (entry.firedAt.length < 5) wheel.add(entry, 0);
      };
      wheel.add(entry, 0);
      await clock.tickAsync(5 * (TICK_MS + 1));
      expect(entry.firedAt).to.have.length(5);
    });
  });

  it('lets an entry take out another that is due at the same time', async () => {
    await onFakeClock(async (clock) => {
      const wheel = new TimerWheel();
      const [one, other] = [new Noted(), new Noted()];
      one.onFire = () => wheel.remove(other);
      other.onFire = () => wheel.remove(one);
      wheel.add(one, 5);
      wheel.add(other, 5);
      await clock.tickAsync(30);
      expect(one.firedAt.length + other.firedAt.length).to.equal(1);
      expect(wheel.size).to.equal(0);
    });
  });

  it('wakes once a turn for an entry that is many turns away, not in every tick', async () => {
    await onFakeClock(async (clock) => {
      const wheel = new TimerWheel();
      const entries = Array.from({ length: 1024 }, (_, index) => {
        const entry = new Noted();
        wheel.add(entry, 60_000 + index * TICK_MS);
        return entry;
      });
      const soon = new Noted(); // from now on the wheel looks one turn ahead at most
      wheel.add(soon, 0);
      let wakes = 0;
      const { setTimeout: real } = globalThis;
      globalThis.setTimeout = Object.assign((...args: Parameters<typeof setTimeout>) => {
        wakes += 1;
        return real(...args);
      }, real);
      try {
        await clock.tickAsync(8192);
      } finally {
        globalThis.setTimeout = real;
      }
      expect(wakes).to.be.within(1, 1100);
      for (const entry of entries) wheel.remove(entry);
    });
  });

  it('goes on when an entry throws, which is an uncaught exception', async () => {
    const listeners = process.listeners('uncaughtException');
    process.removeAllListeners('uncaughtException');
    const uncaught = new Promise<unknown>((resolve) => process.once('uncaughtException', resolve));
    try {
      await onFakeClock(async (clock) => {
        const wheel = new TimerWheel();
        const [bad, good] = [new Noted(), new Noted()];
        bad.onFire = () => {
          throw new Error('a fault in an entry');
        };
        wheel.add(good, 5);
        wheel.add(bad, 5);
        await clock.tickAsync(30);
        expect(good.firedAt).to.have.length(1);
        wheel.add(good, 5);
        await clock.tickAsync(30);
        expect(good.firedAt).to.have.length(2);
      });
      expect(await uncaught).to.have.property('message', 'a fault in an entry');
    } finally {
      for (const listener of listeners) process.on('uncaughtException', listener);
    }
  });

  it('keeps the process alive only while it holds an entry (CORE-05)', () => {
    const timeouts = (): number =>
      process.getActiveResourcesInfo().filter((each) => each === 'Timeout').length;
    const before = timeouts();
    const wheel = new TimerWheel();
    const entry = new Noted();
    wheel.add(entry, 60_000);
    expect(timeouts()).to.equal(before + 1);
    wheel.remove(entry);
    expect(timeouts()).to.equal(before);
    wheel.add(entry, 60_000);
    expect(timeouts()).to.equal(before + 1);
    wheel.remove(entry);
    wheel.remove(entry);
    expect([timeouts(), wheel.size]).to.deep.equal([before, 0]);
  });
});
