import { BlockDeviceMapping, CONDUCTOR_METHODS, CONDUCTOR_TOPIC } from '@ebbgate/compute';
import { TableClient } from '#compute/rpc/table-client.js';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { share, VOLUME } from './attached.js';
import { codeOf, SOURCE, type TestCloud, withCloud } from './test-cloud.js';

async function volumesOf(test: TestCloud, uuid: string): Promise<readonly string[]> {
  const instance = await test.cloud.records.instances.get(uuid);
  const mappings = instance.find('block_device_mapping')?.get('objects') ?? [];
  return mappings.map((one) => `${one.get('volume_id') ?? '-'} ${one.get('device_name') ?? '-'}`);
}

describe('volumes of an instance', () => {
  it('get the first name that is free, or the one that is asked for; no two the same, and none twice', () =>
    withCloud({}, async (test) => {
      const { controls } = test.cloud;
      const uuid = await test.bootActive();
      const names = await Promise.all(['1', '2'].map((one) => controls.addVolume({}, uuid, one)));
      expect([...names].sort()).to.deep.equal(['/dev/vdb', '/dev/vdc']);
      expect(await controls.addVolume({}, uuid, '3', '/dev/vdx')).to.equal('/dev/vdx');
      expect(await codeOf(controls.addVolume({}, uuid, '4', '/dev/vdx'))).to.equal('ERR_UNEXPECTED_STATE');
      expect(await codeOf(controls.addVolume({}, uuid, '3'))).to.equal('ERR_UNEXPECTED_STATE');
      await test.idle(SOURCE);
      expect(await volumesOf(test, uuid)).to.have.length(3);
    }));

  it('free their name when the hypervisor cannot attach them', () =>
    withCloud({}, async (test) => {
      const uuid = await test.bootActive();
      const held = test.virt(SOURCE).steps.hold('attach-volume');
      test.virt(SOURCE).steps.failNext('attach-volume');
      await test.cloud.controls.addVolume({}, uuid, VOLUME);
      await held.reached;
      expect(await volumesOf(test, uuid)).to.deep.equal([`${VOLUME} /dev/vdb`]);
      expect(test.tasks(SOURCE)).to.deep.equal(['attach_volume']);
      held.release();
      await test.idle(SOURCE);
      expect(await volumesOf(test, uuid)).to.deep.equal([]);
      expect(test.cloud.host(SOURCE).process.service.registry.counts.failed).to.equal(1);
    }));

  it('are reserved in Nova’s own form', () =>
    withCloud({}, async (test) => {
      const uuid = await test.bootActive();
      const instance = await test.cloud.records.instances.get(uuid);
      const wish = { device: null, disk_bus: 'virtio', device_type: null, tag: 'db', multiattach: false };
      const args = { instance, volume_id: VOLUME, ...wish };
      const mapping: unknown = await test.cloud.computeApi.call(
        {},
        'reserve_block_device_name',
        SOURCE,
        args,
      );
      expect(BlockDeviceMapping.is(mapping)).to.equal(true);
      const fields = Object.fromEntries((mapping as BlockDeviceMapping).entries());
      expect(fields).to.include({
        device_name: '/dev/vdb',
        disk_bus: 'virtio',
        tag: 'db',
        volume_id: VOLUME,
      });
    }));

  it('can be given by a conductor, as newer releases of Nova do', () =>
    withCloud({}, async (test) => {
      const uuid = await test.bootActive();
      const target = { topic: CONDUCTOR_TOPIC, namespace: 'compute_task', version: '1.26' };
      const conductor = new TableClient(test.cloud.computeApi.transport, CONDUCTOR_METHODS, target);
      const name = await conductor.call('attach_volume', {
        instance: await test.cloud.records.instances.get(uuid),
        volume: { id: VOLUME },
        device: null,
        disk_bus: null,
        device_type: null,
        tag: null,
        supports_multiattach: false,
        delete_on_termination: true,
      });
      expect(name).to.equal('/dev/vdb');
      await test.idle(SOURCE);
      expect(await volumesOf(test, uuid)).to.deep.equal([`${VOLUME} /dev/vdb`]);
    }));
});

describe('shares of an instance', () => {
  it('are kept with its record, without the secrets of their access, until they are denied (SEC-05)', () =>
    withCloud({}, async (test) => {
      const { computeApi, records } = test.cloud;
      const uuid = await test.bootActive();
      const instance = await records.instances.get(uuid);
      await computeApi.cast({}, 'allow_share', SOURCE, { instance, share_mapping: share(instance) });
      await computeApi.call({}, 'get_host_uptime', SOURCE, {}); // comes after it on the same queue
      await test.idle(SOURCE);
      const [kept] = (await records.instances.get(uuid)).find('share_mapping') ?? [];
      expect(kept?.get('status')).to.equal('inactive');
      expect([...(kept?.entries() ?? [])].map(([name]) => name)).to.not.include('access_key');
      await computeApi.cast({}, 'deny_share', SOURCE, { instance, share_mapping: share(instance) });
      await computeApi.call({}, 'get_host_uptime', SOURCE, {});
      await test.idle(SOURCE);
      expect((await records.instances.get(uuid)).find('share_mapping')).to.deep.equal([]);
    }));
});
