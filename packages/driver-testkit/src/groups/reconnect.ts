import assert from 'node:assert/strict';
import { sourceNames } from '@ebbgate/core';
import { type Case, type Group, testWith } from '../case.js';
import { Gate } from '../gate.js';
import { later } from '../later.js';
import { openReplies } from '../replies.js';
import { expectCount } from '../runs.js';
import { numbered, textOf, toFanout, toReply, toServer, toTopic } from '../test-message.js';
import { boundToItsChannel, type ChannelLoss, comesAgain, failsWith } from '../traits.js';

const cutAndBack: ChannelLoss = {
  when: 'after its connection was lost',
  ids: 'AMQP-11, AMQP-09',
  needs: ['faults'],
  lose: async (lab, { sender, receiver, inbox }) => {
    await lab.cut(sender, receiver);
    await lab.restore(sender, receiver);
    await lab.subscribed(receiver);
    return inbox;
  },
};

const listening: readonly Case[] = [
  testWith(
    ['faults'],
    'a listener comes back by itself after any number of losses (AMQP-09, REDIS-09)',
    async (lab) => {
      const { sender, receiver } = await lab.pair();
      const source = lab.source();
      const inbox = await lab.listen(receiver, source, { settling: 'accept' });
      for (let times = 0; times < 3; times += 1) {
        await lab.cut(sender, receiver);
        await lab.restore(sender, receiver);
      }
      await lab.subscribed(receiver);
      await lab.sendAll(sender, toTopic(source), numbered('m', 10));
      await lab.expectOnce(sender, [inbox], numbered('m', 10));
    },
  ),

  testWith(['faults'], 'the loss of a subscription and its return are told (AMQP-08)', async (lab) => {
    const { sender, receiver } = await lab.pair();
    const source = lab.source();
    await lab.listen(receiver, source);
    await lab.subscribed(receiver);
    const states: string[] = [];
    const subscribed: boolean[] = [];
    receiver.events.on('connection', ({ state }) => states.push(state));
    receiver.events.on('listener', (status) => {
      assert.equal(sourceNames(status.source).server, source.server);
      subscribed.push(status.subscribed);
    });
    await lab.cut(sender, receiver);
    assert.ok(
      receiver.status().listeners.every((each) => !each.subscribed),
      'subscribed without a connection',
    );
    await lab.restore(sender, receiver);
    await lab.subscribed(receiver);
    assert.deepEqual([subscribed[0], subscribed.at(-1)], [false, true]);
    assert.deepEqual([states.includes('disconnected'), states.at(-1)], [true, 'connected']);
  }),

  comesAgain(cutAndBack),
  ...boundToItsChannel(cutAndBack),

  testWith(
    ['faults'],
    'stop() during an outage resolves, and holds after it (AMQP-41, AMQP-38)',
    async (lab) => {
      const { sender, receiver } = await lab.pair();
      const source = lab.source();
      const inbox = await lab.listen(receiver, source);
      await lab.cut(sender, receiver);
      await lab.until(inbox.listener.stop(), 'stop()');
      await lab.restore(sender, receiver);
      await lab.send(sender, toServer(source), 'not for it');
      await lab.roundTrips(receiver);
      assert.equal(inbox.received.length, 0);
    },
  ),

  testWith(['faults'], 'pause() holds over an outage, and resume() ends it (AMQP-41)', async (lab) => {
    const { sender, receiver } = await lab.pair();
    const source = lab.source();
    const inbox = await lab.listen(receiver, source);
    await lab.until(inbox.listener.pause(), 'pause()');
    await lab.cut(sender, receiver);
    await lab.restore(sender, receiver);
    await lab.send(sender, toServer(source), 'kept');
    await lab.roundTrips(receiver);
    assert.equal(inbox.received.length, 0);
    await lab.until(inbox.listener.resume(), 'resume()');
    assert.equal(await inbox.acceptNext(), 'kept');
  }),

  testWith(['faults'], 'listen() during an outage does not claim to listen (AMQP-23)', async (lab) => {
    const { sender, receiver } = await lab.pair();
    const source = lab.source();
    await lab.cut(sender, receiver);
    let early = true;
    const seen: string[] = [];
    const listening = receiver.listen(source, { credit: 10 }, (delivery) => {
      seen.push(textOf(delivery.message));
      void delivery.accept();
    });
    const outcome = listening.then(
      () => (early ? 'claimed' : 'listening'),
      (error: unknown) => error,
    );
    await lab.clockPasses(20);
    early = false;
    await lab.restore(sender, receiver);
    const settled = await lab.until(outcome, 'listen() to settle');
    assert.notEqual(settled, 'claimed', 'listen() has resolved without a broker');
    if (settled === 'listening') return;
    await failsWith(lab, 'ERR_DELIVERY', listening, 'listen()');
  }),

  testWith(
    ['cancelConsumers'],
    'a subscription that the broker ends comes back, and both are told (AMQP-07, AMQP-08)',
    async (lab) => {
      const { sender, receiver } = await lab.pair();
      const source = lab.source();
      const inbox = await lab.listen(receiver, source, { settling: 'accept' });
      const told: boolean[] = [];
      const lost = new Gate();
      receiver.events.on('listener', ({ subscribed }) => {
        told.push(subscribed);
        lost.open();
      });
      await lab.faults.cancelConsumers?.();
      await lab.until(lost.opened, 'the loss to be told');
      await lab.subscribed(receiver);
      await lab.sendAll(sender, toTopic(source), numbered('m', 10));
      await lab.expectOnce(sender, [inbox], numbered('m', 10));
      assert.deepEqual([told[0], told.at(-1)], [false, true]);
    },
  ),
];

