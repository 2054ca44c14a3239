import { expect } from 'chai';
import { describe, it } from 'mocha';
import { ComputeApi, InstanceExternalEvent } from '@ebbgate/compute';
import { until } from '../../support/deferred.js';
import { eventually } from '../../support/rigs/deadline.js';
import { liveOutcomeNow, stayed } from './live-migration-words.js';
import { codeOf, DEST, SOURCE, withCloud } from './test-cloud.js';

/** So long that no test sees it happen: what ends, ends because it was told. */
const NO_RECHECK = { recheckMs: 600_000 } as const;

describe('a compute host that drains', () => {
  for (const [ends, hosts] of [
    ['source', [SOURCE]],
    ['destination', [DEST]],
    ['source and destination', [SOURCE, DEST]],
  ] as const) {
    it(`waits for a running migration: ${ends} (GS-2, GS-8, GS-32, GS-35, GS-72, COMP-01)`, () =>
      withCloud({}, async (test) => {
        const uuid = await test.bootActive();
        const copy = test.virt(SOURCE).steps.hold('copy-memory');
        await test.migrate(uuid);
        await copy.reached;
        const drains = await Promise.all(hosts.map((host) => test.terminate(host)));
        for (const host of hosts) {
          const { newRequestServer, opsServer, service } = test.cloud.host(host).process;
          expect([newRequestServer.state, opsServer?.state, service.state]).to.deep.equal([
            'stopped',
            'listening',
            'draining',
          ]);
        }
        test.arrived.length = 0;
        copy.release();
        await test.migrationBecomes(uuid, 'completed');
        for (const { ended } of drains) {
          const { code, report } = await ended;
          expect([code, report.outcome, report.problems]).to.deep.equal([0, 'clean', []]);
        }
        const followUps = test.arrived.filter((request) => !request.startsWith('external_instance_event'));
        expect(followUps).to.deep.equal([`post_live_migration_at_destination @ compute-ops.${DEST}`]);
        expect(test.cloud.hypervisors.locate(uuid)).to.deep.equal([DEST]);
        for (const host of hosts) await test.cloud.host(host).start();
      }));
  }

  it('waits for migrations that are still in the queue (GS-3, GS-76)', () =>
    withCloud({}, async (test) => {
      const [first, ...others] = [await test.bootActive(), await test.bootActive(), await test.bootActive()];
      const copy = test.virt(SOURCE).steps.hold('copy-memory');
      await test.migrate(first);
      await copy.reached;
      for (const uuid of others) await test.migrate(uuid);
      for (const uuid of others) await test.migrationBecomes(uuid, 'queued');
      const drains = [await test.terminate(SOURCE), await test.terminate(DEST)];
      copy.release();
      for (const uuid of [first, ...others]) await test.migrationBecomes(uuid, 'completed');
      for (const { ended } of drains) expect((await ended).code).to.equal(0);
      for (const host of [SOURCE, DEST]) await test.cloud.host(host).start();
    }));

  it('waits until a boot in progress is active, and hears its external event meanwhile (GS-73, GS-74, GS-31, GS-63)', () =>
    withCloud({}, async (test) => {
      const uuid = await test.boot(SOURCE, (one) => {
        test.cloud.networking.hold(one);
      });
      await test.becomes(uuid, 'building/spawning');
      const { ended, hasEnded } = await test.terminate(SOURCE);
      expect(test.tasks(SOURCE)).to.deep.equal(['build_instance']);
      expect(hasEnded()).to.equal(false);
      test.arrived.length = 0;
      await test.cloud.networking.release(uuid);
      expect((await ended).code).to.equal(0);
      expect((await test.cloud.records.instances.get(uuid)).get('vm_state')).to.equal('active');
      expect(test.arrived).to.deep.equal([`external_instance_event @ compute-ops.${SOURCE}`]);
      await test.cloud.host(SOURCE).start();
    }));

  it('leaves a new boot in the queue, and builds it after the restart (GS-1, GS-16, GS-75, GS-101)', () =>
    withCloud({}, async (test) => {
      const building = await test.boot(SOURCE, (one) => {
        test.cloud.networking.hold(one);
      });
      await test.becomes(building, 'building/spawning');
      const { ended } = await test.terminate(SOURCE);
      test.arrived.length = 0;
      const queued = await test.boot(SOURCE);
      await test.cloud.networking.release(building);
      expect((await ended).code).to.equal(0);
      expect(test.arrived).to.deep.equal([`external_instance_event @ compute-ops.${SOURCE}`]);
      const waiting = await test.cloud.records.instances.get(queued);
      expect([waiting.get('vm_state'), waiting.get('task_state'), waiting.find('host')]).to.deep.equal([
        'building',
        'scheduling',
        null,
      ]);
      await test.cloud.host(SOURCE).start();
      await test.becomes(queued, 'active/-');
      expect(test.cloud.hypervisors.locate(queued)).to.deep.equal([SOURCE]);
      expect(test.cloud.host(SOURCE).runs).to.equal(2);
    }));

  it('begins nothing once its ops server has stopped: what comes then waits for the next start (B7, GS-1, GS-16)', () =>
    withCloud({}, async (test) => {
      const instance = await test.cloud.records.instances.get(await test.bootActive());
      const { service } = test.cloud.host(SOURCE).process;
      let late: Promise<void> | undefined;
      service.events.on('step', ({ phase, name }) => {
        if (phase !== 'started' || name !== 'cleanup') return;
        late = test.cloud.computeApi.cast({}, 'live_migration_force_complete', SOURCE, { instance });
      });
      test.arrived.length = 0;
      const { code } = await (await test.terminate(SOURCE)).ended;
      await late;
      expect([code, test.arrived]).to.deep.equal([0, []]);
      await test.cloud.host(SOURCE).start();
      await until(() => test.arrived.length > 0);
      expect(test.arrived).to.deep.equal([`live_migration_force_complete @ compute-ops.${SOURCE}`]);
    }));

  it('rejects a live migration that is asked for afterwards, at once (GS-44)', () =>
    withCloud({}, async (test) => {
      const uuid = await test.bootActive();
      const building = await test.boot(DEST, (one) => {
        test.cloud.networking.hold(one);
      });
      await test.becomes(building, 'building/spawning');
      const { ended } = await test.terminate(DEST);
      await test.migrate(uuid);
      await test.migrationBecomes(uuid, 'error');
      await test.becomes(uuid, 'active/-');
      await test.cloud.networking.release(building);
      await ended;
      await test.cloud.host(DEST).start();
    }));

  for (const [what, dest] of [
    ['to a host that is named', DEST],
    ['to any host', null],
  ] as const) {
    it(`lets no live migration begin that is asked for afterwards, ${what}, and says so at once (GS-44)`, () =>
      withCloud(NO_RECHECK, async (test) => {
        const uuid = await test.bootActive();
        const building = await test.boot(SOURCE, (one) => {
          test.cloud.networking.hold(one);
        });
        await test.becomes(building, 'building/spawning');
        const { ended, hasEnded } = await test.terminate(SOURCE);
        await eventually('it is recorded', 2000, async () => {
          return (await test.cloud.records.services.get('compute', SOURCE)).state === 'draining';
        });
        test.arrived.length = 0;
        await test.migrate(uuid, dest);
        await test.migrationBecomes(uuid, 'error');
        await test.becomes(uuid, 'active/-');
        expect([hasEnded(), test.arrived]).to.deep.equal([false, []]); // nobody was asked
        await test.cloud.networking.release(building);
        expect((await ended).code).to.equal(0);
        expect(await liveOutcomeNow(test, uuid)).to.deep.equal(stayed('error'));
        await test.cloud.host(SOURCE).start();
      }));
  }

  it('is not called with anything new: its caller is told at once, and nothing waits in its queue (GS-1, GS-44)', () =>
    withCloud({}, async (test) => {
      const { records, computeApi } = test.cloud;
      const api = new ComputeApi(computeApi.transport, { services: records.services });
      const building = await test.boot(DEST, (one) => {
        test.cloud.networking.hold(one);
      });
      await test.becomes(building, 'building/spawning');
      const { ended } = await test.terminate(DEST);
      await eventually('it is recorded', 2000, async () => {
        return (await records.services.get('compute', DEST)).state === 'draining';
      });
      expect(await codeOf(api.call({}, 'get_host_uptime', DEST, {}))).to.equal('ERR_DRAINING');
      expect(await api.call({}, 'check_instance_shared_storage', DEST, { data: {} })).to.equal(false); // on ops
      await test.cloud.networking.release(building);
      await ended;
      await test.cloud.host(DEST).start();
      expect(await api.call({}, 'get_host_uptime', DEST, {})).to.be.a('string');
      expect(test.arrived.filter((one) => one.startsWith('get_host_uptime'))).to.have.length(1);
    }));

  it('does the same whichever server a request comes to (GS-28, GS-30, GS-33)', () =>
    withCloud({}, async (test) => {
      const { newRequestServer, opsServer } = test.cloud.host(SOURCE).process;
      expect(opsServer?.target.exchange).to.equal(newRequestServer.target.exchange);
      const send = async (topic: string): Promise<void> => {
        const uuid = await test.boot(SOURCE, (one) => {
          test.cloud.networking.hold(one);
        });
        const instance = await test.becomes(uuid, 'building/spawning');
        const [tag = ''] = await test.cloud.networking.portsOf(uuid);
        const event = { instance_uuid: uuid, name: 'network-vif-plugged', status: 'completed', tag } as const;
        const events = [InstanceExternalEvent.create(event)];
        await test
          .apiOn(topic)
          .cast({}, 'external_instance_event', SOURCE, { instances: [instance], events });
        await test.becomes(uuid, 'active/-');
        expect(test.arrived.at(-1)).to.equal(`external_instance_event @ ${topic}.${SOURCE}`);
      };
      await send('compute');
      await send('compute-ops');
      for (const topic of ['compute', 'compute-ops']) {
        const asked = test.apiOn(topic).call({}, 'check_instance_shared_storage', SOURCE, { data: {} });
        expect(await asked).to.equal(false);
      }
    }));

  describe('without an ops server (GS-4)', () => {
    const options = { opsServer: false, rpcTimeoutMs: 150, tasksMs: 600 } as const;

    it('breaks a running migration when the destination is terminated: its last call finds nobody', () =>
      withCloud(options, async (test) => {
        const uuid = await test.bootActive();
        const copy = test.virt(SOURCE).steps.hold('copy-memory');
        await test.migrate(uuid);
        await copy.reached;
        const { ended } = await test.terminate(DEST);
        copy.release();
        await test.migrationBecomes(uuid, 'error');
        await ended;
        expect((await test.cloud.records.instances.get(uuid)).get('vm_state')).to.equal('error');
        await test.cloud.host(DEST).start();
      }));

    it('breaks a boot when its host is terminated: its external event finds nobody', () =>
      withCloud(options, async (test) => {
        const uuid = await test.boot(SOURCE, (one) => {
          test.cloud.networking.hold(one);
        });
        await test.becomes(uuid, 'building/spawning');
        const { ended } = await test.terminate(SOURCE);
        await test.cloud.networking.release(uuid);
        const { code, report } = await ended;
        expect(code).to.equal(3);
        expect(report.unfinished.map(({ name }) => name)).to.deep.equal(['build_instance']);
        const instance = await test.cloud.records.instances.get(uuid);
        expect([instance.get('vm_state'), instance.get('task_state')]).to.deep.equal([
          'building',
          'spawning',
        ]);
        await test.cloud.host(SOURCE).start();
      }));
  });
});
