import { ConfigurationError, InvalidTargetError, type TargetOptions } from '@ebbgate/core';
import {
  type NotificationEndpoint,
  NotificationFilter,
  NotificationListener,
  REQUEUE,
} from '@ebbgate/notify';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { z } from 'zod';
import { deferred, turn, until } from '../../support/deferred.js';
import { Collecting, useNotifyBed } from '../../support/notify-bed.js';
import { plainMessage, publish, rawMessage } from '../../support/requests.js';
import { FORMS } from '../../support/rpc-bed.js';
import { scriptedTransport } from '../core/support/scripted-driver.js';

for (const form of FORMS) {
  describe(`a listener to notifications, messages as ${form}`, () => {
    const bed = useNotifyBed(form);

    it('hears the topics and priorities that it asks for, and no others', async () => {
      const got = new Collecting(['info', 'error']);
      await bed().listen([got.endpoint], {}, [{ topic: 'a' }, { topic: 'b', exchange: 'other' }]);
      await bed()
        .notifier({ topics: ['a', 'b', 'c'] })
        .info({}, 'first', 1);
      await bed()
        .notifier({ topics: ['b'], exchange: 'other' })
        .error({}, 'second', 2);
      await bed()
        .notifier({ topics: ['a'] })
        .warn({}, 'third', 3);
      await bed()
        .notifier({ topics: ['a'] })
        .info({}, 'fourth', 4);
      await until(() => got.seen.length === 3);
      expect(got.seen.map(({ eventType }) => eventType)).to.deep.equal(['first', 'second', 'fourth']);
    });

    it('calls every endpoint that has a method and whose filter matches, in order, until one hands it back', async () => {
      const calls: string[] = [];
      const endpoint = (
        name: string,
        filter?: NotificationFilter,
        result?: unknown,
      ): NotificationEndpoint => ({
        ...(filter && { filter }),
        info: () => {
          calls.push(name);
          return result;
        },
      });
      const never = new NotificationFilter({ eventType: 'other' });
      const endpoints = [endpoint('one'), endpoint('never', never), { error: () => 1 }, endpoint('two')];
      await bed().listen([...endpoints, endpoint('three', undefined, REQUEUE), endpoint('four')], {
        maxRequeues: 0,
      });
      await bed().notifier().info({}, 'e', 1);
      await until(() => bed().dropped.length === 1);
      expect(calls).to.deep.equal(['one', 'two', 'three']);
    });

    it('gives a method what the schema of the event type makes of the payload, and rejects and tells one that does not fit', async () => {
      const got = new Collecting();
      const payloads = { typed: z.object({ n: z.coerce.number() }) };
      await bed().listen([{ ...got.endpoint, payloads }]);
      for (const [eventType, n] of [
        ['typed', '7'],
        ['typed', 'not-a-number'],
        ['other', 'not-a-number'],
      ] as const)
        await bed().notifier().info({}, eventType, { n });
      await until(() => got.seen.length === 2 && bed().dropped.length === 1);
      expect(got.payloads).to.have.deep.members([{ n: 7 }, { n: 'not-a-number' }]);
      expect(bed().dropped[0]).to.include({ reason: 'malformed' });
      expect(bed().dropped[0]?.detail).to.include('at n').and.not.include('not-a-number');
    });

    it('acknowledges when the endpoint has ended and not before: a notification that was begun goes back with its connection', async () => {
      const gate = deferred();
      const got = new Collecting(['info'], () => gate.promise);
      const listener = await bed().listen([got.endpoint]);
      await bed().notifier().info({}, 'e', 1);
      await until(() => listener.running === 1);
      bed().faults.cut();
      gate.resolve();
      await until(() => listener.running === 0);
      expect(listener.counts).to.include({ run: 1, gone: 1 });
      bed().faults.restore();
      await until(() => listener.counts.duplicate === 1);
      expect(got.seen).to.have.lengthOf(1);
    });

    it('does not handle a copy of what it is handling: that comes again when it is done', async () => {
      const gate = deferred();
      const got = new Collecting(['info'], () => gate.promise);
      const listener = await bed().listen([got.endpoint]);
      await bed().notifier().info({}, 'e', 1);
      await until(() => listener.running === 1);
      bed().faults.cut();
      bed().faults.restore();
      await turn();
      await turn();
      expect(listener.running).to.equal(1);
      gate.resolve();
      await until(() => listener.counts.duplicate === 1);
      expect(got.seen).to.have.lengthOf(1);
    }).timeout(10_000);

    it('hands back at stop() what was not begun, and finishes what was (GS-75)', async () => {
      const gate = deferred();
      const [first, second] = [new Collecting(['info'], () => gate.promise), new Collecting()];
      const listener = await bed().listen([first.endpoint], { slots: 1 });
      for (const n of [1, 2, 3]) await bed().notifier().info({}, 'e', n);
      await until(() => listener.running === 1);
      await listener.stop();
      await bed().listen([second.endpoint]);
      await until(() => second.seen.length === 2);
      const waiting = listener.wait();
      gate.resolve();
      await waiting;
      expect([first.payloads, second.payloads]).to.deep.equal([[1], [2, 3]]);
      expect(listener.counts.run).to.equal(1);
    });

    it('gives each pool a copy, shared by its listeners, besides the copy of those without one', async () => {
      const parts = [new Collecting(), new Collecting(), new Collecting(), new Collecting()];
      const [alone, one, two, other] = parts.map(({ endpoint }) => [endpoint]);
      await bed().listen(alone ?? []);
      await bed().listen(one ?? [], { pool: 'p', slots: 1 });
      await bed().listen(two ?? [], { pool: 'p', slots: 1 });
      await bed().listen(other ?? [], { pool: 'q' });
      for (let n = 0; n < 10; n += 1) await bed().notifier().info({}, 'e', n);
      await until(() => parts.reduce((sum, { seen }) => sum + seen.length, 0) === 30);
      const counts = parts.map(({ seen }) => seen.length);
      expect([counts[0], counts[3]]).to.deep.equal([10, 10]);
      expect((counts[1] ?? 0) + (counts[2] ?? 0)).to.equal(10);
    });

    it('keeps what a pool did not fetch for its next listener, and nothing for one that is ephemeral', async () => {
      const late = [new Collecting(), new Collecting()];
      for (const options of [{ pool: 'kept' }, { pool: 'gone', ephemeral: true }]) {
        const listener = await bed().listen([new Collecting().endpoint], options);
        await listener.stop();
        await bed().notifier().info({}, 'e', options.pool);
        await listener.wait();
      }
      await bed().listen([late[0]?.endpoint ?? {}], { pool: 'kept' });
      await bed().listen([late[1]?.endpoint ?? {}], { pool: 'gone', ephemeral: true });
      await bed().notifier().info({}, 'e', 'last');
      await until(() => late.every(({ payloads }) => payloads.includes('last')));
      expect(late.map(({ payloads }) => payloads)).to.deep.equal([['kept', 'gone', 'last'], ['last']]);
    });

    it('rejects what is no notification, and tells it; handles one of a priority that nobody knows', async () => {
      const got = new Collecting();
      const listener = await bed().listen([got.endpoint]);
      const to = { kind: 'notification', exchange: 'openstack', topic: 'notifications.info' } as const;
      await publish(bed().transport, plainMessage({ method: 'no notification' }), to);
      const text = JSON.stringify({ event_type: 'e', priority: 'URGENT', payload: 1, publisher_id: null });
      await publish(bed().transport, rawMessage(text), to);
      await until(() => listener.counts.malformed === 1 && listener.counts.run === 1);
      expect(bed().dropped.map(({ reason }) => reason)).to.deep.equal(['malformed']);
      expect(got.seen).to.have.lengthOf(0);
    });
  });
}

