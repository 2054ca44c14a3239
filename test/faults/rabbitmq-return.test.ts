import type { Transport } from '@ebbgate/core';
import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { deferred } from '../support/deferred.js';
import { eventually } from '../support/rigs/deadline.js';
import { send, source, toFanout, toServer, toTopic } from './bed.js';
import { RabbitBed } from './rabbit-bed.js';

const WAIT_MS = 10_000;

describe('losses and ends, with RabbitMQ', function () {
  this.timeout(40_000);
  let bed: RabbitBed;

  beforeEach(async () => {
    bed = await RabbitBed.start();
  });

  afterEach(() => bed.end());

  it('declares only queues that last or expire, and private ones expire by time (AMQP-24, AMQP-26)', async () => {
    const where = source();
    const options = { amqp_durable_queues: true, rabbit_transient_queues_ttl: 1 };
    const transport = await bed.connected(bed.url, options);
    await bed.serve(transport, where, { ping: () => 'pong' });
    const client = bed.client(transport, where);
    expect(await client.call({}, 'ping')).to.equal('pong');
    const queues = await bed.node.view.queues(bed.vhost);
    expect(queues).to.have.length(4);
    for (const { durable, exclusive } of queues) expect(durable || exclusive).to.equal(true);
    const isPrivate = ({ name }: { name: string }): boolean => /^reply_|_fanout_/.test(name);
    expect(queues.filter(isPrivate).map((queue) => queue.arguments['x-expires'])).to.deep.equal([1000, 1000]);
    const names = queues.map(({ name }) => name).sort();
    bed.proxy.cut();
    await eventually('the loss', WAIT_MS, () => transport.status().connection !== 'connected');
    await eventually('the return', WAIT_MS, () => transport.status().listeners[0]?.subscribed === true);
    expect(await client.call({}, 'ping')).to.equal('pong');
    expect((await bed.node.view.queues(bed.vhost)).map(({ name }) => name).sort()).to.deep.equal(names);
    await bed.proxy.setDoorman('refuse'); // as when the process is killed
    bed.proxy.cut();
    await eventually('the private queues to expire', WAIT_MS, async () => {
      const left = await bed.node.view.queues(bed.vhost);
      return left.length === 2 && !left.some(isPrivate);
    });
    const bare = await bed.connected(bed.direct);
    await bed.serve(bare, source(), {});
    expect(bed.log.ordinaryText()).to.contain('not durable');
  });

  const opens = {
    reply: (transport: Transport) => transport.openReplyQueue(() => undefined),
    fanout: (transport: Transport) => bed.listen(transport, source()),
  };
  for (const [kind, open] of Object.entries(opens)) {
    it(`leaves no ${kind} queue for good when its owner dies before it consumes, at whichever answer of the broker (AMQP-24)`, async () => {
      const { proxy, node, vhost } = bed;
      const found: string[][] = [];
      // Less than the answer to a declaration has: at the first step that finds the queue, its owner does not know of it.
      const step = 24;
      let isOpen = false;
      for (let bytes = 1; !isOpen; bytes += step) {
        const transport = await bed.connected(bed.url, { rabbit_transient_queues_ttl: 1 });
        await proxy.setDoorman('refuse');
        proxy.setWeather('toClient', { cutAfterBytes: bytes });
        const opened = open(transport).then(() => true);
        const { links } = proxy;
        isOpen = await Promise.race([opened, ...links.map(({ closed }) => closed.then(() => false))]);
        proxy.cut();
        const private_ = (await node.view.queues(vhost)).filter(({ name }) => name.includes(`${kind}_`));
        found.push(private_.map(({ name }) => name));
        opened.catch(() => undefined);
        await transport.close();
        await proxy.heal();
      }
      expect(found[0]).to.deep.equal([]);
      expect(found.flat()).to.have.length.above(1);
      await eventually('the queues to expire', WAIT_MS, async () => {
        return (await node.view.queues(vhost)).every(({ name }) => !name.includes(`${kind}_`));
      });
    });
  }

  it('sends a reply again whose queue is missing for a moment (AMQP-25, AMQP-35)', async () => {
    const where = source();
    const transport = await bed.connected(bed.url);
    const entered = deferred();
    const hold = deferred();
    const others = await bed.connected(bed.direct);
    await bed.serve(others, where, {
      work: async () => {
        entered.resolve();
        await hold.promise;
        return 'kept';
      },
      ping: () => 'pong',
    });
    const client = bed.client(transport, where);
    const answer = client.call({}, 'work');
    await entered.promise;
    const reply = (await bed.node.view.queues(bed.vhost)).find(({ name }) => name.startsWith('reply_'));
    await bed.proxy.setDoorman('refuse');
    bed.proxy.cut();
    await eventually('the loss', WAIT_MS, () => transport.status().connection !== 'connected');
    await bed.node.view.deleteQueue(bed.vhost, reply?.name ?? '');
    hold.resolve();
    expect(await bed.client(others, where).call({}, 'ping')).to.equal('pong'); // no other reply waits for it
    await bed.proxy.setDoorman('forward');
    expect(await answer).to.equal('kept');
  });

  it('has one working reply queue after twenty reconnects (AMQP-35, AMQP-17)', async () => {
    const where = source();
    const transport = await bed.connected(bed.url, { kombu_reconnect_delay: 0.01, rabbit_interval_max: 1 });
    await bed.serve(await bed.connected(bed.direct), where, { ping: () => 'pong' });
    const client = bed.client(transport, where);
    expect(await client.call({}, 'ping')).to.equal('pong');
    let errors = 0;
    transport.events.on('error', () => void (errors += 1));
    let lost = false;
    transport.events.on('connection', ({ state }) => void (lost ||= state === 'disconnected'));
    for (let times = 0; times < 20; times += 1) {
      lost = false;
      bed.proxy.cut(times % 2 === 0 ? 'rst' : 'fin');
      await eventually('the loss', WAIT_MS, () => lost);
      await eventually('the return', WAIT_MS, () => transport.status().connection === 'connected');
    }
    expect(await client.call({}, 'ping')).to.equal('pong');
    const consumers = await bed.node.view.consumers(bed.vhost);
    expect(consumers.filter(({ queue_name }) => queue_name.startsWith('reply_'))).to.have.length(1);
    expect(errors).to.equal(0);
  });

  it('notices a dead peer on each connection, tells it, and comes back (AMQP-14)', async () => {
    const where = source();
    const transport = await bed.connected(bed.url, { heartbeat_timeout_threshold: 1 });
    const heard = await bed.listen(transport, where);
    for (const index of [0, 1]) {
      const link = bed.proxy.links[index];
      const told: string[] = [];
      const deaf = transport.events.on(
        'connection',
        ({ state, cause }) => void told.push(`${state} ${cause?.message ?? ''}`),
      );
      link?.blackHole();
      await eventually('the loss', 6_000, () => told.join().includes('disconnected'));
      expect(told.join()).to.contain('Heartbeat timeout');
      await eventually(
        'the return',
        WAIT_MS,
        () =>
          transport.status().connection === 'connected' &&
          transport.status().listeners[0]?.subscribed === true,
      );
      deaf();
      link?.cut('rst');
      await eventually('the dead link to go', WAIT_MS, () => bed.proxy.links.length === 2);
    }
    await send(transport, toTopic(where), 'alive');
    await eventually('the message', WAIT_MS, () => heard.texts.length > 0);
  });

  it('removes what is its own at an orderly end, so that restarts leave nothing behind (AMQP-37, AMQP-22)', async () => {
    const where = source();
    const counts: number[] = [];
    for (let times = 0; times < 4; times += 1) {
      const transport = await bed.connected(bed.url);
      const server = await bed.serve(transport, where, { ping: () => 'pong' });
      expect(await bed.client(transport, where).call({}, 'ping')).to.equal('pong');
      await server.stop();
      await server.wait();
      await transport.close();
      counts.push((await bed.objects()).length);
    }
    expect(counts).to.deep.equal([3, 3, 3, 3]); // the topic, the server's own queue, the exchange
  });

  it('sends nothing to a stopped server: it waits in the queue, or goes to a sibling (AMQP-38, AMQP-23)', async () => {
    const where = source();
    const transport = await bed.connected(bed.url);
    const sender = await bed.connected(bed.direct);
    const heard = await bed.listen(transport, where);
    await send(sender, toServer(where), 'first');
    await eventually('the first', WAIT_MS, () => heard.texts.length === 1);
    await heard.listener.stop();
    await send(sender, toServer(where), 'kept');
    const sibling = await bed.listen(transport, { ...where, server: `${where.server}-2` });
    await send(sender, toTopic(where), 'for the sibling');
    await send(sender, toFanout(where), 'all');
    await eventually('the sibling', WAIT_MS, () => sibling.texts.length === 2);
    expect(heard.texts).to.deep.equal(['first']);
    const queue = (await bed.node.view.queues(bed.vhost)).find(
      ({ name }) => name === `${where.topic}.${where.server}`,
    );
    expect(queue?.messages_ready).to.equal(1);
  });

  it('ends without a broker, and says what was not confirmed (AMQP-41, AMQP-40)', async () => {
    const transport = await bed.connected(bed.url);
    const server = await bed.serve(transport, source(), { ping: () => 'pong' });
    bed.proxy.blackHole();
    const begun = performance.now();
    await server.stop();
    expect((await server.wait()).unconfirmed).to.have.length(1);
    await transport.close();
    expect(performance.now() - begun).to.be.below(12_000);
    await eventually('all sockets to go', WAIT_MS, () => {
      bed.proxy.cut();
      return bed.proxy.links.length === 0;
    });
  });
});
