import assert from 'node:assert/strict';
import { type Case, type Group, testWith } from '../case.js';
import { later } from '../later.js';
import { textMessage, toTopic } from '../test-message.js';
import { failsWith } from '../traits.js';

const sending: readonly Case[] = [
  testWith(
    ['faults'],
    'a message that is sent during an outage is sent after it (AMQP-02, AMQP-47)',
    async (lab) => {
      const { sender, receiver } = await lab.pair();
      const source = lab.source();
      const inbox = await lab.listen(receiver, source, { settling: 'accept' });
      await lab.cut(sender, receiver);
      let restored = false;
      const sent = later(lab.send(sender, toTopic(source), 'patient').then(() => restored));
      await lab.clockPasses(20);
      restored = true;
      await lab.restore(sender, receiver);
      assert.equal(await sent, true, 'publish() has resolved without a broker');
      await lab.subscribed(receiver);
      await lab.expectOnce(sender, [inbox], ['patient']);
    },
  ),

  testWith(
    ['faults'],
    'a message that could not be sent by its deadline fails with ERR_DELIVERY, and is not sent (AMQP-02)',
    async (lab) => {
      const { sender, receiver } = await lab.pair();
      const source = lab.source();
      const inbox = await lab.listen(receiver, source, { settling: 'accept' });
      await lab.cut(sender, receiver);
      const error = await failsWith(
        lab,
        'ERR_DELIVERY',
        lab.send(sender, toTopic(source), 'too late', { timeoutMs: 40, patient: false }),
        'publish()',
      );
      assert.equal(error.outcome, 'not-sent');
      await lab.restore(sender, receiver);
      await lab.subscribed(receiver);
      await lab.send(sender, toTopic(source), 'in time');
      await lab.expectOnce(sender, [inbox], ['in time']);
    },
  ),

  testWith(
    ['faults'],
    'with retry: 0 a send during an outage fails without waiting for its deadline (AMQP-19)',
    async (lab) => {
      const { sender, receiver } = await lab.pair();
      const source = lab.source();
      await lab.declare(receiver, source);
      await lab.cut(sender, receiver);
      const work = lab.send(sender, toTopic(source), 'once', {
        retry: 0,
        timeoutMs: 3_600_000,
        patient: false,
      });
      const error = await failsWith(lab, 'ERR_DELIVERY', work, 'publish()');
      assert.equal(error.outcome, 'not-sent');
    },
  ),

  testWith(['faults'], 'connecting counts for the deadline of a first send (AMQP-19)', async (lab) => {
    const receiver = await lab.transport();
    const source = lab.source();
    await lab.declare(receiver, source);
    const sender = await lab.unconnected();
    await lab.cut(receiver);
    await failsWith(
      lab,
      'ERR_DELIVERY',
      lab.send(sender, toTopic(source), 'too late', { timeoutMs: 40, patient: false }),
      'publish()',
    );
    await lab.restore(receiver);
    await lab.send(sender, toTopic(source), 'in time');
    const inbox = await lab.listen(receiver, source);
    assert.equal(await inbox.acceptNext(), 'in time');
  }),

  testWith(
    ['faults'],
    'close() during an outage ends what waits with ERR_TRANSPORT_CLOSED (RPC-01, CORE-05, AMQP-41)',
    async (lab) => {
      const { sender, receiver } = await lab.pair();
      const source = lab.source();
      const inbox = await lab.listen(receiver, source);
      await lab.cut(sender, receiver);
      const waiting = [
        lab.send(receiver, toTopic(source), 'never', { timeoutMs: 3_600_000 }),
        receiver.listen(lab.source(), { credit: 1 }, () => undefined),
        receiver.openReplyQueue(() => undefined),
      ].map((work, index) =>
        later(
          failsWith(
            lab,
            'ERR_TRANSPORT_CLOSED',
            work,
            ['publish()', 'listen()', 'openReplyQueue()'][index] ?? '',
          ),
        ),
      );
      await lab.until(receiver.close(), 'close()');
      await Promise.all(waiting);
      await lab.until(inbox.listener.close(), 'close() of a listener');
    },
  ),
];

const stalled: readonly Case[] = [
  testWith(['stall'], 'publish() does not resolve before the broker has confirmed (AMQP-02)', async (lab) => {
    const { sender, receiver } = await lab.pair();
    const source = lab.source();
    const inbox = await lab.listen(receiver, source, { settling: 'accept' });
    await lab.stall();
    let resumed = false;
    const sent = later(lab.send(sender, toTopic(source), 'confirmed').then(() => resumed));
    await lab.clockPasses(30);
    resumed = true;
    await lab.resume();
    assert.equal(await sent, true, 'publish() has resolved without the broker');
    await lab.subscribed(receiver);
    await inbox.arrived(1);
    assert.deepEqual(inbox.texts, ['confirmed']);
  }),

  testWith(
    ['stall'],
    'without a confirmation publish() fails at its deadline, and tells the truth (AMQP-02, AMQP-31)',
    async (lab) => {
      const { sender, receiver } = await lab.pair();
      const source = lab.source();
      const inbox = await lab.listen(receiver, source, { settling: 'accept' });
      await lab.stall();
      const error = await failsWith(
        lab,
        'ERR_DELIVERY',
        lab.send(sender, toTopic(source), 'perhaps', { timeoutMs: 40, patient: false }),
        'publish()',
      );
      assert.ok(error.outcome === 'not-sent' || error.outcome === 'unknown', error.outcome);
      await lab.resume();
      await lab.subscribed(receiver);
      await lab.send(sender, toTopic(source), textMessage('in time'));
      await lab.fence(sender, source);
      if (error.outcome === 'not-sent') assert.deepEqual(inbox.texts, ['in time']);
      else assert.ok(inbox.texts.includes('in time'));
    },
  ),

  testWith(
    ['stall'],
    'every shutdown step is bounded when the broker does not answer (AMQP-41, RPC-01)',
    async (lab) => {
      const { sender, receiver } = await lab.pair();
      const source = lab.source();
      const inbox = await lab.listen(receiver, source);
      await lab.stall();
      const waiting = [
        lab.send(sender, toTopic(source), 'never', { timeoutMs: 3_600_000 }),
        sender.listen(lab.source(), { credit: 1 }, () => undefined),
      ].map((work, index) =>
        later(failsWith(lab, 'ERR_TRANSPORT_CLOSED', work, ['publish()', 'listen()'][index] ?? '')),
      );
      await lab.until(inbox.listener.stop(), 'stop()');
      assert.ok(Array.isArray(await lab.until(inbox.listener.close(), 'close() of a listener')));
      await lab.until(Promise.all([sender.close(), receiver.close()]), 'close() of a transport');
      await Promise.all(waiting);
    },
  ),
];

export const outage: Group = { name: 'outage', cases: [...sending, ...stalled] };
