import type { TaskState } from '@ebbgate/compute';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { bereft, evacuateTo, evacuation, expectTakenBack, THIRD, THREE } from './evacuation-words.js';
import { codeOf, DEST, SOURCE, withCloud } from './test-cloud.js';

type Task = Exclude<TaskState, null>;

/** As a record, so that the compiler says when one is missing. */
const TASKS: Readonly<Record<Task, true>> = {
  scheduling: true,
  networking: true,
  block_device_mapping: true,
  spawning: true,
  migrating: true,
  resize_prep: true,
  resize_migrating: true,
  resize_migrated: true,
  resize_finish: true,
  resize_reverting: true,
  deleting: true,
  'powering-on': true,
  'powering-off': true,
  rebooting: true,
  reboot_started: true,
  rebooting_hard: true,
  reboot_started_hard: true,
  image_snapshot_pending: true,
  image_snapshot: true,
  image_uploading: true,
  rebuilding: true,
  rebuild_block_device_mapping: true,
  rebuild_spawning: true,
  pausing: true,
  unpausing: true,
  suspending: true,
  resuming: true,
  rescuing: true,
  unrescuing: true,
  updating_password: true,
  shelving: true,
  shelving_image_pending_upload: true,
  shelving_image_uploading: true,
  shelving_offloading: true,
  unshelving: true,
};