describe('a listener to notifications', () => {
  const bed = useNotifyBed();
  const one: readonly TargetOptions[] = [{ topic: 't' }];

  for (const [what, targets, endpoints, options, error] of [
    ['no priority', one, [{ other: () => 1 }], {}, ConfigurationError],
    ['no target', [], [{ info: () => 1 }], {}, ConfigurationError],
    ['a target without a topic', [{ exchange: 'e' }], [{ info: () => 1 }], {}, InvalidTargetError],
    ['an unknown option', one, [{ info: () => 1 }], { allowRequeue: true }, ConfigurationError],
    ['ephemeral without a pool', one, [{ info: () => 1 }], { ephemeral: true }, ConfigurationError],
    ['a batch with slots', one, [{ info: () => 1 }], { batch: { size: 2 }, slots: 2 }, ConfigurationError],
    ['an empty batch', one, [{ info: () => 1 }], { batch: { size: 0 } }, ConfigurationError],
    ['an endpoint that is none', one, ['info'], {}, TypeError],
  ] as const) {
    it(`refuses ${what} when it is made (CORE-09)`, () => {
      const make = () =>
        new NotificationListener(bed().transport, targets, endpoints as never, options as never);
      expect(make).to.throw(error);
    });
  }

  it('is refused on a transport whose driver has no notifications', async () => {
    const { transport } = scriptedTransport();
    expect(() => new NotificationListener(transport, one, [{ info: () => 1 }])).to.throw(
      ConfigurationError,
      'has no notifications',
    );
    await transport.close();
  });
});
