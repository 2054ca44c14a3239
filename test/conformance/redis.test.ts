import { redisDriver } from '@ebbgate/driver-redis';
import { driverSuite } from '@ebbgate/driver-testkit';
import { after, describe, it } from 'mocha';
import { FaultProxy } from '../support/rigs/fault-proxy.js';
import { sharedRedis } from '../support/rigs/shared-redis.js';
import { redisFaults } from './redis-faults.js';

/** Short waits, so that a cut link is back soon. */
const OPTIONS = 'retry_interval=0.02&retry_interval_max=0.5&connect_timeout=2&max_message_bytes=8388608';

const redis = await sharedRedis();

const proxy = await FaultProxy.start({ port: redis.port });
const prefix = 'suite';

/** The default, `written`, is tested on links that fail: redis-unsteady.test.ts. */
describe('the Redis driver, acceptance confirmed', function () {
  this.timeout(30_000);

  after(() => proxy.close());

  driverSuite({
    describe,
    it,
    url: proxy.url(redis.url(`${OPTIONS}&acceptance=confirmed&key_prefix=${prefix}`)),
    drivers: [redisDriver],
    faults: redisFaults(proxy, redis, prefix),
    waitMs: 20_000,
    stress: Number(process.env['STRESS'] ?? 1),
  });
});
