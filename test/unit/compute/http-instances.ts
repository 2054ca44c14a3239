import { randomUUID } from 'node:crypto';
import { Instance, type InstanceFields, type LocalRecords } from '@ebbgate/compute';
import { flavorById } from '#compute/api/flavors.js';

/** Records an instance that runs on no host in particular; resolves with its uuid. */
export async function instanceOf(
  { instances }: Pick<LocalRecords, 'instances'>,
  fields: Partial<InstanceFields> = {},
): Promise<string> {
  const flavor = flavorById('1');
  if (!flavor) throw new RangeError('there is no flavor 1');
  const instance = Instance.create({
    uuid: randomUUID(),
    user_id: 'u1',
    project_id: 'p1',
    display_name: 'vm',
    hostname: 'vm',
    image_ref: 'cirros',
    key_name: null,
    host: null,
    node: null,
    availability_zone: null,
    vm_state: 'active',
    task_state: null,
    power_state: 1,
    progress: 0,
    flavor,
    metadata: {},
    system_metadata: {},
    launched_at: null,
    terminated_at: null,
    deleted: false,
    ...fields,
  });
  return (await instances.create(instance)).get('uuid');
}
