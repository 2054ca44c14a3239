import { expect } from 'chai';
import { after, afterEach, before, beforeEach, describe, it } from 'mocha';
import { deferred } from '../support/deferred.js';
import { eventually } from '../support/rigs/deadline.js';
import { RabbitNode } from '../support/rigs/rabbitmq.js';
import { Bed, send, source, toTopic } from './bed.js';

const WAIT_MS = 10_000;
const CONSUMER_TIMEOUT_MS = 1_000;

/** Keeps the event loop from doing anything else. */
function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

describe('a RabbitMQ with little patience', function () {
  this.timeout(40_000);
  let node: RabbitNode;
  let url: string;
  let vhost: string;
  let bed: Bed;

  before(async () => {
    const config = [`{consumer_timeout, ${String(CONSUMER_TIMEOUT_MS)}}`, '{channel_tick_interval, 200}'];
    node = await RabbitNode.start({ config });
  });

  after(() => node.dispose());

  beforeEach(async () => {
    bed = new Bed();
    url = await node.vhost();
    vhost = decodeURIComponent(new URL(url).pathname.slice(1));
  });

  afterEach(() => bed.end());

  it('that closes a channel over a message held too long is consumed again, and tells why (AMQP-09)', async () => {
    const where = source();
    const transport = await bed.connected(url);
    const causes: string[] = [];
    transport.events.on('listener', ({ cause }) => {
      if (cause) causes.push(cause.message);
    });
    const heard = await bed.listen(transport, where, false);
    await send(transport, toTopic(where), 'held');
    await eventually('the loss', WAIT_MS, () => causes.length > 0);
    expect(causes[0]).to.match(/406.*delivery acknowledgement/s);
    await eventually('the message again', WAIT_MS, () => heard.deliveries.length === 2);
    expect(heard.deliveries[1]?.redelivered).to.equal(true);
    expect(await heard.deliveries[0]?.accept()).to.equal(false);
    expect(await heard.deliveries[1]?.accept()).to.equal(true);
  });

  it('never sees a long handler: its request is acknowledged when it starts, and others wait in the queue (AMQP-10)', async () => {
    const where = source();
    const transport = await bed.connected(url);
    const hold = deferred();
    let runs = 0;
    const work = async (): Promise<string> => {
      runs += 1;
      await hold.promise;
      return 'done';
    };
    const lost: unknown[] = [];
    transport.events.on('listener', ({ subscribed, cause }) => {
      if (!subscribed && cause) lost.push(cause);
    });
    await bed.serve(transport, where, { work }, { slots: 1, prefetch: 5, stallMs: 100, maxHeldMs: 300 });
    const client = bed.client(transport, where, { timeoutMs: 20_000 });
    const answers = Promise.all([client.call({}, 'work'), client.call({}, 'work')]);
    await eventually('one to run', WAIT_MS, () => runs === 1);
    const begun = performance.now();
    await eventually('the time in which the broker would lose patience', WAIT_MS, async () => {
      const queues = await node.view.queues(vhost);
      const unacknowledged = queues.reduce((sum, queue) => sum + queue.messages_unacknowledged, 0);
      return performance.now() - begun > 2 * CONSUMER_TIMEOUT_MS && unacknowledged === 0;
    });
    hold.resolve();
    expect(await answers).to.deep.equal(['done', 'done']);
    expect([runs, lost]).to.deep.equal([2, []]);
  });

  it('is left by a blocked event loop, which is named, and nothing that ran is run again (AMQP-12)', async () => {
    const where = source();
    const transport = await bed.connected(url, { heartbeat_timeout_threshold: 1 });
    let runs = 0;
    let lost = 0;
    transport.events.on('connection', ({ state }) => void (lost += state === 'disconnected' ? 1 : 0));
    const work = (): string => {
      runs += 1;
      block(4_000); // the broker gives up after two silent intervals
      return 'done';
    };
    await bed.serve(transport, where, { work, ping: () => 'pong' });
    const client = bed.client(transport, where, { timeoutMs: 20_000 });
    expect(await client.call({}, 'work')).to.equal('done');
    await eventually('the loss', WAIT_MS, () => lost > 0);
    await eventually('the return', WAIT_MS, () => transport.status().listeners[0]?.subscribed === true);
    expect(await client.call({}, 'ping')).to.equal('pong');
    expect(runs).to.equal(1);
    const line = bed.log.lines.find(({ message }) => message.startsWith('The event loop was blocked'));
    expect(line?.level).to.equal('warn');
    expect(line?.fields['blockedMs']).to.be.within(3_000, 6_000);
    expect(line?.message).to.contain('worker thread');
  });
});
