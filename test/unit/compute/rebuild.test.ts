import type { VirtStep } from '@ebbgate/compute';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { codeOf, DEST, SOURCE, type TestCloud, withCloud } from './test-cloud.js';

const IMAGE = '11111111-2222-4333-8444-555555555555';

/** Keeps a host busy, so that a drain of it waits; resolves with what ends that. */
async function keepBusy(test: TestCloud, host: string = SOURCE): Promise<() => void> {
  const uuid = await test.bootActive(host);
  const held = test.virt(host).steps.hold('upload-image');
  await test.cloud.actions.snapshot({}, uuid);
  await held.reached;
  return held.release;
}

describe('rebuilding an instance', () => {
  it('makes it anew where it is, of another image, over the ops topic (GS-64)', () =>
    withCloud({}, async (test) => {
      const uuid = await test.bootActive();
      test.arrived.length = 0;
      test.states.length = 0;
      await test.cloud.rebuilds.rebuild({}, uuid, IMAGE);
      const instance = await test.becomes(uuid, 'active/-');
      await test.idle(SOURCE);
      expect(test.states).to.deep.equal([
        'active/rebuilding',
        'active/rebuild_block_device_mapping',
        'active/rebuild_spawning',
        'active/-',
      ]);
      expect(instance.get('image_ref')).to.equal(IMAGE);
      expect(test.cloud.hypervisors.locate(uuid)).to.deep.equal([SOURCE]);
      expect(test.cloud.networking.boundTo(uuid)).to.equal(SOURCE);
      expect(await test.allocatedOn(uuid)).to.deep.equal([SOURCE]);
      expect(test.arrived).to.deep.equal([
        `rebuild_instance @ compute-ops.${SOURCE}`,
        `external_instance_event @ compute-ops.${SOURCE}`,
      ]);
    }));

  it('leaves one stopped that was stopped', () =>
    withCloud({}, async (test) => {
      const uuid = await test.bootActive();
      await test.cloud.actions.stop({}, uuid);
      await test.becomes(uuid, 'stopped/-');
      await test.idle(SOURCE);
      await test.cloud.rebuilds.rebuild({}, uuid);
      await test.becomes(uuid, 'active/powering-off');
      await test.becomes(uuid, 'stopped/-');
      await test.idle(SOURCE);
      expect(await test.virt(SOURCE).guestState(uuid)).to.equal('shutdown');
    }));

  it('mends one in ERROR', () =>
    withCloud({}, async (test) => {
      test.virt(SOURCE).steps.failNext('destroy');
      const uuid = await test.bootActive();
      await test.cloud.actions.delete({}, uuid);
      await test.becomes(uuid, 'error/-');
      await test.idle(SOURCE);
      await test.cloud.rebuilds.rebuild({}, uuid);
      await test.becomes(uuid, 'active/-');
    }));

  const failures: readonly VirtStep[] = ['power-off', 'destroy', 'create-disks', 'plug-vifs', 'start-guest'];
  for (const step of failures) {
    it(`leaves it in ERROR on its host when the hypervisor fails at ${step}, and can be repeated`, () =>
      withCloud({}, async (test) => {
        const uuid = await test.bootActive();
        test.virt(SOURCE).steps.failNext(step);
        await test.cloud.rebuilds.rebuild({}, uuid);
        await test.becomes(uuid, 'error/-');
        await test.idle(SOURCE);
        expect(await test.stateOf(uuid)).to.equal(`error/-@${SOURCE}`);
        const left = step === 'power-off' || step === 'destroy' ? [SOURCE] : [];
        expect(test.cloud.hypervisors.locate(uuid)).to.deep.equal(left);
        expect(await test.allocatedOn(uuid)).to.deep.equal([SOURCE]);
        await test.cloud.rebuilds.rebuild({}, uuid);
        await test.becomes(uuid, 'active/-');
        expect(test.cloud.hypervisors.locate(uuid)).to.deep.equal([SOURCE]);
      }));
  }

  it('stays active, and runs, when only the last power-off of a stopped one fails', () =>
    withCloud({}, async (test) => {
      const uuid = await test.bootActive();
      await test.cloud.actions.stop({}, uuid);
      await test.becomes(uuid, 'stopped/-');
      await test.idle(SOURCE);
      test.virt(SOURCE).steps.failNext('power-off');
      await test.cloud.rebuilds.rebuild({}, uuid);
      await test.becomes(uuid, 'active/-');
      await test.idle(SOURCE);
      expect(await test.virt(SOURCE).guestState(uuid)).to.equal('running');
    }));

  it('gets its old image back, and ends in ERROR, when no conductor can hand it to its host', () =>
    withCloud({}, async (test) => {
      const uuid = await test.bootActive();
      const before = (await test.cloud.records.instances.get(uuid)).get('image_ref');
      const instance = await test.cloud.records.instances.update(uuid, {
        task_state: 'rebuilding',
        image_ref: IMAGE,
        host: null,
      });
      await test.askConductorToRebuild(instance, { image_ref: IMAGE, orig_image_ref: before });
      await test.becomes(uuid, 'error/-');
      expect((await test.cloud.records.instances.get(uuid)).get('image_ref')).to.equal(before);
    }));

  it('does nothing when it is not wanted any more when it comes', () =>
    withCloud({}, async (test) => {
      const uuid = await test.bootActive();
      const instance = await test.cloud.records.instances.get(uuid);
      await test.askConductorToRebuild(instance, {});
      await test.cloud.computeApi.call({}, 'get_host_uptime', SOURCE, {});
      await test.idle(SOURCE);
      expect(await test.stateOf(uuid)).to.equal(`active/-@${SOURCE}`);
      expect(await test.virt(SOURCE).guestState(uuid)).to.equal('running');
    }));

  it('is ended by a delete', () =>
    withCloud({}, async (test) => {
      const uuid = await test.bootActive();
      const held = test.virt(SOURCE).steps.hold('start-guest');
      await test.cloud.rebuilds.rebuild({}, uuid);
      await held.reached;
      await test.cloud.actions.delete({}, uuid);
      await test.becomes(uuid, 'deleted/-');
      await test.idle(SOURCE);
      expect(test.cloud.hypervisors.locate(uuid)).to.deep.equal([]);
    }));

  it('that has begun is waited for by a drain, and hears its event meanwhile (GS-2, GS-5, GS-31, GS-63)', () =>
    withCloud({}, async (test) => {
      const uuid = await test.bootActive();
      test.cloud.networking.hold(uuid);
      await test.cloud.rebuilds.rebuild({}, uuid);
      await test.becomes(uuid, 'active/rebuild_spawning');
      const { ended, hasEnded } = await test.terminate(SOURCE);
      expect(hasEnded()).to.equal(false);
      expect(test.tasks(SOURCE)).to.deep.equal(['rebuild_instance']);
      await test.cloud.networking.release(uuid);
      expect((await ended).code).to.equal(0);
      expect(await test.stateOf(uuid)).to.equal(`active/-@${SOURCE}`);
      await test.revive(SOURCE);
    }));

  it('that comes after the drain has begun goes to the new-request queue, and is done at the next start without passing through ERROR (GS-1, GS-64, GS-101)', () =>
    withCloud({}, async (test) => {
      const uuid = await test.bootActive();
      const release = await keepBusy(test);
      const { ended } = await test.terminate(SOURCE);
      test.arrived.length = 0;
      test.states.length = 0;
      const handedOn = test.handedOn(SOURCE);
      await test.cloud.rebuilds.rebuild({}, uuid);
      await handedOn;
      expect(await test.virt(SOURCE).guestState(uuid)).to.equal('running');
      release();
      const { code, report } = await ended;
      expect([code, report.unfinished]).to.deep.equal([0, []]);
      expect(test.arrived).to.deep.equal([`rebuild_instance @ compute-ops.${SOURCE}`]);
      expect(await test.stateOf(uuid)).to.equal(`active/rebuilding@${SOURCE}`);
      await test.revive(SOURCE);
      await test.becomes(uuid, 'active/-');
      await test.idle(SOURCE);
      expect(test.arrived[1]).to.equal(`rebuild_instance @ compute.${SOURCE}`);
      expect(test.states.filter((state) => state.startsWith('error'))).to.deep.equal([]);
    }));

  it('that was handed on is looked at first when its turn comes: a delete may have come between', () =>
    withCloud({}, async (test) => {
      const uuid = await test.bootActive();
      const release = await keepBusy(test);
      const { ended } = await test.terminate(SOURCE);
      const handedOn = test.handedOn(SOURCE);
      await test.cloud.rebuilds.rebuild({}, uuid);
      await handedOn;
      await test.cloud.actions.delete({}, uuid);
      release();
      await ended;
      await test.revive(SOURCE);
      await test.becomes(uuid, 'deleted/-');
      await test.idle(SOURCE);
      expect(test.cloud.hypervisors.locate(uuid)).to.deep.equal([]);
    }));

  it('is in ERROR at the next start when the host has died in the middle of it (COMP-07)', () =>
    withCloud({}, async (test) => {
      const uuid = await test.bootActive();
      const held = test.virt(SOURCE).steps.hold('create-disks');
      await test.cloud.rebuilds.rebuild({}, uuid);
      await held.reached;
      await test.crash(SOURCE);
      held.release();
      await test.revive(SOURCE);
      await test.becomes(uuid, 'error/-');
      await test.cloud.records.services.update('compute', SOURCE, { forcedDown: false });
      await test.cloud.rebuilds.rebuild({}, uuid);
      await test.becomes(uuid, 'active/-');
    }));

  it('is begun on the new-request topic where receivers are too old for ops (GS-40)', () =>
    withCloud({ opsServer: false }, async (test) => {
      const uuid = await test.bootActive();
      await test.cloud.rebuilds.rebuild({}, uuid);
      await test.becomes(uuid, 'active/-');
      expect(test.arrived).to.include(`rebuild_instance @ compute.${SOURCE}`);
    }));

  it('is refused in a state that does not allow it', () =>
    withCloud({}, async (test) => {
      const uuid = await test.bootActive();
      await test.cloud.records.instances.update(uuid, { vm_state: 'paused' });
      expect(await codeOf(test.cloud.rebuilds.rebuild({}, uuid, IMAGE))).to.equal('ERR_UNEXPECTED_STATE');
      expect((await test.cloud.records.instances.get(uuid)).get('image_ref')).to.not.equal(IMAGE);
      expect(test.cloud.hypervisors.locate(uuid)).to.not.include(DEST);
    }));
});
