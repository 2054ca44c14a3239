import { BackpressureError } from '@ebbgate/core';
import { type NotificationEndpoint, NotificationListener, REQUEUE } from '@ebbgate/notify';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { bytesDriver } from '../../support/bytes-driver.js';
import { until } from '../../support/deferred.js';
import { onFakeClock } from '../../support/fake-clock.js';
import { Collecting, NotifyBed, useNotifyBed } from '../../support/notify-bed.js';
import { FORMS } from '../../support/rpc-bed.js';

const FAST = { requeueDelayMs: 1, maxRequeueDelayMs: 2 };

for (const form of FORMS) {
  describe(`a notification that is handed back, messages as ${form}`, () => {
    const bed = useNotifyBed(form);

    it('comes again, marked with its attempts, until it is handled; an error hands it back, too', async () => {
      const attempts: number[] = [];
      const endpoint: NotificationEndpoint = {
        info: (_context, notification) => {
          attempts.push(notification.attempts);
          if (notification.attempts === 0) return REQUEUE;
          if (notification.attempts === 1) throw new Error('not yet');
          return undefined;
        },
      };
      const listener = await bed().listen([endpoint], FAST);
      await bed().notifier().info({}, 'e', 1);
      await until(() => attempts.length === 3);
      expect(attempts).to.deep.equal([0, 1, 2]);
      expect(listener.counts).to.include({ requeued: 2, exhausted: 0, released: 2 });
      expect(bed().log.at('error')[0]?.fields).to.include({ eventType: 'e', attempts: 1 });
    });

    it('goes to the dead letters after its last attempt, where a listener gets it as it was (AMQP-28)', async () => {
      const poison = new Collecting(['info'], () => REQUEUE);
      const listener = await bed().listen([poison.endpoint], {
        ...FAST,
        maxRequeues: 2,
        deadLetterTopic: 'dead',
      });
      const dead = new Collecting();
      await bed().notifier().info({ user_id: 'u' }, 'poison', { n: 1 });
      await bed().listen([dead.endpoint], {}, [{ topic: 'dead' }]);
      await until(() => dead.seen.length === 1);
      expect(poison.seen).to.have.lengthOf(3);
      expect(dead.seen[0]).to.deep.include({
        eventType: 'poison',
        payload: { n: 1 },
        publisherId: 'compute.host1',
      });
      expect(dead.seen[0]?.messageId).to.equal(poison.seen[0]?.messageId);
      expect(dead.seen[0]?.context.values['user_id']).to.equal('u');
      expect(listener.counts).to.include({ exhausted: 1 });
      expect(bed().dropped).to.have.lengthOf(1);
      expect(bed().dropped[0]).to.include({ reason: 'exhausted', topic: 'poison' });
    });

    it('is dropped and told when there are no dead letters (AMQP-28)', async () => {
      const poison = new Collecting(['info'], () => REQUEUE);
      const listener = await bed().listen([poison.endpoint], { ...FAST, maxRequeues: 1 });
      await bed().notifier().info({}, 'poison', 1);
      await until(() => bed().dropped.length === 1);
      await listener.stop();
      await listener.wait();
      const later = new Collecting();
      await bed().listen([later.endpoint]);
      await bed().notifier().info({}, 'next', 2);
      await until(() => later.seen.length > 0);
      expect(later.payloads).to.deep.equal([2]);
    });

    it('does not hold up the others, however many there are of it and with one slot only (AMQP-28)', async () => {
      const good: unknown[] = [];
      const endpoint: NotificationEndpoint = {
        info: (_context, { payload }) => (payload === 'poison' ? REQUEUE : good.push(payload)),
      };
      await bed().listen([endpoint], {
        slots: 1,
        prefetch: 1,
        requeueDelayMs: 60_000,
        maxRequeueDelayMs: 60_000,
      });
      for (let n = 0; n < 80; n += 1) await bed().notifier().info({}, 'e', 'poison');
      for (let n = 0; n < 10; n += 1) await bed().notifier().info({}, 'e', n);
      await until(() => good.length === 10);
      expect(good).to.deep.equal([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    });

    it('goes back at stop() at once, for a sibling', async () => {
      const poison = new Collecting(['info'], () => REQUEUE);
      const listener = await bed().listen([poison.endpoint], {
        requeueDelayMs: 60_000,
        maxRequeueDelayMs: 60_000,
      });
      await bed().notifier().info({}, 'e', 1);
      await until(() => listener.counts.requeued === 1);
      await listener.stop();
      const sibling = new Collecting();
      await bed().listen([sibling.endpoint]);
      await until(() => sibling.seen.length === 1);
      expect(sibling.payloads).to.deep.equal([1]);
    });
  });
}

describe('a notification that is handed back', () => {
  const bed = useNotifyBed();

  it('comes again after a while that doubles up to its longest', async () => {
    await onFakeClock(async (clock) => {
      const bed = new NotifyBed('objects');
      const atMs: number[] = [];
      const endpoint: NotificationEndpoint = {
        info: () => {
          atMs.push(performance.now());
          return REQUEUE;
        },
      };
      await bed.listen([endpoint], { requeueDelayMs: 100, maxRequeueDelayMs: 350, maxRequeues: 4 });
      await bed.notifier().info({}, 'e', 1);
      await clock.tickAsync(2000);
      const gaps = atMs.slice(1).map((ms, index) => ms - (atMs[index] ?? 0));
      expect(gaps).to.have.lengthOf(4);
      for (const [index, least] of [100, 200, 350, 350].entries())
        expect(gaps[index]).to.be.within(least, least + 20);
      await bed.close();
    });
  });

  it('stays with the broker when its dead letters cannot be stored, and that is told', async () => {
    let refused = 0;
    const refusing = bytesDriver((destination) => {
      if (destination.kind !== 'notification' || destination.topic !== 'dead.info' || refused > 0) return;
      refused += 1;
      throw new BackpressureError('no room');
    });
    const transport = bed().newTransport({ drivers: [refusing] });
    const poison = new Collecting(['info'], () => REQUEUE);
    const options = { ...FAST, maxRequeues: 0, deadLetterTopic: 'dead' };
    const targets = [{ topic: 'notifications' }];
    const listener = await bed().start(
      new NotificationListener(transport, targets, [poison.endpoint], options),
    );
    await bed().notifier().info({}, 'e', 1);
    await until(() => listener.counts.exhausted === 1);
    expect([poison.seen.length, refused]).to.deep.equal([2, 1]);
    expect(bed().errors.map(({ message }) => message)).to.deep.equal(['no room']);
  });
});
