import { expect } from 'chai';
import { describe, it } from 'mocha';
import {
  ConductorApi,
  ExternalEventError,
  type Instance,
  MAX_BUILD_ATTEMPTS,
  MigrationPreCheckError,
} from '@ebbgate/compute';
import { type TestCloud, withCloud } from './test-cloud.js';

const HOSTS = ['h1', 'h2', 'h3', 'h4'];

/** Asks for an instance on any host; the hosts are tried in the order of their names, as they are equal. */
async function bootAnywhere(test: TestCloud, number = 1): Promise<string> {
  const request = test.recorded.bootRequest(number, '');
  request.requestSpec.update({ force_hosts: null });
  return (await test.cloud.servers.boot(test.recorded.context, request)).get('uuid');
}

async function claims(test: TestCloud, uuid: string): Promise<readonly string[]> {
  const found = await test.cloud.records.allocations.find({ consumer: uuid });
  return found.map(({ host }) => host);
}

function builds(test: TestCloud): readonly string[] {
  return test.arrived.filter((one) => one.startsWith('build_and_run_instance')).map((one) => one.slice(-2));
}

/** Nothing of it is left anywhere. */
async function expectNothingLeft(test: TestCloud, instance: Instance): Promise<void> {
  const uuid = instance.get('uuid');
  for (const host of HOSTS) await test.idle(host);
  expect(await claims(test, uuid)).to.deep.equal([]);
  expect(test.cloud.hypervisors.locate(uuid)).to.deep.equal([]);
  expect(await test.cloud.networking.portsOf(uuid)).to.deep.equal([]);
  expect(test.cloud.networking.boundTo(uuid)).to.equal(null);
}

describe('a build that fails on a host', () => {
  for (const step of ['create-disks', 'plug-vifs', 'start-guest'] as const) {
    it(`goes to the next host of its list when the hypervisor fails at ${step}; nothing is left on the first`, () =>
      withCloud({ hosts: HOSTS }, async (test) => {
        test.virt('h1').steps.failNext(step);
        const uuid = await bootAnywhere(test);
        const active = await test.becomes(uuid, 'active/-');
        expect([active.get('host'), active.get('node'), active.get('launched_on')]).to.deep.equal([
          'h2',
          'h2',
          'h2',
        ]);
        expect(builds(test)).to.deep.equal(['h1', 'h2']);
        expect(await claims(test, uuid)).to.deep.equal(['h2']);
        expect(test.cloud.hypervisors.locate(uuid)).to.deep.equal(['h2']);
        expect(test.cloud.networking.boundTo(uuid)).to.equal('h2');
        expect(test.states).to.not.include('error/-');
        await test.idle('h1');
        expect(test.cloud.host('h1').process.service.registry.counts.failed).to.equal(1);
      }));
  }

  it('ends in ERROR after three hosts, with nothing claimed and the fourth untried', () =>
    withCloud({ hosts: HOSTS }, async (test) => {
      expect(MAX_BUILD_ATTEMPTS).to.equal(3);
      for (const host of HOSTS) test.virt(host).steps.failNext('create-disks');
      const failed = await test.becomes(await bootAnywhere(test), 'error/-');
      expect(builds(test)).to.deep.equal(['h1', 'h2', 'h3']);
      expect(failed.get('host')).to.equal(null);
      await expectNothingLeft(test, failed);
    }));

  it('passes over an alternate that has been drained by then', () =>
    withCloud({ hosts: HOSTS }, async (test) => {
      const held = test.virt('h1').steps.hold('create-disks');
      test.virt('h1').steps.failNext('plug-vifs');
      const uuid = await bootAnywhere(test);
      await held.reached;
      const { ended } = await test.terminate('h2');
      await ended;
      held.release();
      expect((await test.becomes(uuid, 'active/-')).get('host')).to.equal('h3');
      await test.cloud.host('h2').start();
    }));

  it('ends in ERROR when no alternate is right any more', () =>
    withCloud({ hosts: ['h1', 'h2'] }, async (test) => {
      const held = test.virt('h1').steps.hold('create-disks');
      test.virt('h1').steps.failNext('plug-vifs');
      const uuid = await bootAnywhere(test);
      await held.reached;
      await test.cloud.records.services.update('compute', 'h2', { disabled: true });
      held.release();
      await test.becomes(uuid, 'error/-');
      expect(builds(test)).to.deep.equal(['h1']);
      await test.idle('h1');
      expect(await claims(test, uuid)).to.deep.equal([]);
    }));

  it('is not tried elsewhere when an operator forced the host', () =>
    withCloud({ hosts: HOSTS }, async (test) => {
      test.virt('h2').steps.failNext('start-guest');
      const failed = await test.becomes(await test.boot('h2'), 'error/-');
      expect(builds(test)).to.deep.equal(['h2']);
      await expectNothingLeft(test, failed);
    }));

  it('is not tried elsewhere when the network does not confirm its interfaces (B18)', () =>
    withCloud({ hosts: HOSTS }, async (test) => {
      test.virt('h1').steps.failNext('plug-vifs', new ExternalEventError('no network-vif-plugged'));
      const failed = await test.becomes(await bootAnywhere(test), 'error/-');
      expect(builds(test)).to.deep.equal(['h1']);
      await expectNothingLeft(test, failed);
    }));

  it('is handed on by a host that drains, before it exits (GS-2, GS-8, GS-76)', () =>
    withCloud({ hosts: HOSTS }, async (test) => {
      const held = test.virt('h1').steps.hold('create-disks');
      test.virt('h1').steps.failNext('plug-vifs');
      const uuid = await bootAnywhere(test);
      await held.reached;
      const { ended } = await test.terminate('h1');
      held.release();
      expect((await test.becomes(uuid, 'active/-')).get('host')).to.equal('h2');
      expect((await ended).code).to.equal(0);
      await test.cloud.host('h1').start();
      expect(builds(test)).to.deep.equal(['h1', 'h2']);
    }));

  it('finds another host when whoever handed it on kept no list', () =>
    withCloud({ hosts: HOSTS }, async (test) => {
      const uuid = await test.bootActive('h1');
      const { records } = test.cloud;
      const instance = await records.instances.update(uuid, {
        vm_state: 'building',
        task_state: 'scheduling',
      });
      await test.virt('h1').destroy(uuid);
      const request = test.recorded.bootRequest(1, '');
      await new ConductorApi(test.cloud.computeApi.transport).cast(test.recorded.context, 'build_instances', {
        instances: [instance],
        image: request.image,
        filter_properties: { retry: { num_attempts: 1, hosts: [['h1', 'h1']] }, limits: {} },
        admin_password: null,
        injected_files: [],
        requested_networks: null,
        security_groups: [],
        block_device_mapping: null,
        legacy_bdm: false,
        request_spec: null,
        host_lists: null,
      });
      expect((await test.becomes(uuid, 'active/-')).get('host')).to.equal('h2');
      expect(await claims(test, uuid)).to.deep.equal(['h2']);
    }));
});

