import { NotificationListener, Notifier } from '@ebbgate/notify';
import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { deferred } from '../support/deferred.js';
import { eventually } from '../support/rigs/deadline.js';
import { fresh } from './bed.js';
import { RabbitBed } from './rabbit-bed.js';

const WAIT_MS = 20_000;
const MOST_PENDING = 500;
/** A hundredth of a second's share of 5,000 a second, and how often that is sent. */
const AT_ONCE = 50;
const TIMES = 150;

describe('notifications on RabbitMQ', function () {
  this.timeout(60_000);
  let bed: RabbitBed;

  beforeEach(async () => {
    bed = await RabbitBed.start();
  });

  afterEach(() => bed.end());

  async function messagesIn(queue: string): Promise<number | undefined> {
    return (await bed.node.view.queues(bed.vhost)).find(({ name }) => name === queue)?.messages;
  }

  it('at 5,000 a second with the broker away keep to their bound: the rest is counted and told (AMQP-01)', async () => {
    const topic = fresh('away');
    const transport = await bed.connected(bed.url);
    const notifier = new Notifier(transport, {
      topics: [topic],
      fireAndForget: true,
      maxPending: MOST_PENDING,
    });
    let told = 0;
    notifier.events.on('undelivered', ({ reason, count }) => (told += reason === 'dropped' ? count : 0));
    await notifier.prepare({ fireAndForget: false }).info({}, 'e', 'first');
    await bed.proxy.setDoorman('refuse');
    bed.proxy.cut('rst');
    await eventually('the loss', WAIT_MS, () => transport.status().connection !== 'connected');
    const most = { pending: 0, sends: 0 };
    const sending = deferred();
    let times = 0;
    const timer = setInterval(() => {
      for (let n = 0; n < AT_ONCE; n += 1) void notifier.info({}, 'e', { n, text: 'x'.repeat(200) });
      most.pending = Math.max(most.pending, notifier.counts.pending);
      most.sends = Math.max(most.sends, transport.pendingSends);
      times += 1;
      if (times < TIMES) return;
      clearInterval(timer);
      sending.resolve();
    }, 10);
    await sending.promise;
    expect(most).to.deep.equal({ pending: MOST_PENDING, sends: MOST_PENDING });
    const { dropped, failed } = notifier.counts;
    expect([dropped, failed]).to.deep.equal([AT_ONCE * TIMES - MOST_PENDING, 0]);
    await bed.proxy.setDoorman('forward');
    await notifier.flush({ timeoutMs: WAIT_MS });
    expect(notifier.counts).to.deep.equal({ sent: MOST_PENDING + 1, failed: 0, dropped, pending: 0 });
    await eventually(
      'what was kept',
      WAIT_MS,
      async () => (await messagesIn(`${topic}.info`)) === MOST_PENDING + 1,
    );
    await eventually('all that was dropped to be told', WAIT_MS, () => told === dropped);
  });

  it('are stored also when their queue was deleted meanwhile: a resolved promise is no lie (AMQP-03)', async () => {
    const topic = fresh('deleted');
    const notifier = new Notifier(await bed.connected(bed.direct), { topics: [topic] });
    await notifier.info({}, 'e', 1);
    await bed.node.view.deleteQueue(bed.vhost, `${topic}.info`);
    await Promise.all([notifier.info({}, 'e', 2), notifier.info({}, 'e', 3)]);
    await eventually('both', WAIT_MS, async () => (await messagesIn(`${topic}.info`)) === 2);
  });

  it('leave behind the queue of a pool, and none of a pool that was ephemeral (AMQP-37)', async () => {
    const topic = fresh('pools');
    const transport = await bed.connected(bed.direct);
    for (const [pool, ephemeral] of [
      ['lasting', false],
      ['passing', true],
    ] as const) {
      const endpoint = { info: () => undefined };
      const listener = new NotificationListener(transport, [{ topic }], [endpoint], { pool, ephemeral });
      await listener.start();
      expect(await bed.objects()).to.include(`queue ${pool}`);
      await listener.stop();
      expect(await listener.wait()).to.deep.equal({ unconfirmed: [] });
    }
    expect(await bed.objects())
      .to.include('queue lasting')
      .and.not.include('queue passing');
  });
});
