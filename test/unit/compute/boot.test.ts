import { expect } from 'chai';
import { describe, it } from 'mocha';
import { HypervisorError } from '@ebbgate/compute';
import { DEST, SOURCE, withCloud } from './test-cloud.js';

describe('booting an instance', () => {
  it('goes from the recorded request through all its states to active', () =>
    withCloud({}, async (test) => {
      const uuid = await test.bootActive();
      expect(test.states).to.deep.equal([
        'building/scheduling',
        'building/-',
        'building/networking',
        'building/block_device_mapping',
        'building/spawning',
        'active/-',
      ]);
      const instance = await test.cloud.records.instances.get(uuid);
      expect(instance.get('host')).to.equal(SOURCE);
      expect(instance.get('power_state')).to.equal(1);
      expect(test.cloud.hypervisors.locate(uuid)).to.deep.equal([SOURCE]);
      expect(test.cloud.networking.boundTo(uuid)).to.equal(SOURCE);
      expect(test.arrived).to.deep.equal([
        `build_and_run_instance @ compute.${SOURCE}`,
        `external_instance_event @ compute-ops.${SOURCE}`,
      ]);
      await test.idle(SOURCE);
    }));

  it('is a task from its first moment to its last, and waits for network-vif-plugged (GS-3, GS-98)', () =>
    withCloud({}, async (test) => {
      const uuid = await test.boot(SOURCE, (one) => {
        test.cloud.networking.hold(one);
      });
      await test.becomes(uuid, 'building/spawning');
      expect(test.tasks(SOURCE)).to.deep.equal(['build_instance']);
      await test.cloud.networking.release(uuid);
      await test.becomes(uuid, 'active/-');
      await test.idle(SOURCE);
      expect(test.cloud.host(SOURCE).process.service.registry.counts.failed).to.equal(0);
    }));

  it('ends in ERROR with nothing left behind when the hypervisor fails', () =>
    withCloud({}, async (test) => {
      test.virt(SOURCE).steps.failNext('start-guest');
      const uuid = await test.boot();
      await test.becomes(uuid, 'error/-');
      await test.idle(SOURCE);
      expect(test.cloud.hypervisors.locate(uuid)).to.deep.equal([]);
      expect(await test.cloud.networking.portsOf(uuid)).to.deep.equal([]);
      expect(test.cloud.host(SOURCE).process.service.registry.counts.failed).to.equal(1);
    }));

  it('does not touch an instance that is not to be built any more', () =>
    withCloud({}, async (test) => {
      const held = test.virt(SOURCE).steps.hold('create-disks');
      const uuid = await test.boot();
      await held.reached;
      await test.cloud.records.instances.update(uuid, { vm_state: 'deleted', task_state: null });
      held.release();
      await test.idle(SOURCE);
      const instance = await test.cloud.records.instances.get(uuid);
      expect(instance.get('vm_state')).to.equal('deleted');
      expect(test.cloud.hypervisors.locate(uuid)).to.deep.equal([]);
    }));

  it('chooses the emptiest host when none is asked for, and ends in ERROR when there is none', () =>
    withCloud({}, async (test) => {
      await test.bootActive(SOURCE);
      const request = test.recorded.bootRequest(9, '');
      request.requestSpec.update({ force_hosts: null });
      const second = await test.cloud.servers.boot(test.recorded.context, request);
      const active = await test.becomes(second.get('uuid'), 'active/-');
      expect(active.get('host')).to.equal(DEST);
      const nowhere = test.recorded.bootRequest(10, '');
      nowhere.requestSpec.update({ force_hosts: null, ignore_hosts: [SOURCE, DEST] });
      const third = await test.cloud.servers.boot(test.recorded.context, nowhere);
      await test.becomes(third.get('uuid'), 'error/-');
    }));

  it('does not keep the others from being built when one fails', () =>
    withCloud({}, async (test) => {
      const { steps } = test.virt(SOURCE);
      steps.failNext('create-disks', new HypervisorError('the first fails'));
      const uuids = [await test.boot(), await test.boot(), await test.boot()];
      await Promise.all(uuids.slice(1).map((uuid) => test.becomes(uuid, 'active/-')));
      await test.becomes(uuids[0] ?? '', 'error/-');
    }));
});
