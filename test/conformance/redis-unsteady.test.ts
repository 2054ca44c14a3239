import { redisDriver } from '@ebbgate/driver-redis';
import { driverSuite } from '@ebbgate/driver-testkit';
import { expect } from 'chai';
import { after, describe, it } from 'mocha';
import { FaultProxy } from '../support/rigs/fault-proxy.js';
import { sharedRedis } from '../support/rigs/shared-redis.js';
import { redisFaults } from './redis-faults.js';
import { UnsteadyRun } from './unsteady-run.js';

/**
 * Most tests take less than 50 ms on a good link, and have two transports with two or more connections each: every one of them
 * is struck about each fourth time.
 */
const FAULTS = { firstMs: 20, everyMs: 40, growth: 1.12, lastMs: 120 };

const PREFIX = 'unsteady';

const redis = await sharedRedis();
const proxy = await FaultProxy.start({ port: redis.port });
/** Short waits, so that a cut link is back soon. */
const options = `retry_interval=0.01&retry_interval_max=0.5&connect_timeout=2&max_message_bytes=8388608&lease=2&key_prefix=${PREFIX}`;
const unsteady = new UnsteadyRun(proxy, FAULTS);

describe('the Redis driver, on links that fail at random throughout', function () {
  this.timeout(70_000);

  after(() => proxy.close());

  driverSuite({
    describe,
    it: unsteady.it,
    url: proxy.url(redis.url(options)),
    drivers: [redisDriver],
    faults: redisFaults(proxy, redis, PREFIX),
    waitMs: 20_000,
    stress: Number(process.env['STRESS'] ?? 1),
    unsteady: true,
  });

  // A suite of its own, as the tests of a suite run before those of the suites in it.
  describe('in the end', () => {
    it('was a run of faults: most tests had one (AMQP-02, AMQP-09, REDIS-09)', () => {
      const { total, hit, tests } = unsteady.sum();
      expect(tests).to.be.above(150);
      expect(hit).to.be.above(tests * 0.5);
      expect(total).to.be.above(tests * 1.5);
      expect(unsteady.leftOut).to.deep.equal([]);
    });
  });
});
