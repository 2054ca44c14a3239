import assert from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import { Deadline, uniqueId } from '@ebbgate/core';
import { type Case, type Group, test, testWith } from '../case.js';
import { later } from '../later.js';
import { expectRuns } from '../runs.js';
import { bytesOf, numbered, requestBytes, textMessage, toServer, toTopic } from '../test-message.js';

/** A body arrives byte for byte. */
function carries(what: string, bytes: Uint8Array): Case {
  return test(`the body arrives as it was sent: ${what} (CORE-06)`, async (lab) => {
    const { sender, receiver } = await lab.pair();
    const source = lab.source();
    const inbox = await lab.listen(receiver, source);
    await lab.send(sender, toTopic(source), textMessage(bytes));
    const { message } = await inbox.next();
    assert.deepEqual(bytesOf(message), Buffer.from(bytes));
  });
}

function creditIsKept(credit: number): Case {
  return test(`never more than ${String(credit)} unsettled deliveries with that credit (AMQP-01, AMQP-39)`, async (lab) => {
    const { sender, receiver } = await lab.pair();
    const source = lab.source();
    const inbox = await lab.listen(receiver, source, { credit });
    await lab.sendAll(sender, toTopic(source), numbered('m', credit + 3));
    const held = await inbox.take(credit);
    await lab.roundTrips(receiver);
    for (const [settled, delivery] of held.entries()) {
      assert.ok(
        inbox.received.length <= credit + settled,
        `${String(inbox.received.length - settled)} are unsettled`,
      );
      assert.equal(await delivery.accept(), true);
    }
    for (let left = 3; left > 0; left -= 1) await inbox.acceptNext();
  });
}

const rpc: readonly Case[] = [
  test('RPC: each cast runs once (AMQP-03, AMQP-29)', async (lab) => {
    const { sender, receiver } = await lab.pair();
    const target = lab.source();
    const seen: unknown[] = [];
    await lab.serve(receiver, target, {
      note: (_: unknown, { n }: { n: number }) => seen.push(n),
      last: () => new Set(seen).size,
    });
    const client = lab.client(sender, target);
    const all = Array.from({ length: 50 }, (_, n) => n);
    await lab.until(Promise.all(all.map((n) => client.cast({}, 'note', { n }))), '50 casts');
    await lab.repeat(
      () => client.call({}, 'last'),
      (count) => count === 50,
      '50 runs',
    );
    expectRuns(lab, seen, all);
  }),

  test('RPC: a malformed message is refused once, and the server goes on (AMQP-29, AMQP-30)', async (lab) => {
    const { sender, receiver } = await lab.pair();
    const target = lab.source();
    const server = await lab.serve(receiver, target, { ping: () => 'pong' }, { slots: 1 });
    const dropped: string[] = [];
    receiver.events.on('dropped', ({ reason }) => dropped.push(reason));
    for (const garbage of ['{', '[]', '{"args":{}}']) await lab.send(sender, toServer(target), garbage);
    const client = lab.client(sender, target).prepare({ server: target.server });
    await lab.repeat(
      () => client.call({}, 'ping'),
      () => dropped.length >= 3,
      'three refusals',
    );
    assert.deepEqual(dropped, ['malformed', 'malformed', 'malformed']);
    assert.equal(server.counts.malformed, 3);
  }),

  test('RPC: a message that is sent twice under one id runs once (RPC-19)', async (lab) => {
    const { sender, receiver } = await lab.pair();
    const target = lab.source();
    let runs = 0;
    const server = await lab.serve(receiver, target, { count: () => (runs += 1), ping: () => 'pong' });
    const request = (): ReturnType<typeof textMessage> => textMessage(requestBytes('count', id), { id });
    const id = uniqueId();
    await lab.send(sender, toServer(target), request());
    await lab.send(sender, toServer(target), request());
    const client = lab.client(sender, target).prepare({ server: target.server });
    await lab.repeat(
      () => client.call({}, 'ping'),
      () => server.counts.duplicate > 0,
      'a duplicate to be dropped',
    );
    assert.equal(runs, 1);
  }),

  test('RPC: handlers that fail give their slot back (AMQP-36)', async (lab) => {
    const { sender, receiver } = await lab.pair();
    const target = lab.source();
    const fail = (): never => {
      throw new TypeError('on purpose');
    };
    await lab.serve(receiver, target, { fail, ping: () => 'pong' }, { slots: 1, prefetch: 1 });
    const client = lab.client(sender, target);
    const calls = Array.from({ length: 4 }, () => later(client.call({}, 'fail')));
    for (const call of calls) await lab.until(assert.rejects(call, TypeError), 'a failing call');
    assert.equal(await lab.until(client.call({}, 'ping'), 'a call'), 'pong');
  }),
];