describe('what instances have of hosts', () => {
  it('is claimed by a boot, and moves with a live migration', () =>
    withCloud({ hosts: ['h1', 'h2'] }, async (test) => {
      const uuid = await test.bootActive('h1');
      expect(await claims(test, uuid)).to.deep.equal(['h1']);
      const copy = test.virt('h1').steps.hold('copy-memory');
      await test.migrate(uuid, 'h2');
      await copy.reached;
      const [migration] = await test.cloud.records.migrations.find({ instance_uuid: uuid });
      expect(await claims(test, uuid)).to.deep.equal(['h2']);
      expect(await claims(test, migration?.get('uuid') ?? '')).to.deep.equal(['h1']);
      copy.release();
      await test.migrationBecomes(uuid, 'completed');
      expect(await test.cloud.records.allocations.find({})).to.have.length(1);
      expect(await claims(test, uuid)).to.deep.equal(['h2']);
    }));

  it('is as before when a live migration fails at its source', () =>
    withCloud({ hosts: ['h1', 'h2'] }, async (test) => {
      const uuid = await test.bootActive('h1');
      const before = await test.cloud.records.allocations.find({});
      test.virt('h1').steps.failNext('copy-memory');
      await test.migrate(uuid, 'h2');
      await test.migrationBecomes(uuid, 'failed');
      await test.idle('h1');
      expect(await test.cloud.records.allocations.find({})).to.deep.equal(before);
    }));

  it('is as before when no destination agrees, and each that refused has given back its claim', () =>
    withCloud({ hosts: HOSTS }, async (test) => {
      const uuid = await test.bootActive('h1');
      const before = await test.cloud.records.allocations.find({});
      const refusal = new MigrationPreCheckError('no');
      for (const host of HOSTS) test.virt(host).steps.failNext('check-destination', refusal);
      test.arrived.length = 0;
      await test.migrate(uuid, null);
      await test.migrationBecomes(uuid, 'error');
      await test.becomes(uuid, 'active/-');
      expect(test.arrived.map((one) => one.slice(-2))).to.deep.equal(['h2', 'h3', 'h4']);
      expect(await test.cloud.records.allocations.find({})).to.deep.equal(before);
    }));

  it('is as before when the destination that is asked for has no room', () =>
    withCloud(
      {
        hosts: ['h1', 'h2'],
        resourcesOf: (host) => (host === 'h2' ? { vcpus: 0, memoryMb: 0, diskGb: 0 } : undefined),
      },
      async (test) => {
        const uuid = await test.bootActive('h1');
        const before = await test.cloud.records.allocations.find({});
        await test.migrate(uuid, 'h2');
        await test.migrationBecomes(uuid, 'error');
        await test.becomes(uuid, 'active/-');
        expect(await test.cloud.records.allocations.find({})).to.deep.equal(before);
      },
    ));

  it('is what the hosts have told at their start: their CPUs four times, the rest once', () =>
    withCloud(
      { hosts: ['h1'], resourcesOf: () => ({ vcpus: 3, memoryMb: 1000, diskGb: 50 }) },
      async (test) => {
        const [capacity] = await test.cloud.records.allocations.capacities();
        expect(capacity?.total).to.deep.equal({ vcpus: 12, memoryMb: 1000, diskGb: 50 });
      },
    ));
});
