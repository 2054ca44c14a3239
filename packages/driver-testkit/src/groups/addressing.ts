import assert from 'node:assert/strict';
import { type Case, type Group, test, testWith } from '../case.js';
import type { Lab } from '../lab.js';
import { numbered, toServer, toTopic } from '../test-message.js';
import { failsWith } from '../traits.js';

/** Two places that differ in one part only never receive each other's messages. */
function apart(part: 'exchange' | 'topic' | 'server'): Case {
  const title = `two destinations that differ in the ${part} alone share no message (CORE-06)`;
  return testWith(['isolatedNames'], title, async (lab) => {
    const { sender, receiver } = await lab.pair();
    const here = lab.source();
    const there = lab.source({ ...here, [part]: lab.name(part) });
    const inboxes = [
      await lab.listen(receiver, here, { settling: 'accept' }),
      await lab.listen(receiver, there, { settling: 'accept' }),
    ] as const;
    const destination = part === 'server' ? toServer : toTopic;
    await lab.sendAll(sender, destination(here), numbered('here', 5));
    await lab.sendAll(sender, destination(there), numbered('there', 5));
    await lab.expectOnce(sender, [inboxes[0]], numbered('here', 5));
    await lab.expectOnce(sender, [inboxes[1]], numbered('there', 5));
  });
}

/** A destination of a server that is down keeps its messages for it. */
function waitsForItsServer(kind: 'topic' | 'server'): Case {
  const title = `a message for a ${kind} whose server has closed waits for its return (GS-16, GS-75)`;
  return test(title, async (lab) => {
    const { sender, receiver } = await lab.pair();
    const source = lab.source();
    await lab.declare(receiver, source);
    await lab.send(sender, kind === 'topic' ? toTopic(source) : toServer(source), 'kept');
    const inbox = await lab.listen(receiver, source);
    assert.equal(await inbox.acceptNext(), 'kept');
  });
}

/** A named method that tells which server ran it. */
function whoami(name: string): { whoami: () => string } {
  return { whoami: () => name };
}

async function callUnknown(lab: Lab, known: boolean): Promise<void> {
  const { sender, receiver } = await lab.pair();
  const target = lab.source();
  if (known) await lab.serve(receiver, target, whoami('other'));
  const client = lab.client(sender, target).prepare({ server: lab.name('nobody') });
  const error = await failsWith(lab, 'ERR_UNDELIVERABLE', client.call({}, 'whoami'), 'call()');
  assert.equal(error.outcome, 'not-sent');
}

