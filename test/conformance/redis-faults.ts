import type { BrokerFaults } from '@ebbgate/driver-testkit';
import type { FaultProxy } from '../support/rigs/fault-proxy.js';
import type { RedisProcess } from '../support/rigs/redis-process.js';
import { linkFaults } from './link-faults.js';

/** What the suite may do to the way to a Redis: by the proxy, and by ending the leases under a prefix. */
export function redisFaults(proxy: FaultProxy, redis: RedisProcess, prefix: string): BrokerFaults {
  return {
    ...linkFaults(proxy),
    cancelConsumers: async () => {
      const leases = (await redis.ask('keys', `${prefix}:*:leases`)) as string[]; // texts, as Redis documents it
      for (const key of leases) {
        await redis.ask('del', key);
        await redis.ask('rpush', key.replace(/leases$/, 'topic:bell'), '1'); // as anything that comes would
      }
    },
  };
}
