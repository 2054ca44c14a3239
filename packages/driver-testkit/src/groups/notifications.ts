import assert from 'node:assert/strict';
import type { NotificationDestination, NotificationSource, Transport } from '@ebbgate/core';
import { type Case, type Group, type Need, testWith } from '../case.js';
import type { Inbox } from '../inbox.js';
import type { Lab } from '../lab.js';
import { numbered, textOf, toNotifications } from '../test-message.js';

const NEEDED: readonly Need[] = ['notifications'];

/** A topic with a priority that nobody else has. */
function topicOf(lab: Lab, stem = 'notifications'): NotificationDestination {
  return toNotifications({ exchange: lab.name('exchange'), topic: `${lab.name(stem)}.info` });
}

function sourceOf(
  topics: readonly NotificationDestination[],
  pool?: string,
  ephemeral = false,
): NotificationSource {
  return { topics: topics.map(({ exchange, topic }) => ({ exchange, topic })), pool, ephemeral };
}

/** These texts arrive at the inbox, and nothing else up to a last one that is sent now. */
async function hears(
  lab: Lab,
  sender: Transport,
  to: NotificationDestination,
  inbox: Inbox,
  texts: readonly string[],
): Promise<void> {
  const last = lab.name('last');
  await lab.send(sender, to, last);
  while (!inbox.texts.includes(last)) await inbox.arrival(`the last of ${String(texts.length + 1)}`);
  assert.deepEqual(inbox.texts.filter((text) => text !== last).toSorted(), [...texts].toSorted());
}

const sending: readonly Case[] = [
  testWith(NEEDED, 'a notification waits until somebody listens (AMQP-24)', async (lab) => {
    const { sender, receiver } = await lab.pair();
    const topic = topicOf(lab);
    await lab.sendAll(sender, topic, numbered('early', 5));
    const inbox = await lab.listen(receiver, sourceOf([topic]), { settling: 'accept' });
    await hears(lab, sender, topic, inbox, numbered('early', 5));
  }),

  testWith(
    NEEDED,
    'a notification reaches those who listen to its topic, and nobody else (CORE-06)',
    async (lab) => {
      const { sender, receiver } = await lab.pair();
      const [topic, other] = [topicOf(lab), topicOf(lab, 'other')];
      const inbox = await lab.listen(receiver, sourceOf([topic]), { settling: 'accept' });
      const elsewhere = await lab.listen(receiver, sourceOf([other]), { settling: 'accept' });
      await lab.send(sender, topic, 'here');
      await lab.send(sender, other, 'there');
      await hears(lab, sender, topic, inbox, ['here']);
      await hears(lab, sender, other, elsewhere, ['there']);
    },
  ),

  testWith(
    ['notifications', 'ordered'],
    'notifications of one sender to one topic arrive in their order (AMQP-24)',
    async (lab) => {
      const { sender, receiver } = await lab.pair();
      const topic = topicOf(lab);
      const inbox = await lab.listen(receiver, sourceOf([topic]), { settling: 'accept' });
      for (const text of numbered('n', 10)) await lab.send(sender, topic, text);
      await inbox.arrived(10);
      if (!lab.mayComeAgain) assert.deepEqual(inbox.texts, numbered('n', 10));
    },
  ),

  testWith(NEEDED, 'a listener hears several topics of several exchanges (CORE-06)', async (lab) => {
    const { sender, receiver } = await lab.pair();
    const topics = [topicOf(lab, 'a'), topicOf(lab, 'b'), topicOf(lab, 'c')];
    const inbox = await lab.listen(receiver, sourceOf(topics), { settling: 'accept' });
    for (const [index, topic] of topics.entries()) await lab.send(sender, topic, `at ${String(index)}`);
    await inbox.arrived(3);
    assert.deepEqual(inbox.texts.toSorted(), ['at 0', 'at 1', 'at 2']);
  }),

  testWith(NEEDED, 'topics and pools may have any names (CORE-06, SEC-06)', async (lab) => {
    const { sender, receiver } = await lab.pair();
    for (const name of ['a.#.*', 'p/q?r{s}', 'naïve ☃', 'x'.repeat(300)]) {
      const [topic, similar] = [topicOf(lab, name), topicOf(lab, name)];
      const source = sourceOf([topic], lab.name(`pool ${name}`));
      const inbox = await lab.listen(receiver, source, { settling: 'accept' });
      await lab.send(sender, similar, 'not for it');
      await lab.send(sender, topic, 'for it');
      await hears(lab, sender, topic, inbox, ['for it']);
    }
  }),
];

