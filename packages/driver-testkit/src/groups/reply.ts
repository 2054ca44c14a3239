import assert from 'node:assert/strict';
import { decodeJson, encodeJson, type ReplyQueue, type Transport } from '@ebbgate/core';
import { NoSuchMethodError, RemoteError } from '@ebbgate/rpc';
import { type Case, type Group, test, testWith } from '../case.js';
import { Gate } from '../gate.js';
import type { Lab } from '../lab.js';
import { later } from '../later.js';
import { openReplies } from '../replies.js';
import { expectRuns } from '../runs.js';
import { numbered, toReply, toTopic } from '../test-message.js';
import { failsWith } from '../traits.js';

/** A reply to an address that is gone is told to its sender. */
function gone(
  what: string,
  end: (lab: Lab, transport: Transport, queue: ReplyQueue) => Promise<unknown>,
): Case {
  return testWith(['undeliverable'], `a reply is undeliverable ${what} (AMQP-33, AMQP-37)`, async (lab) => {
    const { sender, receiver } = await lab.pair();
    const { queue, texts } = await openReplies(lab, receiver);
    await lab.until(end(lab, receiver, queue), 'the end of the reply queue');
    await failsWith(
      lab,
      'ERR_UNDELIVERABLE',
      lab.send(sender, toReply(queue.address), 'too late'),
      'publish()',
    );
    await lab.roundTrips(sender);
    assert.deepEqual(texts, []);
  });
}

/** Every result of a method is a reply. */
function isReply(what: string, result: unknown, expected: unknown = result): Case {
  return test(`RPC: ${what} is a result (RPC-05)`, async (lab) => {
    const { sender, receiver } = await lab.pair();
    const target = lab.source();
    await lab.serve(receiver, target, { give: () => result });
    assert.deepEqual(await lab.until(lab.client(sender, target).call({}, 'give'), 'a call'), expected);
  });
}

class OddError extends Error {}

const values = {
  text: 'größer ≥ 1 🌊',
  integer: 2n ** 70n,
  fraction: 0.1,
  nothing: null,
  date: new Date(0),
  bytes: Buffer.from([0, 1, 255]),
  map: new Map([['key', [1, 2]]]),
  set: new Set(['a']),
  left_out: undefined,
  hole: [1, undefined, 3],
  ['__proto__']: 'a name like any other',
};

const raw: readonly Case[] = [
  test('a reply reaches the queue whose address it was sent to, and no other (RPC-06)', async (lab) => {
    const { sender, receiver } = await lab.pair();
    const mine = await openReplies(lab, receiver);
    const other = await openReplies(lab, await lab.transport());
    await lab.send(sender, toReply(mine.queue.address), 'mine');
    await lab.send(sender, toReply(other.queue.address), 'other');
    await mine.arrived(1);
    await other.arrived(1);
    assert.deepEqual([mine.texts, other.texts], [['mine'], ['other']]);
  }),

  test('addresses are all different and hard to guess (SEC-01)', async (lab) => {
    const addresses = new Set<string>();
    for (let count = 0; count < 5; count += 1) {
      const { queue } = await openReplies(lab, await lab.transport());
      assert.ok(queue.address.length >= 22, 'an address holds fewer than 128 random bits');
      addresses.add(queue.address);
    }
    assert.equal(addresses.size, 5);
  }),

  test('many replies at the same time arrive once each (RPC-06)', async (lab) => {
    const { sender, receiver } = await lab.pair();
    const { queue, texts, arrived } = await openReplies(lab, receiver);
    await lab.sendAll(sender, toReply(queue.address), numbered('r', 200));
    await arrived(200);
    assert.deepEqual(texts.sort(), numbered('r', 200).sort());
  }),

  test('replies do not wait for the credit of a listener (RPC-18)', async (lab) => {
    const { sender, receiver } = await lab.pair();
    const source = lab.source();
    const inbox = await lab.listen(receiver, source, { credit: 1 });
    await lab.sendAll(sender, toTopic(source), numbered('m', 10));
    const held = await inbox.next();
    const { queue, arrived } = await openReplies(lab, receiver);
    await lab.sendAll(sender, toReply(queue.address), numbered('r', 10));
    await arrived(10);
    assert.equal(await held.accept(), true);
  }),

  testWith(
    ['undeliverable'],
    'a reply to an address that never was is undeliverable (AMQP-25)',
    async (lab) => {
      const transport = await lab.transport();
      const work = lab.send(transport, toReply(`reply_${lab.name('nobody')}`), 'for nobody');
      await failsWith(lab, 'ERR_UNDELIVERABLE', work, 'publish()');
    },
  ),

  gone('after the close of its queue', async (_lab, _transport, queue) => queue.close()),
  gone('after the close of its transport', async (_lab, transport) => transport.close()),
];

