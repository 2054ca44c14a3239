import { Instance, type LocalRecords, type RecordEvents } from '@ebbgate/compute';
import { expect } from 'chai';

const TYPES = ['service.create', 'service.update', 'service.delete'] as const;

/** Changes a service in empty records: each change is told as Nova tells it, and no heartbeat is. */
export async function checkServiceNotifications(records: LocalRecords): Promise<void> {
  const told: RecordEvents[(typeof TYPES)[number]][] = [];
  for (const type of TYPES) records.events.on(type, (notification) => told.push(notification));
  const { services } = records;
  const report = { binary: 'compute', host: 'h', state: 'running', reportedAtMs: 1_764_000_000_123 };
  const { uuid } = await services.register({ ...report, version: 66, availabilityZone: 'az' });
  await services.report(report);
  await services.register(report); // a restart
  await services.update('compute', 'h', { forcedDown: true });
  await services.update('compute', 'h', { forcedDown: true }); // what is assigned is told, the same too
  await services.update('compute', 'h', { disabled: true, disabledReason: 'disks' });
  await services.update('compute', 'h', {});
  await services.report(report);
  await services.delete('compute', 'h');
  expect(told.map(({ event_type: type }) => type)).to.deep.equal([
    'service.create',
    'service.update',
    'service.update',
    'service.update',
    'service.delete',
  ]);
  expect(told[3]).to.deep.equal({
    priority: 'INFO',
    publisher_id: 'nova-compute:h',
    event_type: 'service.update',
    payload: {
      'nova_object.name': 'ServiceStatusPayload',
      'nova_object.namespace': 'nova',
      'nova_object.version': '1.1',
      'nova_object.data': {
        host: 'h',
        binary: 'nova-compute',
        topic: 'compute',
        report_count: 3,
        disabled: true,
        disabled_reason: 'disks',
        availability_zone: 'az',
        last_seen_up: '2025-11-24T16:00:00Z',
        forced_down: true,
        version: 66,
        uuid,
      },
    },
  });
}

/** Each change of what an instance is, or of what is being done to it, is told with the state before; nothing else is. */
export async function checkInstanceStates(records: LocalRecords): Promise<void> {
  const told: string[] = [];
  records.events.on('instanceState', ({ instance, before }) => {
    const states = [before, instance].map((one) => `${one.get('vm_state')}/${one.get('task_state') ?? '-'}`);
    told.push(states.join(' -> '));
  });
  const { instances } = records;
  const uuid = '178b0921-8f85-4257-88b6-2e743b5a975c';
  const fields = {
    uuid,
    vm_state: 'building',
    task_state: 'scheduling',
    host: null,
    deleted: false,
  } as const;
  await instances.create(Instance.create(fields));
  await instances.update(uuid, { task_state: null, host: 'h' });
  await instances.update(uuid, { progress: 5 });
  await instances.update(uuid, { vm_state: 'building' });
  await instances.update(uuid, { vm_state: 'active' });
  expect(told).to.deep.equal(['building/scheduling -> building/-', 'building/- -> active/-']);
}
