import { expect } from 'chai';
import { describe, it } from 'mocha';
import { codeOf, DEST, SOURCE, type TestCloud, withCloud } from './test-cloud.js';

const STAYS = { host: { shelvedOffloadMs: null } };

async function shelved(test: TestCloud): Promise<{ readonly uuid: string; readonly image: string | null }> {
  const uuid = await test.bootActive();
  const image = await test.cloud.controls.shelve({}, uuid);
  await test.watch.instance(
    uuid,
    (one) => one.get('vm_state').startsWith('shelved') && one.get('task_state') === null,
    {
      timeoutMs: 4000,
    },
  );
  await test.idle(SOURCE);
  return { uuid, image };
}

describe('shelving an instance', () => {
  it('makes an image of it, and frees its host', () =>
    withCloud({}, async (test) => {
      const { uuid, image } = await shelved(test);
      expect(test.states.slice(test.states.indexOf('active/shelving'))).to.deep.equal([
        'active/shelving',
        'active/shelving_image_pending_upload',
        'active/shelving_image_uploading',
        'shelved/shelving_offloading',
        'shelved_offloaded/-',
      ]);
      expect(await test.stateOf(uuid)).to.equal('shelved_offloaded/-@null');
      expect(test.cloud.hypervisors.images.has(String(image))).to.equal(true);
      expect(test.cloud.hypervisors.locate(uuid)).to.deep.equal([]);
      expect(await test.allocatedOn(uuid)).to.deep.equal([]);
    }));

  it('brings it back on a host that is chosen then, and removes the image', () =>
    withCloud({}, async (test) => {
      const { uuid, image } = await shelved(test);
      await test.cloud.records.services.update('compute', SOURCE, { disabled: true });
      await test.cloud.controls.unshelve({}, uuid);
      const instance = await test.becomes(uuid, 'active/-');
      await test.idle(DEST);
      expect(instance.get('host')).to.equal(DEST);
      expect(Object.keys(instance.get('system_metadata'))).to.not.include('shelved_image_id');
      expect(test.cloud.hypervisors.locate(uuid)).to.deep.equal([DEST]);
      expect(await test.allocatedOn(uuid)).to.deep.equal([DEST]);
      expect(test.cloud.networking.boundTo(uuid)).to.equal(DEST);
      expect(test.cloud.hypervisors.images.has(String(image))).to.equal(false);
    }));

  it('leaves it where it is when it shall stay: it is started there, or leaves when that is asked for', () =>
    withCloud(STAYS, async (test) => {
      const { uuid } = await shelved(test);
      expect(await test.stateOf(uuid)).to.equal(`shelved/-@${SOURCE}`);
      await test.cloud.controls.unshelve({}, uuid);
      await test.becomes(uuid, 'active/-');
      await test.idle(SOURCE);
      expect(await test.virt(SOURCE).guestState(uuid)).to.equal('running');
      expect(test.cloud.hypervisors.images.list()).to.deep.equal([]);
      await test.cloud.controls.shelve({}, uuid);
      await test.becomes(uuid, 'shelved/-');
      await test.cloud.controls.shelveOffload({}, uuid);
      await test.becomes(uuid, 'shelved_offloaded/-');
      expect(test.cloud.hypervisors.locate(uuid)).to.deep.equal([]);
    }));

  it('frees the host after a time', () =>
    withCloud({ host: { shelvedOffloadMs: 30 } }, async (test) => {
      const { uuid } = await shelved(test);
      await test.becomes(uuid, 'shelved_offloaded/-');
      await test.idle(SOURCE);
      expect(await test.allocatedOn(uuid)).to.deep.equal([]);
      expect(test.states).to.include('shelved/-');
    }));

  for (const [step, end] of [
    ['power-off', 'active/-'],
    ['upload-image', 'stopped/-'],
  ] as const) {
    it(`that fails (${step}) leaves it ${end}, and a second try works`, () =>
      withCloud({}, async (test) => {
        const uuid = await test.bootActive();
        test.virt(SOURCE).steps.failNext(step);
        await test.cloud.controls.shelve({}, uuid);
        await test.becomes(uuid, end);
        await test.idle(SOURCE);
        expect(await test.allocatedOn(uuid)).to.deep.equal([SOURCE]);
        await test.cloud.controls.shelve({}, uuid);
        await test.becomes(uuid, 'shelved_offloaded/-');
      }));
  }

  it('takes an instance back that cannot be made again: nothing of it stays anywhere', () =>
    withCloud({}, async (test) => {
      const { uuid } = await shelved(test);
      for (const host of [SOURCE, DEST]) test.virt(host).steps.failNext('start-guest');
      test.states.length = 0;
      await test.cloud.controls.unshelve({}, uuid);
      await test.watch.instance(uuid, () => test.states.includes('shelved_offloaded/spawning'), {
        timeoutMs: 4000,
      });
      await test.becomes(uuid, 'shelved_offloaded/-');
      for (const host of [SOURCE, DEST]) await test.idle(host);
      expect(await test.stateOf(uuid)).to.equal('shelved_offloaded/-@null');
      expect(test.cloud.hypervisors.locate(uuid)).to.deep.equal([]);
      expect(await test.allocatedOn(uuid)).to.deep.equal([]);
    }));

  it('says so when no host can take it, and it stays shelved', () =>
    withCloud({}, async (test) => {
      const { uuid } = await shelved(test);
      for (const host of [SOURCE, DEST])
        await test.cloud.records.services.update('compute', host, { disabled: true });
      test.states.length = 0;
      await test.cloud.controls.unshelve({}, uuid);
      await test.watch.instance(uuid, (one) => one.get('task_state') === null, { timeoutMs: 4000 });
      expect(test.states).to.deep.equal(['shelved_offloaded/unshelving', 'shelved_offloaded/-']);
    }));

  for (const [step, task] of [
    ['power-off', 'shelving'],
    ['copy-disk', 'shelving_image_pending_upload'],
    ['upload-image', 'shelving_image_uploading'],
    ['destroy', 'shelving_offloading'],
  ] as const) {
    it(`is finished at the next start when the host dies in ${task} (COMP-07)`, () =>
      withCloud({}, async (test) => {
        const uuid = await test.bootActive();
        const held = test.virt(SOURCE).steps.hold(step);
        await test.cloud.controls.shelve({}, uuid);
        await held.reached;
        await test.crash(SOURCE);
        held.release();
        expect(await test.stateOf(uuid)).to.contain(`/${task}@`);
        await test.revive(SOURCE);
        await test.becomes(uuid, 'shelved_offloaded/-');
        await test.idle(SOURCE);
        expect(test.cloud.hypervisors.locate(uuid)).to.deep.equal([]);
        expect(await test.allocatedOn(uuid)).to.deep.equal([]);
      }));
  }

  it('takes back what a host has left of an instance that was to come back (COMP-07)', () =>
    withCloud({}, async (test) => {
      const { uuid } = await shelved(test);
      await test.cloud.records.services.update('compute', DEST, { disabled: true });
      const held = test.virt(SOURCE).steps.hold('start-guest');
      await test.cloud.controls.unshelve({}, uuid);
      await held.reached;
      await test.crash(SOURCE);
      held.release();
      await test.revive(SOURCE);
      await test.becomes(uuid, 'shelved_offloaded/-');
      expect(await test.stateOf(uuid)).to.equal('shelved_offloaded/-@null');
      expect(test.cloud.hypervisors.locate(uuid)).to.deep.equal([]);
      expect(await test.allocatedOn(uuid)).to.deep.equal([]);
    }));

  it('is waited for by a host that drains (GS-2, GS-3)', () =>
    withCloud({}, async (test) => {
      const uuid = await test.bootActive();
      const held = test.virt(SOURCE).steps.hold('upload-image');
      await test.cloud.controls.shelve({}, uuid);
      await held.reached;
      const { ended, hasEnded } = await test.terminate(SOURCE);
      expect(hasEnded()).to.equal(false);
      held.release();
      expect((await ended).code).to.equal(0);
      expect(await test.stateOf(uuid)).to.equal('shelved_offloaded/-@null');
      await test.cloud.host(SOURCE).start();
    }));

  it('can be deleted in each of its states', () =>
    withCloud(STAYS, async (test) => {
      const { uuid } = await shelved(test);
      await test.cloud.actions.delete({}, uuid);
      await test.becomes(uuid, 'deleted/-');
      const other = (await shelved(test)).uuid;
      await test.cloud.controls.shelveOffload({}, other);
      await test.becomes(other, 'shelved_offloaded/-');
      expect(await codeOf(test.cloud.actions.start({}, other))).to.equal('ERR_UNEXPECTED_STATE');
      await test.cloud.actions.delete({}, other);
      expect(await test.stateOf(other)).to.contain('deleted/-');
    }));
});
