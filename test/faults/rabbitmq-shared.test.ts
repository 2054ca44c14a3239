import type { ServerSource, Transport } from '@ebbgate/core';
import { connect } from 'amqplib';
import { expect } from 'chai';
import { after, afterEach, before, beforeEach, describe, it } from 'mocha';
import { eventually } from '../support/rigs/deadline.js';
import { FaultProxy } from '../support/rigs/fault-proxy.js';
import { RabbitNode } from '../support/rigs/rabbitmq.js';
import { RabbitWitness, WITNESS_PLUGIN } from '../support/rigs/rabbit-witness.js';
import { Bed, type Heard, send, source, toFanout, toServer, toTopic } from './bed.js';

const WAIT_MS = 20_000;
const DURABLE = { amqp_durable_queues: true, connect_timeout: 1 };
const OURS = ['ours 1', 'ours 2', 'ours 3', 'ours 4', 'ours 5'];
const OTHERS = ['theirs 1', 'theirs 2', 'theirs 3'];

describe('what is shared on a RabbitMQ', function () {
  this.timeout(90_000);
  let node: RabbitNode;
  let witness: RabbitWitness;
  let proxy: FaultProxy;
  let bed: Bed;
  let vhost: string;
  let direct: string;
  let where: ServerSource;

  before(async () => {
    node = await RabbitNode.start({ plugins: [WITNESS_PLUGIN] });
    witness = await RabbitWitness.start(node);
  });

  after(() => node.dispose());

  beforeEach(async () => {
    bed = new Bed();
    direct = await node.vhost();
    vhost = decodeURIComponent(new URL(direct).pathname.slice(1));
    proxy = await FaultProxy.start({ port: node.port });
    bed.onEnd(() => proxy.close());
    where = source();
  });

  afterEach(async () => {
    await proxy.heal();
    await bed.end();
  });

  type Channel = Awaited<ReturnType<Awaited<ReturnType<typeof connect>>['createConfirmChannel']>>;

  /** Somebody else on the same broker does something. */
  async function another<T>(does: (channel: Channel) => Promise<T>): Promise<T> {
    const connection = await connect(direct.replace(/^rabbit:/, 'amqp:'));
    try {
      return await does(await connection.createConfirmChannel());
    } finally {
      await connection.close();
    }
  }

  /** Queues, exchanges and bindings of others, some of them on ours, and messages in them. */
  const makeTheirs = (): Promise<void> =>
    another(async (channel) => {
      const limits = { durable: true, arguments: { 'x-max-length': 1000 } };
      await channel.assertExchange('their-exchange', 'direct', { durable: true });
      await channel.assertQueue('their-queue', limits);
      await channel.bindQueue('their-queue', 'their-exchange', 'key');
      await channel.bindQueue('their-queue', where.exchange, 'a key of theirs');
      await channel.bindQueue(where.topic, 'their-exchange', 'to ours');
      await channel.bindExchange('their-exchange', where.exchange, 'from ours');
      for (const text of OTHERS)
        channel.publish('their-exchange', 'key', Buffer.from(text), { persistent: true });
      await channel.waitForConfirms();
    });

  const takeTheirs = (queue: string): Promise<string[]> =>
    another(async (channel) => {
      const texts: string[] = [];
      for (;;) {
        const message = await channel.get(queue, { noAck: true });
        if (!message) return texts;
        texts.push(message.content.toString());
      }
    });

  /** Every object with all that it has, and every binding; without counters. */
  async function objects(): Promise<string[]> {
    const [queues, exchanges, bindings] = await Promise.all([
      node.view.queues(vhost),
      node.view.exchanges(vhost),
      node.view.bindings(vhost),
    ]);
    const named = queues.map(({ name, type, durable, auto_delete, exclusive, arguments: args }) => ({
      ...{ name, type, durable, auto_delete, exclusive, args },
    }));
    return [...named, ...exchanges, ...bindings].map((each) => JSON.stringify(each)).sort();
  }

  /** Private queues come back beside the subscription, a moment later. */
  async function expectObjects(wanted: readonly string[]): Promise<void> {
    const isSo = async (): Promise<boolean> => (await objects()).join() === wanted.join();
    await eventually('the objects', WAIT_MS, isSo).catch(() => undefined);
    const found = await objects();
    const missing = wanted.filter((one) => !found.includes(one));
    const added = found.filter((one) => !wanted.includes(one));
    expect({ missing, added }).to.deep.equal({ missing: [], added: [] });
  }

  /** One that holds two of our five messages, with a server's and a client's private queues, through the proxy. */
  async function holder(): Promise<{ transport: Transport; heard: Heard; replies: { address: string } }> {
    const transport = await bed.connected(proxy.url(direct), DURABLE);
    const heard = await bed.listen(transport, where, false, 2);
    const replies = await transport.openReplyQueue(() => {});
    await makeTheirs();
    for (const text of OURS) await send(transport, toTopic(where), text);
    await eventually('two of them', WAIT_MS, () => heard.deliveries.length === 2);
    return { transport, heard, replies };
  }

  const isBack = (transport: Transport) => () => {
    const { connection, listeners } = transport.status();
    return connection === 'connected' && listeners.every(({ subscribed }) => subscribed);
  };

  /** Nothing is lost: ours come again and can be taken, theirs lie where they lay. */
  async function expectAllMessages({ heard }: { heard: Heard }): Promise<void> {
    const taken: string[] = [];
    await eventually('ours', WAIT_MS, async () => {
      for (const [index, delivery] of heard.deliveries.entries())
        if (await delivery.accept()) taken.push(heard.texts[index] ?? '');
      return taken.length >= OURS.length;
    });
    expect(taken.sort()).to.deep.equal(OURS);
    expect(await takeTheirs('their-queue')).to.deep.equal(OTHERS);
  }

  it('stays as it is through cuts of every kind and closes by an operator, with bindings and messages (AMQP-22)', async () => {
    const one = await holder();
    const { transport } = one;
    const other = await bed.connected(direct, DURABLE); // another process, with private queues of its own
    await bed.listen(other, { ...where, server: `${where.server}-2`, topic: `${where.topic}-2` }, false);
    await other.openReplyQueue(() => {});
    const before = await objects();
    await witness.deletions(vhost);
    const losses: (() => unknown)[] = [
      () => proxy.cut('rst'),
      () => proxy.cut('fin'),
      () => proxy.links.at(-1)?.cut('rst'), // one connection alone
      () => node.view.closeConnections(vhost, 'maintenance'),
      async () => {
        const { accepted } = proxy;
        await proxy.setDoorman('mute');
        proxy.cut('rst');
        await eventually('attempts without an answer', WAIT_MS, () => proxy.accepted >= accepted + 3);
        await proxy.setDoorman('forward');
      },
    ];
    for (const lose of [...losses, ...losses]) {
      let lost = false;
      const deaf = transport.events.on('connection', ({ state }) => void (lost ||= state === 'disconnected'));
      await lose();
      await eventually('the loss', WAIT_MS, () => lost);
      deaf();
      await eventually('the return', WAIT_MS, () => isBack(transport)() && isBack(other)());
    }
    await expectObjects(before);
    expect(await witness.deletions(vhost)).to.deep.equal([]);
    await expectAllMessages(one);
  });

  it('keeps for a private queue what came while its owner was away, and no one deletes it (AMQP-22, AMQP-24)', async () => {
    const { transport, heard } = await holder();
    const other = await bed.connected(direct, DURABLE);
    const before = await objects();
    await proxy.setDoorman('refuse');
    proxy.cut();
    await eventually('the loss', WAIT_MS, () => transport.status().connection !== 'connected');
    await send(other, toFanout(where), 'to all');
    await send(other, toServer(where), 'to the server');
    await proxy.setDoorman('forward');
    await eventually('the return', WAIT_MS, isBack(transport));
    await eventually('both', WAIT_MS, async () => {
      for (const delivery of heard.deliveries) await delivery.accept();
      return heard.texts.includes('to all') && heard.texts.includes('to the server');
    });
    await expectObjects(before);
    expect(await witness.deletions(vhost)).to.deep.equal([]);
  });

  for (const how of ['stop', 'kill'] as const) {
    it(`survives a restart of the broker (${how}), with bindings and messages (AMQP-22)`, async () => {
      const one = await holder();
      const before = await objects();
      await witness.deletions(vhost);
      await node.view.storeObjects();
      await node.restart(how);
      await eventually('the return', 60_000, isBack(one.transport));
      await expectObjects(before);
      // A fanout exchange that is not durable goes with the broker, and comes again with its owner.
      const fanout = `${where.topic}_fanout`;
      const deleted = (await witness.deletions(vhost)).filter((name) => !name.includes(fanout));
      expect(deleted).to.deep.equal([]);
      await expectAllMessages(one);
    });
  }

  it('is left as it is when it is in the way of a recovery, which is tried ever later (AMQP-22, AMQP-21, AMQP-09)', async () => {
    const { transport, heard } = await holder();
    const mine = `${where.topic}.${where.server}`;
    const errors: { at: number; message: string }[] = [];
    transport.events.on('error', ({ message }) => errors.push({ at: performance.now(), message }));
    await proxy.setDoorman('refuse');
    proxy.cut();
    await eventually('the loss', WAIT_MS, () => transport.status().connection !== 'connected');
    await another(async (channel) => {
      await channel.deleteQueue(mine);
      await channel.assertQueue(mine, { durable: true, arguments: { 'x-max-length': 7 } });
      await channel.bindQueue(mine, 'their-exchange', 'in the way');
      channel.sendToQueue(mine, Buffer.from('in the way'), { persistent: true });
      await channel.waitForConfirms();
    });
    const before = await objects();
    await witness.deletions(vhost);
    await proxy.setDoorman('forward');
    await eventually('five tries', WAIT_MS, () => errors.length >= 5);
    for (const part of [`queue "${mine}"`, '"x-max-length"', "'7'", 'nothing was changed'])
      expect(errors[0]?.message).to.contain(part);
    const gap = (index: number): number => (errors[index]?.at ?? NaN) - (errors[index - 1]?.at ?? NaN);
    expect(gap(4)).to.be.above(gap(1)).and.above(395); // 400 to 800 ms, after 50 to 100 the first time
    expect(transport.status().listeners.map(({ subscribed }) => subscribed)).to.deep.equal([false]);
    expect(transport.status().connection).to.equal('connected');
    expect(await objects()).to.deep.equal(before);
    expect(await witness.deletions(vhost)).to.deep.equal([]);
    expect(await takeTheirs(mine)).to.deep.equal(['in the way']);
    await another((channel) => channel.deleteQueue(mine)); // whoever put it there takes it away
    await eventually('the return', WAIT_MS, isBack(transport));
    await expectAllMessages({ heard });
  });

  it('is left as it is when its consumers are cancelled: only what is missing is declared again (AMQP-22, AMQP-07)', async () => {
    const one = await holder();
    const before = await objects();
    await witness.deletions(vhost);
    const mine = `${where.topic}.${where.server}`;
    const told: boolean[] = [];
    one.transport.events.on('listener', ({ subscribed }) => void told.push(subscribed));
    await node.view.deleteQueue(vhost, mine);
    await eventually('the loss and the return', WAIT_MS, () => told.join() === 'false,true');
    await expectObjects(before);
    const deleted = await witness.deletions(vhost);
    expect(
      deleted.every((name) => name.includes(mine)),
      deleted.join(),
    ).to.equal(true); // by the operator
    await expectAllMessages(one);
  });

  it('stays at an orderly end, which deletes what is private and nothing else; an end without the broker deletes nothing (AMQP-22, AMQP-37)', async () => {
    for (const end of ['in order', 'cut off'] as const) {
      where = source();
      const { transport, heard, replies } = await holder();
      const before = await objects();
      await witness.deletions(vhost);
      if (end === 'cut off') {
        await proxy.setDoorman('refuse');
        proxy.cut();
        await eventually('the loss', WAIT_MS, () => transport.status().connection !== 'connected');
      }
      await heard.listener.close();
      await transport.close();
      const isPrivate = (text: string): boolean =>
        text.includes(replies.address) || text.includes(`${where.topic}_fanout`);
      const left = end === 'in order' ? before.filter((text) => !isPrivate(text)) : before;
      await expectObjects(left);
      const deleted = await witness.deletions(vhost);
      expect(deleted.filter((name) => !isPrivate(name))).to.deep.equal([]);
      expect(deleted.filter((name) => name.startsWith('queue.'))).to.have.length(end === 'in order' ? 2 : 0);
      const queues = await node.view.queues(vhost);
      expect(queues.find(({ name }) => name === where.topic)?.messages_ready).to.equal(OURS.length);
      expect(await takeTheirs('their-queue')).to.deep.equal(OTHERS);
      await proxy.heal();
    }
  });
});