const pools: readonly Case[] = [
  testWith(
    NEEDED,
    'each pool gets a copy, beside the one for listeners without a pool (AMQP-24)',
    async (lab) => {
      const { sender, receiver } = await lab.pair();
      const topic = topicOf(lab);
      const sources = [undefined, lab.name('pool'), lab.name('pool')].map((pool) => sourceOf([topic], pool));
      const inboxes: Inbox[] = [];
      for (const source of sources) inboxes.push(await lab.listen(receiver, source, { settling: 'accept' }));
      await lab.sendAll(sender, topic, numbered('n', 10));
      for (const inbox of inboxes) {
        await inbox.arrived(10);
        assert.deepEqual(inbox.texts.toSorted(), numbered('n', 10));
      }
    },
  ),

  ...['without a pool', 'of one pool'].map((which) =>
    testWith(NEEDED, `listeners ${which} share what comes (AMQP-24)`, async (lab) => {
      const { sender, receiver } = await lab.pair();
      const topic = topicOf(lab);
      const source = sourceOf([topic], which === 'of one pool' ? lab.name('pool') : undefined);
      const one = await lab.listen(receiver, source, { credit: 2 });
      const two = await lab.listen(sender, source, { credit: 2 });
      await lab.sendAll(sender, topic, numbered('n', 4));
      await Promise.all([one.arrived(2), two.arrived(2)]);
      const texts = [...one.texts, ...two.texts];
      if (!lab.mayComeAgain) assert.deepEqual(texts.toSorted(), numbered('n', 4));
    }),
  ),

  testWith(NEEDED, 'a pool keeps what comes while none of its listeners is there (AMQP-24)', async (lab) => {
    const { sender, receiver } = await lab.pair();
    const topic = topicOf(lab);
    const source = sourceOf([topic], lab.name('pool'));
    const first = await lab.listen(receiver, source);
    await lab.until(first.listener.close(), 'close()');
    await lab.sendAll(sender, topic, numbered('kept', 3));
    const second = await lab.listen(receiver, source, { settling: 'accept' });
    await hears(lab, sender, topic, second, numbered('kept', 3));
  }),

  testWith(
    NEEDED,
    'an ephemeral pool goes with its listener, and others keep their copies (AMQP-37)',
    async (lab) => {
      const { sender, receiver } = await lab.pair();
      const topic = topicOf(lab);
      const source = sourceOf([topic], lab.name('pool'), true);
      const first = await lab.listen(receiver, source, { settling: 'accept' });
      await hears(lab, sender, topic, first, []);
      await lab.until(first.listener.close(), 'close()');
      await lab.send(sender, topic, 'lost on it');
      const second = await lab.listen(receiver, source, { settling: 'accept' });
      await hears(lab, sender, topic, second, []);
      const plain = await lab.listen(receiver, sourceOf([topic]), { settling: 'accept' });
      while (!plain.texts.includes('lost on it')) await plain.arrival('what was lost on the pool');
    },
  ),
];