const around: readonly Case[] = [
  testWith(['faults'], 'the address for replies stays, and works after the return (AMQP-35)', async (lab) => {
    const { sender, receiver } = await lab.pair();
    const { queue, texts, arrived } = await openReplies(lab, receiver);
    for (let times = 0; times < 2; times += 1) {
      await lab.cut(sender, receiver);
      await lab.restore(sender, receiver);
    }
    await lab.send(sender, toReply(queue.address), 'still here');
    await arrived(1);
    assert.deepEqual(texts, ['still here']);
  }),

  testWith(['faults', 'fanout'], 'fanouts reach every server after the return (AMQP-09)', async (lab) => {
    const { sender, receiver } = await lab.pair();
    const source = lab.source();
    const inboxes = [
      await lab.listen(receiver, source, { settling: 'accept' }),
      await lab.listen(sender, lab.source({ ...source, server: lab.name('b') }), { settling: 'accept' }),
    ];
    await lab.cut(sender, receiver);
    await lab.restore(sender, receiver);
    await lab.subscribed(receiver);
    await lab.subscribed(sender);
    await lab.send(sender, toFanout(source), 'all');
    for (const inbox of inboxes) await lab.expectOnce(sender, [inbox], ['all']);
  }),

  testWith(
    ['faults'],
    'RPC: a call that runs over an outage is answered, and runs once (RPC-01, RPC-19, AMQP-35)',
    async (lab) => {
      const { sender, receiver } = await lab.pair();
      const target = lab.source();
      const gate = new Gate();
      const entered = new Gate();
      let runs = 0;
      const hold = async (): Promise<string> => {
        runs += 1;
        entered.open();
        await gate.opened;
        return 'answered';
      };
      await lab.serve(receiver, target, { hold, follow: () => undefined });
      const client = lab.client(sender, target);
      const answer = later(client.call({}, 'hold'));
      await lab.until(entered.opened, 'the handler to run');
      // The handler may run before the sender knows that its request was taken; by the time of a later one it does.
      await lab.until(client.cast({}, 'follow'), 'a cast');
      await lab.cut(sender, receiver);
      gate.open();
      await lab.restore(sender, receiver);
      assert.equal(await lab.until(answer, 'the answer'), 'answered');
      await lab.subscribed(receiver);
      assert.equal(await lab.until(client.call({}, 'hold'), 'a call'), 'answered');
      expectCount(lab, runs, 2, 'runs');
    },
  ),

  testWith(
    ['faults'],
    'RPC: calls and casts that outlast their time in an outage settle (RPC-01, RPC-07)',
    async (lab) => {
      const { sender, receiver } = await lab.pair();
      const target = lab.source();
      await lab.serve(receiver, target, { ping: () => 'pong' });
      await lab.cut(sender, receiver);
      const client = lab.impatientClient(sender, target, { timeoutMs: 50 });
      const [call, cast] = await lab.until(
        Promise.allSettled([client.call({}, 'ping'), client.cast({}, 'ping')]),
        'both to settle',
      );
      assert.deepEqual([call.status, cast.status], ['rejected', 'rejected']);
      await failsWith(lab, 'ERR_DELIVERY', client.cast({}, 'ping'), 'cast()');
      await lab.restore(sender, receiver);
      await lab.subscribed(receiver);
      assert.equal(await lab.until(lab.client(sender, target).call({}, 'ping'), 'a call'), 'pong');
    },
  ),

  testWith(
    ['faults'],
    'RPC: a server can be stopped and waited for without a broker (AMQP-41, CORE-02)',
    async (lab) => {
      const { sender, receiver } = await lab.pair();
      const server = await lab.serve(receiver, lab.source(), { ping: () => 'pong' });
      await lab.cut(sender, receiver);
      await lab.until(server.stop(), 'stop()');
      const report = await lab.until(server.wait(), 'wait()');
      assert.ok(Array.isArray(report.unconfirmed));
      assert.equal(server.state, 'drained');
    },
  ),
];

export const reconnect: Group = {
  name: 'reconnect',
  cases: [...listening, ...around],
};
