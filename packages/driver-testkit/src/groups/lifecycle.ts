import assert from 'node:assert/strict';
import { MessagingError, sourceNames } from '@ebbgate/core';
import { RpcServer } from '@ebbgate/rpc';
import { type Case, type Group, test } from '../case.js';
import { Gate } from '../gate.js';
import { later } from '../later.js';
import { numbered, toServer, toTopic } from '../test-message.js';
import { failsWhenClosed, failsWith } from '../traits.js';

const listener: readonly Case[] = [
  test('once listen() has resolved, messages of anybody arrive (AMQP-23)', async (lab) => {
    const receiver = await lab.transport();
    const source = lab.source();
    const inbox = await lab.listen(receiver, source, { settling: 'accept' });
    const senders = [receiver, await lab.transport(), await lab.transport()];
    const texts = numbered('m', senders.length);
    await Promise.all(senders.map((sender, index) => lab.send(sender, toTopic(source), texts[index] ?? '')));
    await lab.expectOnce(receiver, [inbox], texts);
  }),

  test('what is sent after stop() has resolved goes to siblings (AMQP-38)', async (lab) => {
    const { sender, receiver } = await lab.pair();
    const source = lab.source();
    const inbox = await lab.listen(receiver, source, { settling: 'accept' });
    const sibling = await lab.listen(receiver, lab.source({ ...source, server: lab.name('b') }), {
      settling: 'accept',
    });
    await lab.until(inbox.listener.stop(), 'stop()');
    const before = inbox.received.length;
    await lab.sendAll(sender, toTopic(source), numbered('m', 20));
    await lab.expectOnce(sender, [sibling], numbered('m', 20));
    assert.equal(inbox.received.length, before);
  }),

  test('what is sent after stop() waits at the broker: it deletes no queue (AMQP-38, GS-15)', async (lab) => {
    const { sender, receiver } = await lab.pair();
    const source = lab.source();
    const inbox = await lab.listen(receiver, source);
    await lab.until(inbox.listener.stop(), 'stop()');
    await lab.send(sender, toServer(source), 'for its return');
    await lab.roundTrips(receiver);
    assert.equal(inbox.received.length, 0);
    await lab.until(inbox.listener.close(), 'close()');
    const next = await lab.listen(receiver, source);
    assert.equal(await next.acceptNext(), 'for its return');
  }),

  test('deliveries can be settled after stop() (AMQP-39)', async (lab) => {
    const { sender, receiver } = await lab.pair();
    const source = lab.source();
    const inbox = await lab.listen(receiver, source);
    await lab.send(sender, toServer(source), 'fetched');
    const delivery = await inbox.next();
    await lab.until(inbox.listener.stop(), 'stop()');
    assert.equal(await delivery.accept(), true);
    await lab.until(inbox.listener.close(), 'close()');
    const next = await lab.listen(receiver, source);
    await lab.send(sender, toServer(source), 'fresh');
    assert.equal(await next.acceptNext(), 'fresh');
  }),

  test('a stop is not taken back by resume() (AMQP-38)', async (lab) => {
    const { sender, receiver } = await lab.pair();
    const source = lab.source();
    const inbox = await lab.listen(receiver, source);
    await lab.until(inbox.listener.stop(), 'stop()');
    await lab.until(inbox.listener.resume(), 'resume()');
    await lab.send(sender, toServer(source), 'not for it');
    await lab.roundTrips(receiver);
    assert.equal(inbox.received.length, 0);
  }),

  test('pause() keeps messages at the broker until resume() (AMQP-39)', async (lab) => {
    const { sender, receiver } = await lab.pair();
    const source = lab.source();
    const inbox = await lab.listen(receiver, source);
    await lab.until(inbox.listener.pause(), 'pause()');
    await lab.send(sender, toServer(source), 'kept');
    await lab.roundTrips(receiver);
    assert.equal(inbox.received.length, 0);
    await lab.until(inbox.listener.resume(), 'resume()');
    assert.equal(await inbox.acceptNext(), 'kept');
  }),

  test('pause() and resume() in quick turns end in the last state, with nothing lost (CORE-01)', async (lab) => {
    const { sender, receiver } = await lab.pair();
    const source = lab.source();
    const inbox = await lab.listen(receiver, source, { credit: 2, settling: 'accept' });
    const turns: Promise<unknown>[] = [];
    for (const text of numbered('m', 20)) {
      turns.push(inbox.listener.pause(), lab.send(sender, toServer(source), text), inbox.listener.resume());
    }
    await lab.until(Promise.all(turns), 'pause() and resume()');
    await lab.expectOnce(sender, [inbox], numbered('m', 20));
  }),

  test('stop, pause, resume and close of a listener may come in any order, and together (CORE-01, CORE-02)', async (lab) => {
    const { sender, receiver } = await lab.pair();
    const source = lab.source();
    const { listener: it } = await lab.listen(receiver, source);
    await lab.until(
      Promise.all([it.resume(), it.pause(), it.pause(), it.stop(), it.stop(), it.pause()]),
      'overlapping calls',
    );
    await lab.until(Promise.all([it.close(), it.close(), it.stop(), it.resume()]), 'overlapping calls');
    await lab.until(Promise.all([it.pause(), it.resume(), it.stop(), it.close()]), 'calls after close()');
    const next = await lab.listen(receiver, source);
    await lab.send(sender, toServer(source), 'fresh');
    assert.equal(await next.acceptNext(), 'fresh');
  }),

  test('close() says that nothing is unconfirmed, and nothing arrives after it (AMQP-39, AMQP-40)', async (lab) => {
    const { sender, receiver } = await lab.pair();
    const source = lab.source();
    const inbox = await lab.listen(receiver, source);
    await lab.send(sender, toServer(source), 'accepted');
    await inbox.acceptNext();
    assert.deepEqual(await lab.until(inbox.listener.close(), 'close()'), []);
    await lab.send(sender, toServer(source), 'for its return');
    await lab.roundTrips(receiver);
    assert.equal(inbox.received.length, 1);
  }),

  test('status() tells which listeners are subscribed (AMQP-08)', async (lab) => {
    const transport = await lab.transport();
    const source = lab.source();
    const { listener: it } = await lab.listen(transport, source);
    const subscribed = (): boolean | undefined =>
      transport.status().listeners.find((each) => sourceNames(each.source).server === source.server)
        ?.subscribed;
    assert.equal(subscribed(), true);
    await lab.until(it.pause(), 'pause()');
    assert.equal(subscribed(), false);
    await lab.until(it.resume(), 'resume()');
    assert.equal(subscribed(), true);
    await lab.until(it.stop(), 'stop()');
    assert.notEqual(subscribed(), true);
    await lab.until(it.close(), 'close()');
    assert.equal(subscribed(), undefined);
  }),
];

