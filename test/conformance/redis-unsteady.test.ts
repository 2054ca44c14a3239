import { redisDriver } from '@ebbgate/driver-redis';
import { driverSuite } from '@ebbgate/driver-testkit';
import { expect } from 'chai';
import { after, describe, it } from 'mocha';
import { eventually } from '../support/rigs/deadline.js';
import { FaultProxy } from '../support/rigs/fault-proxy.js';
import { faultSeed, RandomFaults, seedFor } from '../support/rigs/random-faults.js';
import { sharedRedis } from '../support/rigs/shared-redis.js';
import { redisFaults } from './redis-faults.js';

/**
 * Most tests take less than 50 ms on a good link, and have two transports with two or more connections each: every one of them
 * is struck about each fourth time.
 */
const FAULTS = { firstMs: 20, everyMs: 40, growth: 1.12, lastMs: 120 };
const CLOSED_MS = 5_000;

const PREFIX = 'unsteady';

const redis = await sharedRedis();
const proxy = await FaultProxy.start({ port: redis.port });
/** Short waits, so that a cut link is back soon. */
const options = `retry_interval=0.01&retry_interval_max=0.5&connect_timeout=2&max_message_bytes=8388608&lease=2&key_prefix=${PREFIX}`;
const seed = faultSeed();

/** Of the tests that have run: the faults that struck a connection. */
const struck: number[] = [];

/** Runs one test under faults of its own, and looks for what it has left behind. */
async function underFaults(title: string, run: () => Promise<void>): Promise<void> {
  const faults = new RandomFaults(proxy, { ...FAULTS, seed: seedFor(seed, title) });
  try {
    await run();
  } catch (cause) {
    const text = cause instanceof Error ? cause.message : String(cause);
    const told = `EBBGATE_FAULT_SEED=${String(seed)}, faults: ${faults.done.join('; ')}`;
    throw new Error(`${text}\n(${told})`, { cause });
  } finally {
    struck.push(faults.struck);
    await faults.stop();
  }
  await eventually('the end of every connection', CLOSED_MS, () => proxy.links.length === 0);
}

const unsteadyIt = Object.assign(
  (title: string, run: () => Promise<void>) => it(title, () => underFaults(title, run)),
  { skip: it.skip },
);

describe('the Redis driver, on links that fail at random throughout', function () {
  this.timeout(70_000);

  after(() => proxy.close());

  driverSuite({
    describe,
    it: unsteadyIt,
    url: proxy.url(redis.url(options)),
    drivers: [redisDriver],
    faults: redisFaults(proxy, redis, PREFIX),
    waitMs: 10_000,
    stress: Number(process.env['STRESS'] ?? 1),
    unsteady: true,
  });

  // A suite of its own, as the tests of a suite run before those of the suites in it.
  describe('in the end', () => {
    it('was a run of faults: most tests had one (AMQP-02, AMQP-09, REDIS-09)', () => {
      const total = struck.reduce((sum, count) => sum + count, 0);
      const hit = struck.filter((count) => count > 0).length;
      process.stderr.write(
        `${String(total)} faults struck ${String(hit)} of ${String(struck.length)} tests, EBBGATE_FAULT_SEED=${String(seed)}\n`,
      );
      expect(struck).to.have.length.above(150);
      expect(hit).to.be.above(struck.length * 0.5);
      expect(total).to.be.above(struck.length * 1.5);
    });
  });
});
