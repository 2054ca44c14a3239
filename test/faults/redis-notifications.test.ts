import { type NotificationEndpoint, NotificationListener, Notifier } from '@ebbgate/notify';
import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { deferred } from '../support/deferred.js';
import { eventually } from '../support/rigs/deadline.js';
import { RedisView } from '../support/rigs/redis-view.js';
import { fresh } from './bed.js';
import { LEASE_MS, RedisBed, SHORT_LEASE } from './redis-bed.js';

const WAIT_MS = 20_000;

describe('notifications on Redis', function () {
  this.timeout(60_000);
  let bed: RedisBed;
  let topic: string;

  beforeEach(async () => {
    bed = await RedisBed.start();
    topic = fresh('topic');
  });

  afterEach(() => bed.end());

  async function listen(
    url: string,
    endpoint: NotificationEndpoint,
    pool?: string,
  ): Promise<NotificationListener> {
    const transport = await bed.connected(url, SHORT_LEASE);
    const options = pool === undefined ? {} : { pool };
    const listener = new NotificationListener(transport, [{ topic }], [endpoint], options);
    bed.onEnd(async () => {
      await listener.stop();
      await listener.wait({ timeoutMs: WAIT_MS });
    });
    await listener.start();
    return listener;
  }

  for (const pool of [undefined, 'pool']) {
    const where = pool === undefined ? '' : ', in a pool';

    it(`are held as long as they are handled, longer than a lease${where} (decision 9, REDIS-02)`, async () => {
      const [entered, gate] = [deferred(), deferred()];
      const seen: string[] = [];
      const handle = (name: string, until: Promise<void>) => ({
        info: async (): Promise<void> => {
          seen.push(name);
          entered.resolve();
          await until;
        },
      });
      const first = await listen(bed.direct, handle('first', gate.promise), pool);
      const notifier = new Notifier(await bed.connected(bed.direct), { topics: [topic] });
      await notifier.info({}, 'e', 1);
      await entered.promise;
      await listen(bed.direct, handle('second', Promise.resolve()), pool);
      const since = performance.now();
      await eventually('some leases to pass', WAIT_MS, () => performance.now() - since > 3 * LEASE_MS);
      gate.resolve();
      await eventually('the end', WAIT_MS, () => first.running === 0);
      await eventually('the acknowledgement', WAIT_MS, async () => (await bed.view.pending()) === 0);
      expect(seen).to.deep.equal(['first']);
    });

    it(`that a listener holds which is gone come to another when its lease is over${where} (decision 9, REDIS-02)`, async () => {
      const [entered, gate] = [deferred(), deferred()];
      const held = {
        info: async (): Promise<void> => {
          entered.resolve();
          await gate.promise;
        },
      };
      await listen(bed.url, held, pool);
      const notifier = new Notifier(await bed.connected(bed.direct), { topics: [topic] });
      await notifier.info({}, 'e', 'held');
      await entered.promise;
      bed.proxy.blackHole('both');
      const seen: unknown[] = [];
      await listen(bed.direct, { info: (_context, { payload }) => void seen.push(payload) }, pool);
      await eventually('the one that is left', WAIT_MS, () => seen.length === 1);
      expect(seen).to.deep.equal(['held']);
      gate.resolve();
    });
  }

  it('forget an ephemeral pool with the next notification after its end (REDIS-05)', async () => {
    const transport = await bed.connected(bed.direct);
    const options = { pool: 'passing', ephemeral: true };
    const listener = new NotificationListener(transport, [{ topic }], [{ info: () => undefined }], options);
    await listener.start();
    const pools = async (): Promise<number> =>
      (await new RedisView(bed.server).keys()).filter((key) => key.endsWith(':pools')).length;
    expect(await pools()).to.equal(1);
    await listener.stop();
    await listener.wait();
    await new Notifier(transport, { topics: [topic] }).info({}, 'e', 1);
    expect(await pools()).to.equal(0);
  });
});