export const addressing: Group = {
  name: 'addressing',
  cases: [
    test('a message for a topic reaches the server that listens on it (AMQP-23)', async (lab) => {
      const { sender, receiver } = await lab.pair();
      const source = lab.source();
      const inbox = await lab.listen(receiver, source);
      await lab.send(sender, toTopic(source), 'hello');
      assert.equal(await inbox.acceptNext(), 'hello');
    }),

    test('a transport receives what it has sent itself (CORE-06)', async (lab) => {
      const transport = await lab.transport();
      const source = lab.source();
      const inbox = await lab.listen(transport, source);
      await lab.send(transport, toServer(source), 'to myself');
      assert.equal(await inbox.acceptNext(), 'to myself');
    }),

    test('each message for a topic reaches one of its servers, once (CORE-06)', async (lab) => {
      const { sender, receiver } = await lab.pair();
      const first = lab.source();
      const second = lab.source({ ...first, server: lab.name('second') });
      const inboxes = [
        await lab.listen(receiver, first, { settling: 'accept' }),
        await lab.listen(await lab.transport(), second, { settling: 'accept' }),
      ];
      await lab.sendAll(sender, toTopic(first), numbered('shared', 40));
      await lab.expectOnce(sender, inboxes, numbered('shared', 40));
    }),

    test('a server whose credit is used up leaves messages of the topic to its siblings (AMQP-39)', async (lab) => {
      const { sender, receiver } = await lab.pair();
      const first = lab.source();
      const busy = await lab.listen(receiver, first, { credit: 1 });
      const idle = await lab.listen(receiver, lab.source({ ...first, server: lab.name('idle') }), {
        credit: 1,
      });
      await lab.sendAll(sender, toTopic(first), ['one', 'two']);
      const held = [await busy.next(), await idle.next()];
      assert.deepEqual(await Promise.all(held.map(async (delivery) => delivery.accept())), [true, true]);
      assert.deepEqual([...busy.texts, ...idle.texts].sort(), ['one', 'two']);
    }),

    test('a message for a server reaches that server and no sibling (CORE-06)', async (lab) => {
      const { sender, receiver } = await lab.pair();
      const first = lab.source();
      const second = lab.source({ ...first, server: lab.name('second') });
      const inboxes = [
        await lab.listen(receiver, first, { settling: 'accept' }),
        await lab.listen(receiver, second, { settling: 'accept' }),
      ] as const;
      await lab.sendAll(sender, toServer(first), numbered('first', 10));
      await lab.sendAll(sender, toServer(second), numbered('second', 10));
      await lab.expectOnce(sender, [inboxes[0]], numbered('first', 10));
      await lab.expectOnce(sender, [inboxes[1]], numbered('second', 10));
    }),

    test('one listener receives what is for its topic and what is for itself (CORE-06)', async (lab) => {
      const { sender, receiver } = await lab.pair();
      const source = lab.source();
      const inbox = await lab.listen(receiver, source, { settling: 'accept' });
      await lab.send(sender, toTopic(source), 'for the topic');
      await lab.send(sender, toServer(source), 'for the server');
      await lab.expectOnce(sender, [inbox], ['for the server', 'for the topic']);
    }),

    apart('exchange'),
    apart('topic'),
    apart('server'),
    waitsForItsServer('topic'),
    waitsForItsServer('server'),

    testWith(
      ['undeliverable'],
      'a topic that was never listened on is undeliverable, at once (AMQP-33)',
      async (lab) => {
        const transport = await lab.transport();
        const work = lab.send(transport, toTopic(lab.source()), 'for nobody');
        const error = await failsWith(lab, 'ERR_UNDELIVERABLE', work, 'publish()');
        assert.equal(error.outcome, 'not-sent');
      },
    ),

    testWith(
      ['undeliverable'],
      'a server that was never there is undeliverable, although its topic is (AMQP-33)',
      async (lab) => {
        const { sender, receiver } = await lab.pair();
        const source = lab.source();
        await lab.listen(receiver, source);
        const work = lab.send(sender, toServer({ ...source, server: lab.name('nobody') }), 'for nobody');
        await failsWith(lab, 'ERR_UNDELIVERABLE', work, 'publish()');
      },
    ),

    test('an undeclared destination is no error for a message that is not mandatory (AMQP-33)', async (lab) => {
      const { sender, receiver } = await lab.pair();
      const source = lab.source();
      await lab.send(sender, toServer(source), 'for nobody', { mandatory: false });
      const inbox = await lab.listen(receiver, source);
      await lab.send(sender, toServer(source), 'for somebody', { mandatory: false });
      const texts = [await inbox.acceptNext()];
      if (texts[0] !== 'for somebody') texts.push(await inbox.acceptNext()); // a broker may have kept the first one
      assert.equal(texts.at(-1), 'for somebody');
    }),

    test('RPC: prepare({ server }) reaches that server, a bare topic any (CORE-06)', async (lab) => {
      const { sender, receiver } = await lab.pair();
      const a = lab.source();
      const b = lab.source({ ...a, server: lab.name('b') });
      await lab.serve(receiver, a, whoami('a'));
      await lab.serve(receiver, b, whoami('b'));
      const client = lab.client(sender, a);
      assert.equal(await lab.until(client.prepare({ server: a.server }).call({}, 'whoami'), 'a call'), 'a');
      assert.equal(await lab.until(client.prepare({ server: b.server }).call({}, 'whoami'), 'a call'), 'b');
      assert.match(String(await lab.until(client.call({}, 'whoami'), 'a call')), /^[ab]$/);
    }),

    test('RPC: prepare({ topic }) reaches the other topic, and its parent stays (COMP-05)', async (lab) => {
      const { sender, receiver } = await lab.pair();
      const main = lab.source();
      const ops = lab.source({ ...main, topic: lab.name('ops') });
      await lab.serve(receiver, main, whoami('main'));
      await lab.serve(receiver, ops, whoami('ops'));
      const client = lab.client(sender, main).prepare({ server: main.server });
      assert.equal(await lab.until(client.prepare({ topic: ops.topic }).call({}, 'whoami'), 'a call'), 'ops');
      assert.equal(await lab.until(client.call({}, 'whoami'), 'a call'), 'main');
    }),

    testWith(['undeliverable'], 'RPC: a call to an unknown topic fails at once (AMQP-33)', (lab) =>
      callUnknown(lab, false),
    ),
    testWith(
      ['undeliverable'],
      'RPC: a call to an unknown server of a topic fails at once (AMQP-33)',
      (lab) => callUnknown(lab, true),
    ),

    testWith(
      ['undeliverable'],
      'RPC: a cast to nobody says so, and with atLeastOnce: false does not (AMQP-03, AMQP-33)',
      async (lab) => {
        const transport = await lab.transport();
        const client = lab.client(transport, lab.source());
        await failsWith(lab, 'ERR_UNDELIVERABLE', client.cast({}, 'anything'), 'cast()');
        const lax = client.prepare({ transportOptions: { atLeastOnce: false } });
        await lab.until(lax.cast({}, 'anything'), 'cast()');
      },
    ),
  ],
};