describe('evacuating an instance', () => {
  it('makes it anew on another host, claims it there, and hears its event there (GS-63)', () =>
    withCloud({}, async (test) => {
      const uuid = await bereft(test);
      test.arrived.length = 0;
      test.states.length = 0;
      await test.cloud.rebuilds.evacuate({}, uuid);
      const migration = await test.migrationBecomes(uuid, 'done');
      await test.idle(DEST);
      expect(migration.get('dest_compute')).to.equal(DEST);
      expect(test.statuses).to.deep.equal(['accepted', 'pre-migrating', 'done']);
      expect(test.states).to.deep.equal([
        'active/rebuilding',
        'active/rebuild_block_device_mapping',
        'active/rebuild_spawning',
        'active/-',
      ]);
      expect(await test.stateOf(uuid)).to.equal(`active/-@${DEST}`);
      expect(test.cloud.networking.boundTo(uuid)).to.equal(DEST);
      expect(await test.allocatedOn(uuid)).to.deep.equal([SOURCE, DEST]); // what it had there goes with the clean-up
      expect(test.arrived).to.deep.equal([
        `rebuild_instance @ compute-ops.${DEST}`,
        `external_instance_event @ compute-ops.${DEST}`,
      ]);
    }));

  it('leaves one stopped that was stopped, and mends one in ERROR', () =>
    withCloud({}, async (test) => {
      const [off, broken] = [await test.bootActive(), await test.bootActive()];
      await test.cloud.actions.stop({}, off);
      await test.becomes(off, 'stopped/-');
      await test.cloud.records.instances.update(broken, { vm_state: 'error' });
      await test.crash(SOURCE);
      await test.cloud.rebuilds.evacuate({}, off);
      await test.cloud.rebuilds.evacuate({}, broken, DEST);
      await test.migrationBecomes(off, 'done');
      await test.migrationBecomes(broken, 'done');
      expect(await test.stateOf(off)).to.equal(`stopped/-@${DEST}`);
      expect(await test.virt(DEST).guestState(off)).to.equal('shutdown');
      expect(await test.stateOf(broken)).to.equal(`active/-@${DEST}`);
    }));

  it('is refused while the host is up, to that host itself, and to one that there is not', () =>
    withCloud({}, async (test) => {
      const { rebuilds } = test.cloud;
      const uuid = await test.bootActive();
      expect(await codeOf(rebuilds.evacuate({}, uuid))).to.equal('ERR_UNEXPECTED_STATE');
      await test.crash(SOURCE);
      expect(await codeOf(rebuilds.evacuate({}, uuid, SOURCE))).to.equal('ERR_UNEXPECTED_STATE');
      expect(await codeOf(rebuilds.evacuate({}, uuid, 'nowhere'))).to.equal('ERR_NOT_FOUND');
      expect(await test.stateOf(uuid)).to.equal(`active/-@${SOURCE}`);
      expect(await test.cloud.records.migrations.find({})).to.deep.equal([]);
    }));

  it('is refused while another one is under way', () =>
    withCloud({}, async (test) => {
      const uuid = await bereft(test);
      const held = test.virt(DEST).steps.hold('start-guest');
      await test.cloud.rebuilds.evacuate({}, uuid);
      await held.reached;
      expect(await codeOf(test.cloud.rebuilds.evacuate({}, uuid))).to.equal('ERR_UNEXPECTED_STATE');
      held.release();
      await test.migrationBecomes(uuid, 'done');
    }));

  for (const task of Object.keys(TASKS) as readonly Task[]) {
    it(`replaces the task that the host has died in: ${task} (COMP-17)`, () =>
      withCloud({}, async (test) => {
        const uuid = await bereft(test);
        await test.cloud.records.instances.update(uuid, { task_state: task });
        await test.cloud.rebuilds.evacuate({}, uuid);
        await test.migrationBecomes(uuid, 'done');
        expect(await test.stateOf(uuid)).to.equal(`active/-@${DEST}`);
      }));
  }

  it('ends a live migration that the host has died in, and gives back what it had claimed', () =>
    withCloud(THREE, async (test) => {
      const uuid = await test.bootActive();
      const copy = test.virt(SOURCE).steps.hold('copy-memory');
      await test.migrate(uuid);
      await copy.reached;
      await test.crash(SOURCE);
      await test.cloud.rebuilds.evacuate({}, uuid, THIRD);
      await test.migrationBecomes(uuid, 'done');
      await test.idle(DEST); // not engaged any more (B5)
      const [moved] = await test.cloud.records.migrations.find({ migration_type: 'live-migration' });
      expect(moved?.get('status')).to.equal('error');
      expect(await test.stateOf(uuid)).to.equal(`active/-@${THIRD}`);
      expect(await test.allocatedOn(uuid)).to.deep.equal([SOURCE, THIRD]);
    }));

  describe('that fails', () => {
    it('leaves the instance in ERROR where it was when no host takes it', () =>
      withCloud({}, async (test) => {
        const uuid = await bereft(test);
        await test.cloud.records.services.update('compute', DEST, { disabled: true });
        await test.cloud.rebuilds.evacuate({}, uuid);
        await test.migrationBecomes(uuid, 'error');
        await test.becomes(uuid, 'error/-');
        await expectTakenBack(test, uuid, 'error/-');
        expect(test.statuses).to.deep.equal(['accepted', 'error']);
      }));

    for (const step of ['create-disks', 'plug-vifs', 'start-guest'] as const) {
      it(`at ${step} on the new host leaves nothing there, and can be repeated`, () =>
        withCloud({}, async (test) => {
          const uuid = await bereft(test);
          test.virt(DEST).steps.failNext(step);
          await test.cloud.rebuilds.evacuate({}, uuid);
          await test.migrationBecomes(uuid, 'failed');
          await test.becomes(uuid, 'error/-');
          await expectTakenBack(test, uuid, 'error/-');
          await test.cloud.rebuilds.evacuate({}, uuid);
          await test.migrationBecomes(uuid, 'done');
          expect(await test.stateOf(uuid)).to.equal(`active/-@${DEST}`);
        }));
    }

    it('by its claim on the new host leaves the instance what it was', () =>
      withCloud(
        { resourcesOf: (host) => (host === DEST ? { vcpus: 0, memoryMb: 0, diskGb: 0 } : undefined) },
        async (test) => {
          const uuid = await bereft(test);
          await evacuateTo(test, uuid, DEST);
          await test.migrationBecomes(uuid, 'failed');
          await test.becomes(uuid, 'active/-');
          await expectTakenBack(test, uuid, 'active/-');
          expect(test.statuses).to.deep.equal(['accepted', 'failed']);
        },
      ));

    it('by a delete meanwhile, which the API does alone, leaves nothing anywhere', () =>
      withCloud({}, async (test) => {
        const uuid = await bereft(test);
        const held = test.virt(DEST).steps.hold('start-guest');
        await test.cloud.rebuilds.evacuate({}, uuid);
        await held.reached;
        await test.cloud.actions.delete({}, uuid);
        held.release();
        await test.migrationBecomes(uuid, 'failed');
        await test.idle(DEST);
        expect(await test.stateOf(uuid)).to.equal(`deleted/-@${SOURCE}`);
        expect(test.cloud.hypervisors.locate(uuid)).to.deep.equal([SOURCE]);
        expect(await test.allocatedOn(uuid)).to.deep.equal([]);
      }));

    it('is not begun by a message that comes late, or twice', () =>
      withCloud({}, async (test) => {
        const uuid = await bereft(test);
        const message = await evacuation(test, uuid, DEST);
        const send = (): Promise<void> => test.cloud.computeApi.cast({}, 'rebuild_instance', DEST, message);
        await Promise.all([send(), send()]);
        await test.migrationBecomes(uuid, 'done');
        await send();
        await test.cloud.computeApi.call({}, 'check_instance_shared_storage', DEST, { data: {} }); // comes after it
        await test.idle(DEST);
        expect(test.cloud.host(DEST).process.service.registry.counts.failed).to.equal(2);
        expect(test.statuses).to.deep.equal(['accepted', 'pre-migrating', 'done']);
        expect(await test.stateOf(uuid)).to.equal(`active/-@${DEST}`);
        expect(await test.allocatedOn(uuid)).to.deep.equal([SOURCE, DEST]);
      }));
  });

  it('is taken back at the next start when the new host has died in the middle, and can be repeated at once (COMP-07)', () =>
    withCloud(THREE, async (test) => {
      const uuid = await bereft(test);
      const held = test.virt(DEST).steps.hold('start-guest');
      await test.cloud.rebuilds.evacuate({}, uuid, DEST);
      await held.reached;
      await test.crash(DEST);
      held.release();
      await test.cloud.rebuilds.evacuate({}, uuid);
      await test.migrationBecomes(uuid, 'done');
      expect(await test.stateOf(uuid)).to.equal(`active/-@${THIRD}`);
      expect(await test.allocatedOn(uuid)).to.deep.equal([SOURCE, THIRD]);
      await test.revive(DEST);
      await test.idle(DEST);
      expect(test.cloud.hypervisors.locate(uuid)).to.deep.equal([SOURCE, THIRD]);
    }));

  it('that was cut off on the new host is failed by that host when it comes back first (COMP-07)', () =>
    withCloud({}, async (test) => {
      const uuid = await bereft(test);
      const held = test.virt(DEST).steps.hold('create-disks');
      await test.cloud.rebuilds.evacuate({}, uuid);
      await held.reached;
      await test.crash(DEST);
      held.release();
      await test.revive(DEST);
      await test.migrationBecomes(uuid, 'failed');
      await expectTakenBack(test, uuid, 'error/-');
    }));
});
