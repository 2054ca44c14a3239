import { ExternalEvents } from '#compute/api/external-events.js';
import { InstanceExternalEvent } from '@ebbgate/compute';
import type { TestCloud } from './test-cloud.js';

/** From now on the network service says of every interface that it could not be plugged. */
export function failToPlug({ cloud }: TestCloud): void {
  const { networking, records, computeApi } = cloud;
  const events = new ExternalEvents(records, computeApi);
  networking.plug = async (uuid) => {
    for (const tag of await networking.portsOf(uuid)) {
      const failed = { name: 'network-vif-plugged', status: 'failed', tag } as const;
      await events.send({}, InstanceExternalEvent.create({ instance_uuid: uuid, ...failed }));
    }
  };
}