const transports: readonly Case[] = [
  test('the features of the driver are those that the suite was told (style rule 22)', async (lab) => {
    const transport = await lab.transport();
    assert.deepEqual({ ...transport.features }, { ...lab.features });
    assert.ok(transport.features.maxMessageBytes > 0);
  }),

  test('the connection is told as it comes and goes (AMQP-08)', async (lab) => {
    const transport = await lab.unconnected();
    const states: string[] = [];
    transport.events.on('connection', ({ state }) => states.push(state));
    assert.equal(transport.status().connection, 'idle');
    await lab.until(transport.connect(), 'connect()');
    assert.equal(transport.status().connection, 'connected');
    await lab.until(transport.close(), 'close()');
    assert.equal(transport.status().connection, 'closed');
    assert.deepEqual([states.includes('connected'), states.at(-1)], [true, 'closed']);
  }),

  test('a transport connects when it is first used (CORE-02)', async (lab) => {
    const [sender, receiver] = [await lab.unconnected(), await lab.unconnected()];
    const source = lab.source();
    const inbox = await lab.listen(receiver, source);
    await lab.send(sender, toTopic(source), 'first');
    assert.equal(await inbox.acceptNext(), 'first');
  }),

  test('close() may come at any time, and more than once (CORE-02)', async (lab) => {
    const [idle, connecting, busy] = [
      await lab.unconnected(),
      await lab.unconnected(),
      await lab.transport(),
    ];
    const source = lab.source();
    await lab.listen(busy, source);
    const connected = connecting.connect().catch((error: unknown) => error);
    const ends = [idle, connecting, busy].flatMap((each) => [each.close(), each.close()]);
    await lab.until(Promise.all(ends), 'close()');
    const outcome = await lab.until(connected, 'connect()');
    assert.ok(
      outcome === undefined || (outcome instanceof MessagingError && outcome.code === 'ERR_TRANSPORT_CLOSED'),
    );
    assert.deepEqual([idle.state, connecting.state, busy.state], ['closed', 'closed', 'closed']);
    assert.deepEqual(busy.status().listeners, []);
  }),

  test('a closed transport receives nothing more, and what it had not settled is not lost (CORE-05, AMQP-39)', async (lab) => {
    const { sender, receiver } = await lab.pair();
    const source = lab.source();
    const inbox = await lab.listen(receiver, source, { credit: 2 });
    await lab.sendAll(sender, toTopic(source), numbered('m', 6));
    await inbox.take(2);
    const before = inbox.received.length;
    await lab.until(receiver.close(), 'close()');
    const next = await lab.listen(sender, source, { settling: 'accept' });
    await lab.expectOnce(sender, [next], numbered('m', 6));
    assert.equal(inbox.received.length, before);
  }),

  failsWhenClosed('connect()', (_lab, transport) => transport.connect()),
  failsWhenClosed('publish()', (lab, transport) => lab.send(transport, toTopic(lab.source()), 'too late')),
  failsWhenClosed('listen()', (lab, transport) => lab.listen(transport, lab.source())),
  failsWhenClosed('openReplyQueue()', (_lab, transport) => transport.openReplyQueue(() => undefined)),
  failsWhenClosed('RPC: call()', (lab, transport) => lab.client(transport, lab.source()).call({}, 'method')),
  failsWhenClosed('RPC: cast()', (lab, transport) => lab.client(transport, lab.source()).cast({}, 'method')),
  failsWhenClosed('RPC: start() of a server, by its cause,', async (lab, transport) => {
    const error = await failsWith(
      lab,
      'ERR_SERVER_LISTEN',
      new RpcServer(transport, lab.source(), []).start(),
      'start()',
    );
    assert.ok(error.cause instanceof Error);
    return Promise.reject(error.cause);
  }),

  test('RPC: close() rejects the calls that wait, at once (RPC-01)', async (lab) => {
    const { sender, receiver } = await lab.pair();
    const target = lab.source();
    const entered = new Gate();
    const gate = new Gate();
    lab.onEnd(() => {
      gate.open();
    });
    const hold = (): Promise<void> => {
      entered.open();
      return gate.opened;
    };
    await lab.serve(receiver, target, { hold });
    const call = lab.client(sender, target).call({}, 'hold');
    const failed = later(failsWith(lab, 'ERR_TRANSPORT_CLOSED', call, 'call()'));
    await lab.until(entered.opened, 'the handler to run');
    await lab.until(sender.close(), 'close()');
    await failed;
  }),
];

export const lifecycle: Group = { name: 'lifecycle', cases: [...listener, ...transports] };
