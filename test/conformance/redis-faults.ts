import type { BrokerFaults } from '@ebbgate/driver-testkit';
import type { FaultProxy } from '../support/rigs/fault-proxy.js';
import type { RedisProcess } from '../support/rigs/redis-process.js';

/** What the suite may do to the way to a Redis: by the proxy, and by ending the leases under a prefix. */
export function redisFaults(proxy: FaultProxy, redis: RedisProcess, prefix: string): BrokerFaults {
  return {
    cut: async () => {
      await proxy.setDoorman('refuse');
      proxy.cut('rst');
    },
    restore: () => proxy.setDoorman('forward'),
    stall: () => {
      proxy.blackHole('both');
    },
    resume: () => proxy.heal(),
    cancelConsumers: async () => {
      const leases = (await redis.ask('keys', `${prefix}:*:leases`)) as string[]; // texts, as Redis documents it
      for (const key of leases) {
        await redis.ask('del', key);
        await redis.ask('rpush', key.replace(/leases$/, 'topic:bell'), '1'); // as anything that comes would
      }
    },
  };
}
