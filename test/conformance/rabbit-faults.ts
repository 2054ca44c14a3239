import type { BrokerFaults } from '@ebbgate/driver-testkit';
import type { FaultProxy } from '../support/rigs/fault-proxy.js';
import type { RabbitNode } from '../support/rigs/rabbitmq.js';
import { linkFaults } from './link-faults.js';

/** What the suite may do to the way to a RabbitMQ: by the proxy, and by deleting the queues of a virtual host. */
export function rabbitFaults(proxy: FaultProxy, rabbit: RabbitNode, vhost: string): BrokerFaults {
  return {
    ...linkFaults(proxy),
    cancelConsumers: async () => {
      const names = (await rabbit.view.consumers(vhost)).map(({ queue_name }) => queue_name);
      for (const name of new Set(names)) await rabbit.view.deleteQueue(vhost, name); // which cancels its consumers
    },
  };
}
