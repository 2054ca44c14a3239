import { RpcClient } from '@ebbgate/rpc';
import { RequestSpec } from '@ebbgate/compute';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { objectSerializer } from '#compute/rpc/object-serializer.js';
import { SOURCE, type TestCloud, withCloud } from './test-cloud.js';

function clientOf(test: TestCloud, version: string): RpcClient {
  const target = { topic: 'scheduler', version };
  return new RpcClient(test.cloud.computeApi.transport, target, { serializer: objectSerializer });
}

describe('a scheduler that Nova’s services speak to', () => {
  it('takes the news of hosts and aggregates, every one of them: each choice reads the records anyhow', () =>
    withCloud({ schedulers: 2 }, async (test) => {
      const names = [
        ['update_instance_info', { host_name: SOURCE, instance_info: [] }],
        ['delete_instance_info', { host_name: SOURCE, instance_uuid: 'u' }],
        ['sync_instance_info', { host_name: SOURCE, instance_uuids: ['u'] }],
        ['update_aggregates', { aggregates: [] }],
        ['delete_aggregate', { aggregate: { id: 1 } }],
      ] as const;
      const taken: string[] = [];
      const allTaken = new Promise<void>((resolve, reject) => {
        for (const { registry } of test.cloud.schedulers) {
          registry.events.on('ended', ({ task, failed }) => {
            if (failed) reject(new Error(`${task.name} failed`));
            if (taken.push(task.name) === 2 * names.length) resolve();
          });
        }
      });
      const client = clientOf(test, '4.2').prepare({ fanout: true });
      for (const [method, args] of names) await client.cast({}, method, args);
      await allTaken;
      expect([...new Set(taken.map((name) => name.replace(/^.*[:.]/, '')))].sort()).to.deep.equal(
        names.map(([method]) => method).sort(),
      );
    }));

  it('answers a question of before 4.5 in the form of then', () =>
    withCloud({ schedulers: 1 }, async (test) => {
      const uuid = await test.bootActive();
      const instance = await test.cloud.records.instances.get(uuid);
      const spec = RequestSpec.create({ instance_uuid: uuid, flavor: instance.get('flavor') });
      const args = { spec_obj: spec, instance_uuids: ['b0b0b0b0-0000-4000-8000-000000000001'] };
      const [first] = (await clientOf(test, '4.4').call({}, 'select_destinations', args)) as object[];
      expect(first).to.have.property('nodename');
      expect(first).to.have.property('limits');
    }));
});