export const delivery: Group = {
  name: 'delivery',
  cases: [
    carries(
      'every byte',
      Uint8Array.from({ length: 256 }, (_, byte) => byte),
    ),
    carries('no bytes', new Uint8Array()),
    carries('text beyond ASCII', Buffer.from('größer ≥ 1 · 仕事 · 🌊')),

    test('id and deadline arrive with the message, and none where none was sent (RPC-02, RPC-19)', async (lab) => {
      const { sender, receiver } = await lab.pair();
      const source = lab.source();
      const inbox = await lab.listen(receiver, source);
      const id = uniqueId();
      const deadline = Deadline.after(60_000);
      await lab.send(sender, toTopic(source), textMessage('with', { id, deadline }));
      const { message } = await inbox.next();
      assert.ok(message.id === id || message.id === undefined, 'another id'); // a wire may keep it in the body
      assert.ok(message.deadline, 'the deadline is lost');
      assert.ok(
        Math.abs(message.deadline.epochMs - deadline.epochMs) < 1000,
        'the deadline is not the one that was sent',
      );
      await lab.send(sender, toTopic(source), textMessage('without'));
      assert.equal((await inbox.next()).message.deadline, undefined);
    }),

    test('a message is at the broker once publish() has resolved, whatever becomes of its sender (AMQP-02)', async (lab) => {
      const { sender, receiver } = await lab.pair();
      const source = lab.source();
      await lab.declare(receiver, source);
      await lab.send(sender, toTopic(source), 'stored');
      await lab.until(sender.close(), 'close()');
      const inbox = await lab.listen(receiver, source);
      assert.equal(await inbox.acceptNext(), 'stored');
    }),

    test('messages that are sent at the same time arrive once each (AMQP-02)', async (lab) => {
      const { sender, receiver } = await lab.pair();
      const source = lab.source();
      const inbox = await lab.listen(receiver, source, { credit: 10, settling: 'accept' });
      await lab.sendAll(sender, toTopic(source), numbered('m', 200));
      await lab.expectOnce(sender, [inbox], numbered('m', 200));
    }),

    testWith(
      ['ordered'],
      'messages of one sender to one server arrive in their order (CORE-06)',
      async (lab) => {
        const { sender, receiver } = await lab.pair();
        const source = lab.source();
        const inbox = await lab.listen(receiver, source, { credit: 5, settling: 'accept' });
        for (const text of numbered('m', 50)) await lab.send(sender, toServer(source), text);
        await inbox.arrived(50);
        assert.deepEqual(inbox.texts, numbered('m', 50));
      },
    ),

    test('nothing is delivered from within another call of the driver (CORE-01)', async (lab) => {
      const transport = await lab.transport();
      const source = lab.source();
      const inbox = await lab.listen(transport, source, { credit: 1 });
      let within = 0;
      const watched = <T>(call: () => T): T => {
        const before = inbox.received.length;
        const outcome = call();
        within += inbox.received.length - before;
        return outcome;
      };
      const sent = numbered('m', 4).map((text) => watched(() => lab.send(transport, toServer(source), text)));
      await Promise.all(sent);
      const first = await inbox.next();
      const paused = watched(() => inbox.listener.pause());
      watched(() => void first.accept());
      await lab.until(paused, 'pause()');
      await lab.until(
        watched(() => inbox.listener.resume()),
        'resume()',
      );
      for (let index = 0; index < 3; index += 1) {
        const delivery = await inbox.next();
        watched(() => void delivery.accept());
      }
      assert.equal(within, 0);
    }),

    test('a delivery does not run in the async context of its sender (CORE-06)', async (lab) => {
      const transport = await lab.transport();
      const target = lab.source();
      const storage = new AsyncLocalStorage<string>();
      await lab.serve(transport, target, { context: () => storage.getStore() ?? 'none' });
      const client = lab.client(transport, target);
      const answer = storage.run('of the sender', () => client.call({}, 'context'));
      assert.equal(await lab.until(answer, 'a call'), 'none');
    }),

    creditIsKept(1),
    creditIsKept(3),
    ...rpc,
  ],
};
