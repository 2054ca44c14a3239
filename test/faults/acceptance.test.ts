import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import type { AmqpEvent } from '../support/rigs/amqp-peer.js';
import { eventually } from '../support/rigs/deadline.js';
import { RandomFaults } from '../support/rigs/random-faults.js';
import { type Bed, source } from './bed.js';
import { PeerBed } from './peer-bed.js';
import { RabbitBed } from './rabbit-bed.js';

const WAIT_MS = 10_000;
/** Each takes a round trip to the broker, on a machine that may be busy. */
const ALL_MS = 60_000;
const CASTS = 1_500;
const AT_ONCE = 20;
const CONFIRMED = { acceptance: 'confirmed' } as const;

/** How often each request ran, on whichever server. */
class Runs {
  readonly counts = new Map<string, number>();
  readonly endpoint = {
    work: (_context: unknown, { id }: { id: string }): void =>
      void this.counts.set(id, (this.counts.get(id) ?? 0) + 1),
  };

  get twice(): string[] {
    return [...this.counts].filter(([, count]) => count > 1).map(([id]) => id);
  }
}

const request = (id: string): string => {
  const inner = { method: 'work', args: { id }, _unique_id: id };
  return JSON.stringify({ 'oslo.version': '2.0', 'oslo.message': JSON.stringify(inner) });
};

describe('a request that is accepted when the broker has confirmed it', function () {
  this.timeout(120_000);
  let bed: Bed;

  afterEach(() => bed.end());

  describe('with a broker that does what a script says', () => {
    let peers: PeerBed;
    let asked: AmqpEvent[];

    beforeEach(async () => {
      bed = peers = await PeerBed.start();
      asked = [];
      peers.peer.script('queue.declare', (event) => {
        if (event.args['passive'] === true) asked.push(event);
        else event.connection.answer(event);
      });
    });

    it('runs when the broker has answered after the acknowledgement, and not before (AMQP-10, RPC-19)', async () => {
      const transport = await bed.connected(peers.peer.url(), CONFIRMED);
      const { counts, endpoint } = new Runs();
      await bed.serve(transport, peers.where, endpoint);
      peers.deliver(1, request('a'));
      peers.deliver(2, request('b'));
      await eventually('the question', WAIT_MS, () => asked.length > 0);
      expect(peers.settled).to.deep.equal(['basic.ack 2']); // of both, by one frame, before the question
      await bed.client(transport, peers.where).cast({}, 'something else meanwhile');
      expect([...counts]).to.deep.equal([]);
      for (const event of asked) event.connection.answer(event);
      await eventually('both to run', WAIT_MS, () => counts.size === 2);
      expect(asked).to.have.length(1); // one round trip for all that was read together
    });

    it('does not run when the channel or the connection is lost before that (AMQP-11, RPC-19)', async () => {
      for (const end of ['channel', 'connection'] as const) {
        const where = source();
        const transport = await bed.connected(peers.peer.url(), CONFIRMED);
        const { counts, endpoint } = new Runs();
        const server = await bed.serve(transport, where, endpoint);
        const consumer = (): AmqpEvent | undefined =>
          peers.peer.received('basic.consume').findLast(({ args }) => args['queue'] === where.topic);
        const first = consumer();
        const deliver = (event: AmqpEvent | undefined, id: string): void => {
          const properties = { contentType: 'application/json' };
          event?.connection.deliver(event.channel, `amq.ctag-${where.topic}`, 1, {
            properties,
            body: request(id),
          });
        };
        const before = asked.length;
        deliver(first, 'lost');
        await eventually('the question', WAIT_MS, () => asked.length > before);
        if (end === 'channel') first?.connection.closeChannel(first.channel, 541, 'INTERNAL_ERROR');
        else first?.connection.cut();
        await eventually('the return', WAIT_MS, () => {
          return consumer() !== first && transport.status().listeners[0]?.subscribed === true;
        });
        deliver(consumer(), 'next');
        await eventually('the next question', WAIT_MS, () => asked.length > before + 1);
        asked.at(-1)?.connection.answer(asked.at(-1) as AmqpEvent); // one was just waited for
        await eventually('the next', WAIT_MS, () => counts.has('next'));
        expect([...counts.keys()], end).to.deep.equal(['next']);
        await server.stop();
        await server.wait();
        await transport.close();
      }
    });
  });

  it('never runs on two servers, whatever links are cut while the broker lives (RPC-19, AMQP-11)', async () => {
    const rabbit = await RabbitBed.start();
    bed = rabbit;
    const where = source();
    const runs = new Runs();
    for (const server of ['s1', 's2', 's3']) {
      const transport = await bed.connected(rabbit.url, CONFIRMED);
      await bed.serve(transport, { ...where, server }, runs.endpoint, { slots: 4, prefetch: 8 });
    }
    const client = bed.client(await bed.connected(rabbit.direct), where);
    const faults = new RandomFaults(rabbit.proxy, { everyMs: 60, lastMs: 60 });
    let next = 0;
    const sender = async (): Promise<void> => {
      while (next < CASTS) await client.cast({}, 'work', { id: String(next++) });
    };
    await Promise.all(Array.from({ length: AT_ONCE }, sender));
    await eventually(`many faults (seed ${String(faults.seed)})`, WAIT_MS, () => faults.struck >= 15);
    await faults.stop();
    await eventually('an empty queue', ALL_MS, async () => {
      const queues = await rabbit.node.view.queues(rabbit.vhost);
      return queues.find(({ name }) => name === where.topic)?.messages === 0;
    });
    await client.call({}, 'work', { id: 'last' }); // all that was read before it is settled
    expect(runs.twice, `seed ${String(faults.seed)}`).to.deep.equal([]);
    expect(runs.counts.size).to.be.above(CASTS / 2);
  });
});
