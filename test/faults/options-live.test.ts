import { Deadline, type Transport, TransportUrl } from '@ebbgate/core';
import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { readSettings } from '#driver-amqp/options.js';
import { brokerConnection } from '#driver-amqp/v091/connection.js';
import { rejectionOf } from '../support/deferred.js';
import { AmqpPeer } from '../support/rigs/amqp-peer.js';
import { eventually } from '../support/rigs/deadline.js';
import { Bed, failure, FAST, send, source, toFanout, toTopic } from './bed.js';
import { RabbitBed } from './rabbit-bed.js';

const WAIT_MS = 10_000;
const HOSTS = 4;

const isWhole = (transport: Transport) => (): boolean => {
  const { connection, listeners } = transport.status();
  return connection === 'connected' && listeners.every(({ subscribed }) => subscribed);
};

describe('options at work', function () {
  this.timeout(40_000);

  describe('with RabbitMQ', () => {
    let bed: RabbitBed;

    beforeEach(async () => {
      bed = await RabbitBed.start();
    });

    afterEach(() => bed.end());

    async function cut(transport: Transport): Promise<void> {
      let losses = 0;
      const deaf = transport.events.on('connection', ({ state }) => {
        if (state === 'disconnected') losses += 1;
      });
      bed.proxy.cut();
      await eventually('the loss', WAIT_MS, () => losses > 0);
      deaf();
    }

    it('quorum queues everywhere carry calls, casts and fanouts, over a cut too (AMQP-26, AMQP-24)', async () => {
      const where = source();
      const options = {
        rabbit_quorum_queue: true,
        rabbit_transient_quorum_queue: true,
        rabbit_quorum_delivery_limit: 3,
      };
      const transport = await bed.connected(bed.url, options);
      let casts = 0;
      await bed.serve(transport, where, { ping: () => 'pong', note: () => void (casts += 1) });
      const client = bed.client(transport, where);
      const work = async (): Promise<void> => {
        const before = casts;
        expect(await client.call({}, 'ping')).to.equal('pong');
        await client.cast({}, 'note');
        await client.prepare({ fanout: true }).cast({}, 'note');
        await eventually('the casts', WAIT_MS, () => casts === before + 2);
      };
      await work();
      const queues = await bed.node.view.queues(bed.vhost);
      expect(queues).to.have.length(4);
      for (const queue of queues) {
        expect(queue.arguments, queue.name).to.include({ 'x-queue-type': 'quorum', 'x-delivery-limit': 3 });
        expect(queue.durable).to.equal(true);
      }
      await cut(transport);
      await eventually('the return', WAIT_MS, isWhole(transport));
      await work();
    });

    it('a stream of fanouts goes on behind the last that was seen, when the link was cut (AMQP-09, CORE-06)', async () => {
      const where = source();
      const options = {
        amqp_durable_queues: true,
        rabbit_transient_quorum_queue: true,
        rabbit_stream_fanout: true,
        rabbit_qos_prefetch_count: 10,
      };
      const sender = await bed.connected(bed.direct, options);
      const transport = await bed.connected(bed.url, options);
      const heard = await bed.listen(transport, where);
      const other = await bed.listen(sender, { ...where, server: `${where.server}-2` });
      for (const text of ['1', '2', '3']) await send(sender, toFanout(where), text);
      await eventually('the first', WAIT_MS, () => heard.texts.length === 3);
      await bed.proxy.setDoorman('refuse');
      await cut(transport);
      for (const text of ['4', '5']) await send(sender, toFanout(where), text);
      await bed.proxy.setDoorman('forward');
      await eventually('the return', WAIT_MS, isWhole(transport));
      await send(sender, toFanout(where), '6');
      await eventually('the rest', WAIT_MS, () => heard.texts.length >= 6 && other.texts.length >= 6);
      expect(heard.texts).to.deep.equal(['1', '2', '3', '4', '5', '6']);
      expect(other.texts).to.deep.equal(heard.texts);
      const fanouts = (await bed.node.view.queues(bed.vhost)).filter(({ name }) => name.includes('fanout'));
      expect(fanouts.map((queue) => [queue.name, queue.arguments['x-queue-type']])).to.deep.equal([
        [`${where.topic}_fanout`, 'stream'],
      ]);
    });

    it('direct_mandatory_flag=false lets replies to callers that are gone vanish (AMQP-25)', async () => {
      const where = source();
      const transport = await bed.connected(bed.url, { direct_mandatory_flag: false });
      let dropped = 0;
      transport.events.on('dropped', () => void (dropped += 1));
      const server = await bed.serve(transport, where, { m: () => 'result' });
      await send(transport, { kind: 'reply', address: 'reply_gone' }, 'x', { mandatory: true });
      expect(await bed.client(transport, where).call({}, 'm')).to.equal('result');
      await server.stop();
      expect((await server.wait()).unconfirmed).to.deep.equal([]);
      expect(dropped).to.equal(0);
      const mandatory = await bed.connected(bed.url);
      const refused = await failure(
        send(mandatory, { kind: 'reply', address: 'reply_gone' }, 'x', { mandatory: true }),
      );
      expect(refused.code).to.equal('ERR_UNDELIVERABLE');
    });

    it('rabbit_qos_prefetch_count keeps the rest at the broker, whatever the server could take (AMQP-36)', async () => {
      const where = source();
      const transport = await bed.connected(bed.url, { rabbit_qos_prefetch_count: 2 });
      const heard = await bed.listen(transport, where, false, 10);
      for (let n = 0; n < 5; n += 1) await send(transport, toTopic(where), String(n));
      await eventually('two', WAIT_MS, () => heard.texts.length === 2);
      const queue = (await bed.node.view.queues(bed.vhost)).find(({ name }) => name === where.topic);
      expect([queue?.messages_unacknowledged, queue?.messages_ready]).to.deep.equal([2, 3]);
    });
  });

  describe('with brokers that do what a script says', () => {
    let bed: Bed;
    let peers: AmqpPeer[];

    beforeEach(async () => {
      bed = new Bed();
      peers = await Promise.all(Array.from({ length: HOSTS }, () => AmqpPeer.start()));
    });

    afterEach(async () => {
      await bed.end();
      for (const peer of peers) await peer.close();
    });

    /** The hosts that one connection tries, by their index, round by round. */
    async function attempts(strategy: 'round-robin' | 'shuffle', rounds: number): Promise<number[][]> {
      const tried: number[] = [];
      for (const [index, peer] of peers.entries())
        peer.script('header', ({ connection }) => {
          tried.push(index);
          connection.cut();
        });
      const hosts = peers.map(({ port }) => `a:b@127.0.0.1:${String(port)}`).join();
      const options = { ...FAST, host_order: 'given', kombu_failover_strategy: strategy } as const;
      const settings = readSettings(TransportUrl.parse(`rabbit://${hosts}/`), options);
      const connection = brokerConnection('publish', settings, bed.log, { changed: () => undefined });
      connection.open();
      await rejectionOf(connection.whenUp(Deadline.after(20_000), rounds - 1));
      await connection.close(false);
      return Array.from({ length: rounds }, (_none, at) => tried.slice(at * HOSTS, (at + 1) * HOSTS));
    }

    it('kombu_failover_strategy: each host once a round, in the same order, or shuffled each time (AMQP-16)', async () => {
      const given = Array.from({ length: HOSTS }, (_none, index) => index);
      const [inTurn, shuffled] = [await attempts('round-robin', 3), await attempts('shuffle', 5)];
      for (const round of inTurn) expect(round).to.deep.equal(given);
      for (const round of shuffled) expect(round.toSorted()).to.deep.equal(given);
      expect(new Set(shuffled.map(String)).size).to.be.above(1);
    });
  });
});