const rpc: readonly Case[] = [
  isReply('null', null),
  isReply('undefined', undefined, null),
  isReply('false', false),
  isReply('0', 0),
  isReply('the empty text', ''),
  isReply('the empty list', []),
  isReply('the empty object', {}),

  test('RPC: calls at the same time each get their own answer (RPC-06)', async (lab) => {
    const { sender, receiver } = await lab.pair();
    const target = lab.source();
    await lab.serve(receiver, target, { echo: (_: unknown, { n }: { n: number }) => n });
    const client = lab.client(sender, target);
    const all = Array.from({ length: 200 }, (_, n) => n);
    assert.deepEqual(
      await lab.until(Promise.all(all.map((n) => client.call({}, 'echo', { n }))), '200 calls'),
      all,
    );
  }),

  test('RPC: a handler that calls gets its answer although all slots are taken (RPC-18)', async (lab) => {
    const { sender, receiver } = await lab.pair();
    const outer = lab.source();
    const inner = lab.source();
    const nested = lab.client(receiver, inner);
    await lab.serve(receiver, inner, { leaf: () => 'leaf' }, { slots: 1, prefetch: 1 });
    await lab.serve(receiver, outer, { via: () => nested.call({}, 'leaf') }, { slots: 1, prefetch: 1 });
    const calls = Array.from({ length: 5 }, () => lab.client(sender, outer).call({}, 'via'));
    assert.deepEqual(await lab.until(Promise.all(calls), 'nested calls'), Array(5).fill('leaf'));
  }),

  test('RPC: errors keep their identity (RPC-16, SEC-01)', async (lab) => {
    const { sender, receiver } = await lab.pair();
    const target = lab.source();
    const raise = (_: unknown, { odd }: { odd: boolean }): never => {
      throw odd ? new OddError('odd') : new TypeError('plain');
    };
    await lab.serve(receiver, target, { raise });
    const client = lab.client(sender, target);
    await lab.until(assert.rejects(client.call({}, 'raise', { odd: false }), TypeError), 'a TypeError');
    const odd = await failsWith(lab, 'ERR_REMOTE', client.call({}, 'raise', { odd: true }), 'call()');
    assert.ok(odd instanceof RemoteError);
    assert.deepEqual([odd.remoteType, odd.remoteMessage, odd.outcome], ['OddError', 'odd', 'answered']);
  }),

  test('RPC: an unknown method or version is told at once (RPC-12)', async (lab) => {
    const { sender, receiver } = await lab.pair();
    const target = lab.source();
    await lab.serve(receiver, target, { known: () => true });
    const client = lab.client(sender, target);
    const error = await failsWith(lab, 'ERR_NO_SUCH_METHOD', client.call({}, 'unknown'), 'call()');
    assert.ok(error instanceof NoSuchMethodError);
    await failsWith(
      lab,
      'ERR_UNSUPPORTED_VERSION',
      client.prepare({ version: '7.0' }).call({}, 'known'),
      'call()',
    );
  }),

  test('RPC: a result that cannot be sent is an error of the call, at once (RPC-17)', async (lab) => {
    const { sender, receiver } = await lab.pair();
    const target = lab.source();
    await lab.serve(receiver, target, {
      bad: () => ({ deep: [1n, () => 'a function'] }),
      good: () => 'good',
    });
    const client = lab.client(sender, target);
    await lab.until(assert.rejects(client.call({}, 'bad')), 'the failure of a call');
    assert.equal(await lab.until(client.call({}, 'good'), 'a call'), 'good');
  }),

  test('RPC: caller and handler never share an object (CORE-06)', async (lab) => {
    const transport = await lab.transport();
    const target = lab.source();
    const kept: number[][] = [];
    const change = (_: unknown, { list }: { list: number[] }): number[] => {
      list.push(2);
      kept.push(list);
      return list;
    };
    await lab.serve(transport, target, { change });
    const list = [1];
    const result = await lab.until(lab.client(transport, target).call({}, 'change', { list }), 'a call');
    assert.deepEqual([list, result], [[1], [1, 2]]);
    (result as number[]).push(3); // a list: compared above
    expectRuns(lab, kept, [[1, 2]]);
  }),

  test('RPC: each kind of value arrives as JSON text would bring it (CORE-06, SEC-06)', async (lab) => {
    const { sender, receiver } = await lab.pair();
    const target = lab.source();
    let seen: unknown;
    await lab.serve(receiver, target, {
      echo: (_: unknown, { value }: { value: unknown }) => {
        seen = value;
        return value;
      },
    });
    const back = await lab.until(lab.client(sender, target).call({}, 'echo', { value: values }), 'a call');
    const expected = decodeJson(encodeJson(values));
    assert.deepEqual(seen, expected);
    assert.deepEqual(back, expected);
  }),

  test('RPC: signs of life keep a monitored call alive, their absence ends it (RPC-04)', async (lab) => {
    const { sender, receiver } = await lab.pair();
    const target = lab.source();
    const gate = new Gate();
    lab.onEnd(() => {
      gate.open();
    });
    await lab.serve(receiver, target, { wait: () => gate.opened.then(() => 'done') });
    const monitored = lab.client(sender, target).prepare({ callMonitorTimeoutMs: lab.waitMs / 3 });
    const alive = later(monitored.call({}, 'wait'));
    await lab.clockPasses(lab.waitMs / 2);
    gate.open();
    assert.equal(await lab.until(alive, 'a monitored call'), 'done');
    const deaf = lab.source();
    await lab.declare(receiver, deaf);
    const dead = lab.client(sender, deaf).prepare({ callMonitorTimeoutMs: 50 }).call({}, 'wait');
    await failsWith(lab, 'ERR_TIMEOUT', dead, 'call()');
  }),
];

export const reply: Group = { name: 'reply', cases: [...raw, ...rpc] };
