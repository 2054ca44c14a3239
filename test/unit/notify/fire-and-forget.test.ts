import type { Undelivered } from '@ebbgate/notify';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { rejectionOf, until } from '../../support/deferred.js';
import { onFakeClock } from '../../support/fake-clock.js';
import { Collecting, NotifyBed, useNotifyBed } from '../../support/notify-bed.js';

describe('a notifier that fires and forgets', () => {
  const bed = useNotifyBed();

  it('keeps to its bound while the broker is away, counts and tells the rest, and delivers what it kept', async () => {
    const told: Undelivered[] = [];
    const notifier = bed().notifier({ fireAndForget: true, maxPending: 100 });
    notifier.events.on('undelivered', (event) => told.push(event));
    await bed().transport.connect();
    bed().faults.cut();
    for (let n = 0; n < 5000; n += 1) {
      await notifier.info({}, 'e', { n });
      expect(notifier.counts.pending).to.be.at.most(100);
    }
    expect(notifier.counts).to.deep.equal({ sent: 0, failed: 0, dropped: 4900, pending: 100 });
    expect(bed().transport.pendingSends).to.equal(100);
    expect(told).to.have.length.greaterThan(0);
    expect(told[0]).to.include({ reason: 'dropped', count: 1 });
    bed().faults.restore();
    await notifier.flush();
    expect(notifier.counts).to.deep.equal({ sent: 100, failed: 0, dropped: 4900, pending: 0 });
    const got = new Collecting();
    await bed().listen([got.endpoint]);
    await until(() => got.seen.length === 100);
    expect(got.payloads.at(-1)).to.deep.equal({ n: 99 });
  });

  it('tells what was not delivered, with the reason, and never rejects', async () => {
    const told: Undelivered[] = [];
    const notifier = bed().notifier({ fireAndForget: true, timeoutMs: 20 });
    notifier.events.on('undelivered', (event) => told.push(event));
    await bed().transport.connect();
    bed().faults.cut();
    await notifier.info({}, 'e', 1);
    await notifier.flush();
    await notifier.info({}, 'e', { f: () => 1 });
    expect(notifier.counts).to.include({ failed: 2, pending: 0 });
    expect(told[0]).to.include({ reason: 'failed', count: 1 });
    expect(told[0]?.error).to.include({ code: 'ERR_DELIVERY' });
    bed().faults.restore();
  });

  it('counts what the bounds of the transport refuse as dropped', async () => {
    const transport = bed().newTransport({ maxPendingSends: 10 });
    await transport.connect();
    const { Notifier } = await import('@ebbgate/notify');
    const notifier = new Notifier(transport, { fireAndForget: true });
    bed().faults.cut();
    for (let n = 0; n < 30; n += 1) void notifier.info({}, 'e', n);
    expect(notifier.counts).to.include({ pending: 10, dropped: 20 });
    bed().faults.restore();
    await notifier.flush();
    expect(notifier.counts.sent).to.equal(10);
  });

  it('gives up a flush at its time limit, and goes on sending', async () => {
    const notifier = bed().notifier({ fireAndForget: true });
    await bed().transport.connect();
    bed().faults.cut();
    void notifier.info({}, 'e', 1);
    expect(await rejectionOf(notifier.flush({ timeoutMs: 10 }))).to.include({ code: 'ERR_TIMEOUT' });
    bed().faults.restore();
    await notifier.flush();
    expect(notifier.counts.sent).to.equal(1);
  });

  it('writes to the log what nobody listens to', async () => {
    const notifier = bed().notifier({ fireAndForget: true, maxPending: 0 });
    await notifier.info({}, 'e', 1);
    expect(
      bed()
        .log.at('warn')
        .map(({ message }) => message),
    ).to.deep.equal(['Notifications were not delivered']);
  });
});

describe('what a notifier tells of the undelivered', () => {
  it('comes at once, then once a second with the count of all since, and when its transport is closed', async () => {
    await onFakeClock(async (clock) => {
      const bed = new NotifyBed('objects');
      const counts: number[] = [];
      const notifier = bed.notifier({ fireAndForget: true, maxPending: 0 });
      notifier.events.on('undelivered', ({ count }) => counts.push(count));
      for (let n = 0; n < 10; n += 1) void notifier.info({}, 'e', n);
      expect(counts).to.deep.equal([1]);
      await clock.tickAsync(1100);
      expect(counts).to.deep.equal([1, 9]);
      await clock.tickAsync(1100);
      void notifier.info({}, 'e', 10);
      expect(counts).to.deep.equal([1, 9, 1]);
      void notifier.info({}, 'e', 11);
      await bed.transport.close();
      expect(counts).to.deep.equal([1, 9, 1, 1]);
      await bed.close();
    });
  });
});
