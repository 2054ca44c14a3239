import type { BrokerFaults } from '@ebbgate/driver-testkit';
import type { FaultProxy } from '../support/rigs/fault-proxy.js';

/** What the suite may do to the way to any broker: to cut it, and to let it be silent. */
export function linkFaults(proxy: FaultProxy): Omit<BrokerFaults, 'cancelConsumers'> {
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
  };
}
