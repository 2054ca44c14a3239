import {
  addContext,
  currentContext,
  Deadline,
  type PlainObject,
  readContext,
  RequestContext,
  runWithContext,
  secretId,
  uniqueId,
} from '@ebbgate/core';
import { DuplicateWindow } from '#core/duplicate-window.js';
import { Executor } from '#core/executor.js';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { turn } from '../../support/deferred.js';
import { onFakeClock } from '../../support/fake-clock.js';
import { standOf } from './support/scripted-driver.js';

describe('an executor', () => {
  it('gives out so many slots and no more, and takes them back', () => {
    const executor = new Executor(2);
    expect([executor.tryTake(), executor.tryTake(), executor.tryTake()]).to.deep.equal([true, true, false]);
    executor.give();
    expect([executor.tryTake(), executor.tryTake(), executor.running]).to.deep.equal([true, false, 2]);
  });

  it('tells all who wait when nothing runs, each time anew', async () => {
    const executor = new Executor(2);
    await executor.whenIdle();
    for (let round = 0; round < 2; round += 1) {
      executor.tryTake();
      executor.tryTake();
      const waits = [executor.whenIdle(), executor.whenIdle()].map(standOf);
      executor.give();
      await turn();
      expect(waits.map(({ is }) => is)).to.deep.equal(['pending', 'pending']);
      executor.give();
      await turn();
      expect(waits.map(({ is }) => is)).to.deep.equal(['resolved', 'resolved']);
    }
  });
});

describe('the window against duplicates', () => {
  for (const size of [1, 2, 7, 100]) {
    it(`remembers the last ${String(size)} ids at least, and twice as many at most`, () => {
      const window = new DuplicateWindow(size);
      const total = size * 5 + 3;
      for (let id = 0; id < total; id += 1) {
        window.add(String(id));
        const forgotten = Array.from({ length: Math.min(size, id + 1) }, (_, back) =>
          String(id - back),
        ).filter((each) => !window.has(each));
        if (forgotten.length > 0) expect.fail(`forgot ${forgotten.join()} after ${String(id)}`);
        if (window.has(String(id - 2 * size)))
          expect.fail(`still has ${String(id - 2 * size)} after ${String(id)}`);
      }
      expect(window.has(String(total - 1))).to.equal(true);
    });
  }

  it('remembers nothing with size 0', () => {
    const window = new DuplicateWindow(0);
    window.add('a');
    expect(window.has('a')).to.equal(false);
  });
});

describe('a deadline', () => {
  it('takes any finite time, whole, fractional or past', async () => {
    await onFakeClock(async (clock) => {
      expect(Deadline.after(0.25).remainingMs).to.be.closeTo(0.25, 0.001);
      expect(Deadline.after(-5)).to.deep.include({ expired: true, remainingMs: 0 });
      const deadline = Deadline.after(1000);
      expect([deadline.expired, deadline.remainingMs]).to.deep.equal([false, 1000]);
      await clock.tickAsync(1000);
      expect([deadline.expired, deadline.remainingMs]).to.deep.equal([true, 0]);
    });
  });

  for (const ms of [Number.NaN, Infinity, -Infinity]) {
    it(`refuses ${String(ms)} milliseconds`, () => {
      expect(() => Deadline.after(ms))
        .to.throw()
        .with.property('code', 'ERR_CONFIGURATION');
      expect(() => Deadline.atEpochMs(ms))
        .to.throw()
        .with.property('code', 'ERR_CONFIGURATION');
    });
  }

  it('is not moved when the wall clock is set, and tells its moment on the clock that is now', async () => {
    await onFakeClock(async (clock) => {
      const deadline = Deadline.after(1000);
      const epoch = deadline.epochMs;
      expect(epoch).to.be.closeTo(Date.now() + 1000, 0.001);
      clock.setSystemTime(Date.now() + 3_600_000);
      expect(deadline.remainingMs).to.equal(1000);
      expect(deadline.epochMs).to.be.closeTo(epoch + 3_600_000, 1);
    });
  });

  it('travels as a moment of the wall clock', () => {
    const back = Deadline.atEpochMs(Deadline.after(5000).epochMs);
    expect(back.remainingMs).to.be.closeTo(5000, 50);
  });

  it('is the earlier one of two, and none means no limit', () => {
    const [soon, late] = [Deadline.after(10), Deadline.after(20)];
    expect(Deadline.earlier(soon, late)).to.equal(soon);
    expect(Deadline.earlier(late, soon)).to.equal(soon);
    expect(Deadline.earlier(undefined, late)).to.equal(late);
    expect(Deadline.earlier(soon, undefined)).to.equal(soon);
    expect(Deadline.earlier(undefined, undefined)).to.equal(undefined);
  });
});

describe('ids', () => {
  it('are 32 hexadecimal digits and never the same', () => {
    const ids = Array.from({ length: 10_000 }, uniqueId);
    const secrets = Array.from({ length: 1000 }, secretId);
    expect(new Set([...ids, ...secrets])).to.have.property('size', 11_000);
    for (const id of [...ids, ...secrets]) expect(id).to.match(/^[0-9a-f]{32}$/);
  });

  it('that are secret share no prefix', () => {
    expect(new Set(Array.from({ length: 1000 }, () => secretId().slice(0, 16)))).to.have.property(
      'size',
      1000,
    );
  });
});

describe('the context of a request', () => {
  it('is found again anywhere below, and nowhere else', async () => {
    const context = new RequestContext({ request_id: 'req-1' });
    const seen = await runWithContext(
      context,
      async (name: string) => {
        await turn();
        return [name, currentContext()?.requestId];
      },
      'below',
    );
    expect(seen).to.deep.equal(['below', 'req-1']);
    expect(currentContext()).to.equal(undefined);
  });

  it('tells how long its caller still waits', () => {
    expect(new RequestContext().remainingMs).to.equal(Infinity);
    expect(new RequestContext({}, Deadline.after(1000)).remainingMs).to.be.within(900, 1000);
    expect(new RequestContext({}, Deadline.after(1000)).detached().deadline).to.equal(undefined);
  });

  it('takes only text for the id of the request', () => {
    expect(new RequestContext({ request_id: 7 }).requestId).to.equal(undefined);
  });

  it('is copied with some members replaced, whatever their names are', () => {
    const values = JSON.parse('{"__proto__":{"polluted":true},"user":"a"}') as Record<string, unknown>;
    const deadline = Deadline.after(1000);
    const copy = new RequestContext(values, deadline).with({ user: 'b', project: 'p' });
    expect(Object.keys(copy.values)).to.have.members(['__proto__', 'user', 'project']);
    expect(copy.values['polluted']).to.equal(undefined);
    expect(copy.values['toString']).to.equal(undefined);
    expect([copy.values['user'], copy.deadline]).to.deep.equal(['b', deadline]);
  });
});

describe('the members of a context in a message', () => {
  it('come back as they were, however many and long their names are', () => {
    const names = Array.from({ length: 1000 }, (_, n) => `member_${String(n)}`);
    const values = Object.fromEntries(
      [...names, 'x'.repeat(300), '', '_context_'].map((name) => [name, name]),
    );
    for (const round of ['first', 'again']) {
      const inner: Record<string, unknown> = { method: 'm' };
      addContext(inner, values);
      expect(Object.keys(inner).filter((key) => key.startsWith('_context_'))).to.have.length(1003);
      expect({ ...readContext(inner as PlainObject) }, round).to.deep.equal(values); // texts alone
    }
  });
});
