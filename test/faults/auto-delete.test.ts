import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { deferred } from '../support/deferred.js';
import { eventually } from '../support/rigs/deadline.js';
import { source } from './bed.js';
import { RabbitBed } from './rabbit-bed.js';

const WAIT_MS = 10_000;
const CASTS = 12;

describe('queues that delete themselves, with RabbitMQ', function () {
  this.timeout(40_000);
  let bed: RabbitBed;

  beforeEach(async () => {
    bed = await RabbitBed.start();
  });

  afterEach(() => bed.end());

  it('lose nothing that waits in them while their server is busy for long (AMQP-39, AMQP-36)', async () => {
    const where = source();
    const hold = deferred();
    const ran: number[] = [];
    const work = async (_context: unknown, { id }: { id: number }): Promise<void> => {
      ran.push(id);
      await hold.promise;
    };
    const transport = await bed.connected(bed.direct, { amqp_auto_delete: true });
    const options = { slots: 1, prefetch: 2, stallMs: 100, maxHeldMs: 200 };
    await bed.serve(transport, where, { work }, options);
    const client = bed.client(transport, where);
    const all = Array.from({ length: CASTS }, (_none, id) => id);
    for (const id of all) await client.cast({}, 'work', { id });
    await eventually('a pause', WAIT_MS, () => transport.status().listeners[0]?.subscribed === false);
    const began = performance.now();
    await eventually('some time in the pause', WAIT_MS, async () => {
      const queues = await bed.node.view.queues(bed.vhost);
      const queue = queues.find(({ name }) => name === where.topic);
      expect(queue?.messages).to.equal(CASTS - 1);
      return performance.now() - began > 600;
    });
    hold.resolve();
    await eventually('all to run', WAIT_MS, () => ran.length >= CASTS);
    expect(ran.toSorted((a, b) => a - b)).to.deep.equal(all);
  });
});