const settlingThem: readonly Case[] = [
  testWith(
    NEEDED,
    'never more notifications unsettled than the credit, over all topics (AMQP-01)',
    async (lab) => {
      const { sender, receiver } = await lab.pair();
      const topics = [topicOf(lab, 'a'), topicOf(lab, 'b')];
      const inbox = await lab.listen(receiver, sourceOf(topics), { credit: 3 });
      for (const topic of topics) await lab.sendAll(sender, topic, numbered(topic.topic, 4));
      await inbox.arrived(3);
      await lab.roundTrips(receiver);
      if (!lab.mayComeAgain) assert.equal(inbox.received.length, 3);
      for (let n = 0; n < 8; n += 1) await inbox.acceptNext();
    },
  ),

  testWith(NEEDED, 'a notification that was accepted never comes again (AMQP-29)', async (lab) => {
    const { sender, receiver } = await lab.pair();
    const topic = topicOf(lab);
    const first = await lab.listen(receiver, sourceOf([topic]));
    await lab.send(sender, topic, 'handled');
    assert.equal(await first.acceptNext(), 'handled');
    assert.deepEqual(await lab.until(first.listener.close(), 'close()'), []);
    const second = await lab.listen(receiver, sourceOf([topic]), { settling: 'accept' });
    await hears(lab, sender, topic, second, []);
  }),

  ...(['undefined', 'a pool'] as const).map((which) =>
    testWith(
      ['notifications', 'release'],
      `what was not handled at stop() goes back for the others${which === 'a pool' ? ' of its pool' : ''} (decision 8)`,
      async (lab) => {
        const { sender, receiver } = await lab.pair();
        const topic = topicOf(lab);
        const source = sourceOf([topic], which === 'a pool' ? lab.name('pool') : undefined);
        const first = await lab.listen(receiver, source, { credit: 2 });
        await lab.sendAll(sender, topic, numbered('n', 3));
        const [one, two] = await first.take(2);
        await lab.until(first.listener.stop(), 'stop()');
        two?.release();
        const handled = one && textOf(one.message);
        assert.equal(await one?.accept(), true);
        const second = await lab.listen(receiver, source, { settling: 'accept' });
        await hears(
          lab,
          sender,
          topic,
          second,
          numbered('n', 3).filter((text) => text !== handled),
        );
      },
    ),
  ),
];

const losing: readonly Case[] = [
  testWith(
    ['notifications', 'faults'],
    'what was not handled comes again when the connection was lost (decision 9, AMQP-11)',
    async (lab) => {
      const { sender, receiver } = await lab.pair();
      const topic = topicOf(lab);
      const inbox = await lab.listen(receiver, sourceOf([topic]));
      await lab.send(sender, topic, 'held');
      const held = await inbox.next();
      inbox.giveBack();
      await lab.cut(sender, receiver);
      await lab.restore(sender, receiver);
      assert.equal(await held.accept(), false, 'accept() of a delivery whose channel is gone');
      const again = await inbox.next();
      assert.equal(textOf(again.message), 'held');
      assert.equal(await again.accept(), true);
    },
  ),

  testWith(
    ['notifications', 'faults'],
    'a pool and an ephemeral pool are there again after a loss (AMQP-09)',
    async (lab) => {
      const { sender, receiver } = await lab.pair();
      const topic = topicOf(lab);
      const pool = await lab.listen(receiver, sourceOf([topic], lab.name('p')), {
        settling: 'accept',
      });
      const own = await lab.listen(receiver, sourceOf([topic], lab.name('q'), true), {
        settling: 'accept',
      });
      await lab.cut(sender, receiver);
      await lab.restore(sender, receiver);
      await lab.subscribed(receiver);
      await hears(lab, sender, topic, pool, []);
      await own.arrived(1);
    },
  ),

  testWith(
    ['notifications', 'faults'],
    'a notification that is sent during an outage is stored when the broker is back (AMQP-03)',
    async (lab) => {
      const { sender, receiver } = await lab.pair();
      const topic = topicOf(lab);
      await lab.cut(sender, receiver);
      const sent = lab.send(sender, topic, 'late');
      await lab.restore(sender, receiver);
      await sent;
      const inbox = await lab.listen(receiver, sourceOf([topic]), { settling: 'accept' });
      while (!inbox.texts.includes('late')) await inbox.arrival('what was sent during the outage');
    },
  ),
];

export const notifications: Group = {
  name: 'notifications',
  cases: [...sending, ...pools, ...settlingThem, ...losing],
};
