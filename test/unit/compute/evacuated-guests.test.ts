import { MessagingTimeoutError } from '@ebbgate/core';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { bereft } from './evacuation-words.js';
import { DEST, SOURCE, type TestCloud, withCloud } from './test-cloud.js';

describe('a host that comes back after its instances were evacuated', () => {
  const evacuated = async (test: TestCloud, vm = 'active'): Promise<string> => {
    const uuid = await bereft(test);
    await test.cloud.rebuilds.evacuate({}, uuid);
    await test.migrationBecomes(uuid, 'done');
    await test.becomes(uuid, `${vm}/-`);
    return uuid;
  };

  for (const sharedStorage of [true, false]) {
    it(`removes what is left of them, ${sharedStorage ? 'but not their disks, which are shared' : 'disks and all'}, before it serves (COMP-07, COMP-13)`, () =>
      withCloud({ sharedStorage }, async (test) => {
        const uuid = await evacuated(test);
        test.arrived.length = 0;
        await test.cloud.host(SOURCE).start();
        expect(test.cloud.hypervisors.locate(uuid)).to.deep.equal([DEST]);
        expect([...test.virt(SOURCE).keptDisks]).to.deep.equal(sharedStorage ? [uuid] : []);
        expect(await test.allocatedOn(uuid)).to.deep.equal([DEST]);
        expect(test.statuses.at(-1)).to.equal('completed');
        expect(await test.stateOf(uuid)).to.equal(`active/-@${DEST}`);
        expect(test.arrived[0]).to.equal(`check_instance_shared_storage @ compute-ops.${DEST}`);
        const { ended } = await test.terminate(SOURCE);
        await ended;
        await test.cloud.host(SOURCE).start(); // once more: there is nothing left to do
        expect(await test.stateOf(uuid)).to.equal(`active/-@${DEST}`);
      }));
  }

  it('keeps the disks when the new host does not say whether they are its own', () =>
    withCloud({ rpcTimeoutMs: 150 }, async (test) => {
      const uuid = await evacuated(test);
      test.virt(DEST).steps.failNext('check-shared-storage');
      await test.cloud.host(SOURCE).start();
      expect(test.cloud.hypervisors.locate(uuid)).to.deep.equal([DEST]);
      expect([...test.virt(SOURCE).keptDisks]).to.deep.equal([uuid]);
      expect(test.statuses.at(-1)).to.equal('completed');
    }));

  it('is answered while the new host drains (GS-59)', () =>
    withCloud({}, async (test) => {
      const busy = await test.bootActive(DEST);
      const uuid = await evacuated(test);
      const held = test.virt(DEST).steps.hold('upload-image');
      await test.cloud.actions.snapshot({}, busy);
      await held.reached;
      const { ended } = await test.terminate(DEST);
      await test.cloud.host(SOURCE).start();
      expect(test.cloud.hypervisors.locate(uuid)).to.deep.equal([DEST]);
      expect([...test.virt(SOURCE).keptDisks]).to.deep.equal([]);
      held.release();
      expect((await ended).code).to.equal(0);
      await test.cloud.host(DEST).start();
    }));

  it('waits until the records can be reached: the order of starts is free (COMP-08)', () =>
    withCloud({}, async (test) => {
      const uuid = await evacuated(test);
      const { migrations } = test.cloud.records;
      const find = migrations.find.bind(migrations);
      let failures = 0;
      migrations.find = (where) => {
        if (failures === 2) return find(where);
        failures += 1;
        return Promise.reject(new MessagingTimeoutError('nobody answers yet'));
      };
      await test.cloud.host(SOURCE).start();
      expect(failures).to.equal(2);
      expect(test.cloud.hypervisors.locate(uuid)).to.deep.equal([DEST]);
      expect(test.statuses.at(-1)).to.equal('completed');
    }));

  it('does not let one that cannot be removed keep the others, or itself from starting (COMP-15)', () =>
    withCloud({}, async (test) => {
      const uuids = [await test.bootActive(), await test.bootActive()];
      await test.crash(SOURCE);
      for (const uuid of uuids) {
        await test.cloud.rebuilds.evacuate({}, uuid);
        await test.migrationBecomes(uuid, 'done');
      }
      test.virt(SOURCE).steps.failNext('destroy');
      await test.cloud.host(SOURCE).start();
      for (const uuid of uuids) {
        await test.migrationBecomes(uuid, 'completed'); // the first at the next look
        expect(test.cloud.hypervisors.locate(uuid)).to.deep.equal([DEST]);
      }
    }));

  it('removes also one that was deleted since', () =>
    withCloud({ sharedStorage: true }, async (test) => {
      const uuid = await evacuated(test);
      await test.cloud.actions.delete({}, uuid);
      await test.becomes(uuid, 'deleted/-');
      await test.cloud.host(SOURCE).start();
      expect(test.cloud.hypervisors.locate(uuid)).to.deep.equal([]);
      expect([...test.virt(SOURCE).keptDisks]).to.deep.equal([]);
      expect(test.statuses.at(-1)).to.equal('completed');
    }));

  it('shuts down, and does not destroy, what is being evacuated: removes it when that is done (COMP-14, decision 32)', () =>
    withCloud({}, async (test) => {
      const uuid = await bereft(test);
      const held = test.virt(DEST).steps.hold('create-disks');
      await test.cloud.rebuilds.evacuate({}, uuid);
      await held.reached;
      await test.cloud.host(SOURCE).start();
      expect(await test.virt(SOURCE).guestState(uuid)).to.equal('shutdown');
      expect(await test.stateOf(uuid)).to.equal(`active/rebuild_spawning@${SOURCE}`);
      held.release();
      await test.migrationBecomes(uuid, 'completed');
      await test.idle(SOURCE);
      expect(test.cloud.hypervisors.locate(uuid)).to.deep.equal([DEST]);
      expect(await test.allocatedOn(uuid)).to.deep.equal([DEST]);
    }));

  it('still has the guest when the evacuation fails, which can then be mended there', () =>
    withCloud({}, async (test) => {
      const uuid = await bereft(test);
      const held = test.virt(DEST).steps.hold('create-disks');
      test.virt(DEST).steps.failNext('create-disks');
      await test.cloud.rebuilds.evacuate({}, uuid);
      await held.reached;
      await test.cloud.host(SOURCE).start();
      held.release();
      await test.migrationBecomes(uuid, 'failed');
      await test.becomes(uuid, 'error/-');
      expect(await test.virt(SOURCE).guestState(uuid)).to.equal('shutdown');
      await test.callUp(SOURCE);
      await test.cloud.actions.reboot({}, uuid, 'hard');
      await test.becomes(uuid, 'active/-');
      expect(await test.virt(SOURCE).guestState(uuid)).to.equal('running');
    }));
});
