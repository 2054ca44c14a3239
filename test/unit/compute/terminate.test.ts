import type { VirtStep } from '@ebbgate/compute';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { BIGGER } from './resize-words.js';
import { codeOf, DEST, SOURCE, type TestCloud, withCloud } from './test-cloud.js';

/** Nothing of the instance is left, on any host. */
async function expectGone(test: TestCloud, uuid: string): Promise<void> {
  await test.becomes(uuid, 'deleted/-');
  await test.idle(SOURCE);
  await test.idle(DEST);
  expect(test.cloud.hypervisors.locate(uuid)).to.deep.equal([]);
  expect(test.cloud.hypervisors.expected()).to.deep.equal([]);
  expect(await test.cloud.networking.portsOf(uuid)).to.deep.equal([]);
  expect(await test.cloud.records.allocations.find({})).to.deep.equal([]);
  const instance = await test.cloud.records.instances.get(uuid);
  expect(instance.get('vm_state')).to.equal('deleted');
  expect(instance.get('deleted')).to.equal(true);
  expect(instance.get('power_state')).to.equal(0);
}

describe('deleting an instance', () => {
  it('removes the guest, its ports, its resources and then the record', () =>
    withCloud({}, async (test) => {
      const uuid = await test.bootActive();
      test.arrived.length = 0;
      await test.cloud.actions.delete({}, uuid);
      await expectGone(test, uuid);
      expect(test.arrived).to.deep.equal([`terminate_instance @ compute.${SOURCE}`]);
      expect(await test.cloud.records.instances.find({ uuid })).to.deep.equal([]);
    }));

  it('leaves it in ERROR when the hypervisor fails, and can be asked for again', () =>
    withCloud({}, async (test) => {
      const uuid = await test.bootActive();
      test.virt(SOURCE).steps.failNext('destroy');
      await test.cloud.actions.delete({}, uuid);
      await test.becomes(uuid, 'error/-');
      await test.idle(SOURCE);
      expect(test.cloud.hypervisors.locate(uuid)).to.deep.equal([SOURCE]);
      expect(await test.allocatedOn(uuid)).to.deep.equal([SOURCE]);
      await test.cloud.actions.delete({}, uuid);
      await expectGone(test, uuid);
      expect(await codeOf(test.cloud.actions.delete({}, uuid))).to.equal('ERR_UNEXPECTED_STATE');
    }));

  for (const step of ['create-disks', 'start-guest'] as const) {
    it(`cancels a build at ${step}, which leaves nothing behind`, () =>
      withCloud({}, async (test) => {
        const held = test.virt(SOURCE).steps.hold(step);
        const uuid = await test.boot();
        await held.reached;
        await test.cloud.actions.delete({}, uuid); // the step is never let go on
        await expectGone(test, uuid);
        expect(test.states).to.not.include('error/-');
      }));
  }

  it('cancels a build that waits for its interfaces', () =>
    withCloud({}, async (test) => {
      const uuid = await test.boot(SOURCE, (one) => {
        test.cloud.networking.hold(one);
      });
      await test.becomes(uuid, 'building/spawning');
      await test.cloud.actions.delete({}, uuid);
      await expectGone(test, uuid);
    }));

  it('deletes at once what is on no host yet; a build that comes later finds that it is not wanted', () =>
    withCloud({}, async (test) => {
      const other = await test.bootActive();
      const held = test.virt(SOURCE).steps.hold('power-off');
      await test.cloud.actions.stop({}, other);
      await held.reached;
      const { ended } = await test.terminate(SOURCE);
      const uuid = await test.boot(SOURCE); // stays in the queue of the host that drains
      await test.becomes(uuid, 'building/scheduling');
      await test.cloud.actions.delete({}, uuid);
      await test.becomes(uuid, 'deleted/-');
      held.release();
      await ended;
      await test.cloud.host(SOURCE).start();
      await test.cloud.computeApi.call({}, 'get_host_uptime', SOURCE, {});
      await test.idle(SOURCE);
      expect(await test.stateOf(uuid)).to.equal('deleted/-@null');
      expect(test.cloud.hypervisors.locate(uuid)).to.deep.equal([]);
      expect(await test.allocatedOn(uuid)).to.deep.equal([]);
    }));

  for (const step of ['copy-memory', 'switch-over'] as const) {
    it(`takes a live migration back whose guest has not left (${step}), then deletes at the source`, () =>
      withCloud({}, async (test) => {
        const uuid = await test.bootActive();
        const held = test.virt(SOURCE).steps.hold(step);
        await test.migrate(uuid);
        await held.reached;
        await test.cloud.actions.delete({}, uuid);
        await test.migrationBecomes(uuid, 'cancelled');
        await expectGone(test, uuid);
      }));
  }

  it('takes a live migration back that waits for its turn', () =>
    withCloud({}, async (test) => {
      const [first, second] = [await test.bootActive(), await test.bootActive()];
      const held = test.virt(SOURCE).steps.hold('copy-memory');
      await test.migrate(first);
      await held.reached;
      await test.migrate(second);
      await test.migrationBecomes(second, 'queued');
      await test.cloud.actions.delete({}, second);
      await test.becomes(second, 'deleted/-');
      held.release();
      await test.migrationBecomes(first, 'completed');
      await test.cloud.actions.delete({}, first);
      await expectGone(test, first);
      expect((await test.migrationBecomes(second, 'cancelled')).get('dest_compute')).to.equal(DEST);
    }));

  const late: readonly (readonly [string, VirtStep, typeof SOURCE | typeof DEST])[] = [
    ['is being cleaned up after at the source', 'post-at-source', SOURCE],
    ['is being taken over at the destination', 'post-at-destination', DEST],
  ];
  for (const [what, step, host] of late) {
    it(`waits for a live migration that ${what}, then follows the guest`, () =>
      withCloud({}, async (test) => {
        const uuid = await test.bootActive();
        const held = test.virt(host).steps.hold(step);
        await test.migrate(uuid);
        await held.reached;
        await test.cloud.actions.delete({}, uuid);
        expect(test.cloud.hypervisors.locate(uuid)).to.deep.equal([DEST]);
        held.release();
        await test.migrationBecomes(uuid, 'completed');
        await expectGone(test, uuid);
        expect(test.arrived.filter((one) => one.startsWith('terminate_instance'))).to.deep.equal([
          `terminate_instance @ compute.${SOURCE}`,
          `terminate_instance @ compute.${DEST}`,
        ]);
      }));
  }

  it('follows the guest also when the destination could not finish', () =>
    withCloud({}, async (test) => {
      const uuid = await test.bootActive();
      const held = test.virt(DEST).steps.hold('post-at-destination');
      test.virt(DEST).steps.failNext('post-at-destination');
      await test.migrate(uuid);
      await held.reached;
      await test.cloud.actions.delete({}, uuid);
      held.release();
      await expectGone(test, uuid);
    }));

  it('ends a snapshot and leaves no image', () =>
    withCloud({}, async (test) => {
      const uuid = await test.bootActive();
      const held = test.virt(SOURCE).steps.hold('upload-image');
      await test.cloud.actions.snapshot({}, uuid);
      await held.reached;
      await test.cloud.actions.delete({}, uuid);
      await expectGone(test, uuid);
      expect([...test.virt(SOURCE).images]).to.deep.equal([]);
    }));

  it('confirms a resize that has not been confirmed, so that nothing stays at its source', () =>
    withCloud({}, async (test) => {
      const uuid = await test.bootActive();
      await test.cloud.moves.resize({}, uuid, BIGGER);
      await test.becomes(uuid, 'resized/-');
      await test.cloud.actions.delete({}, uuid);
      await test.migrationBecomes(uuid, 'confirmed');
      await expectGone(test, uuid);
      expect(test.virt(SOURCE).kept).to.deep.equal([]);
    }));

  it('is done by the API alone when the host is down, which removes the guest when it comes back (COMP-07)', () =>
    withCloud({}, async (test) => {
      const uuid = await test.bootActive();
      await test.crash(SOURCE);
      await test.cloud.actions.delete({}, uuid);
      expect(await test.stateOf(uuid)).to.equal(`deleted/-@${SOURCE}`);
      expect(await test.allocatedOn(uuid)).to.deep.equal([]);
      await test.revive(SOURCE);
      await test.idle(SOURCE);
      expect(await test.stateOf(uuid)).to.equal(`deleted/-@${SOURCE}`);
      expect(test.cloud.hypervisors.locate(uuid)).to.deep.equal([]);
    }));

  it('is waited for by a drain, and ends before the exit (GS-2, GS-5, GS-6, GS-76)', () =>
    withCloud({}, async (test) => {
      const uuid = await test.bootActive();
      const held = test.virt(SOURCE).steps.hold('destroy');
      await test.cloud.actions.delete({}, uuid);
      await held.reached;
      const { ended, hasEnded } = await test.terminate(SOURCE);
      expect(hasEnded()).to.equal(false);
      expect(test.tasks(SOURCE)).to.deep.equal(['terminate_instance']);
      held.release();
      expect((await ended).code).to.equal(0);
      await test.cloud.host(SOURCE).start();
      await expectGone(test, uuid);
    }));

  it('comes after the drain when it was asked for in it: it stays in the queue (GS-1, GS-101)', () =>
    withCloud({}, async (test) => {
      const uuid = await test.boot(SOURCE, (one) => {
        test.cloud.networking.hold(one);
      });
      await test.becomes(uuid, 'building/spawning');
      const { ended } = await test.terminate(SOURCE);
      await test.cloud.actions.delete({}, uuid);
      await test.cloud.networking.release(uuid);
      expect((await ended).code).to.equal(0); // the build found that it is not wanted, and left nothing
      await test.cloud.host(SOURCE).start();
      await expectGone(test, uuid);
    }));
});
