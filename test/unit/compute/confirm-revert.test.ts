import { expect } from 'chai';
import { describe, it } from 'mocha';
import {
  allIdle,
  BIGGER,
  bootResized,
  codeOf,
  failing,
  migrationOf,
  type Outcome,
  outcomeOf,
  resized,
  untouched,
} from './resize-words.js';
import { DEST, SOURCE, type TestCloud, withCloud } from './test-cloud.js';

const CONFIRMED: Outcome = {
  ...resized(SOURCE, DEST),
  state: 'active/-',
  status: 'confirmed',
  kept: [],
  allocations: [`instance@${DEST}:1024`],
};

async function bootStoppedAndResized(test: TestCloud): Promise<string> {
  const uuid = await test.bootActive();
  await test.cloud.actions.stop(test.recorded.context, uuid);
  await test.becomes(uuid, 'stopped/-');
  await test.cloud.moves.resize(test.recorded.context, uuid, BIGGER);
  await test.becomes(uuid, 'resized/-');
  await allIdle(test);
  return uuid;
}

describe('confirming a resize', () => {
  it('leaves nothing of the instance at its source, and has no use for the destination (GS-56)', () =>
    withCloud({}, async (test) => {
      const uuid = await bootResized(test);
      test.arrived.length = 0;
      test.statuses.length = 0;
      await test.cloud.moves.confirmResize(test.recorded.context, uuid);
      await test.becomes(uuid, 'active/-');
      await allIdle(test);
      expect(test.statuses).to.deep.equal(['confirming', 'confirmed']);
      // Of the resize an event may still arrive that nobody waits for.
      const arrived = test.arrived.filter((one) => !one.startsWith('external_instance_event'));
      expect(arrived).to.deep.equal([`confirm_resize @ compute.${SOURCE}`]);
      expect(await outcomeOf(test, uuid)).to.deep.equal(CONFIRMED);
      const instance = await test.cloud.records.instances.get(uuid);
      expect([instance.get('old_flavor'), instance.get('new_flavor')]).to.deep.equal([null, null]);
    }));

  it('of a stopped instance leaves it stopped', () =>
    withCloud({}, async (test) => {
      const uuid = await bootStoppedAndResized(test);
      await test.cloud.moves.confirmResize(test.recorded.context, uuid);
      await test.becomes(uuid, 'stopped/-');
      await allIdle(test);
      expect(await outcomeOf(test, uuid)).to.deep.equal({
        ...CONFIRMED,
        state: 'stopped/-',
        guests: [`${DEST}:shutdown`],
      });
    }));

  it('is refused while the source is down, and twice, and when nothing waits for it (COMP-16)', () =>
    withCloud({}, async (test) => {
      const { records, moves } = test.cloud;
      const uuid = await bootResized(test);
      const confirm = (): Promise<unknown> =>
        moves.confirmResize(test.recorded.context, uuid).then(() => 'accepted', codeOf);
      await records.services.update('compute', SOURCE, { forcedDown: true });
      expect(await confirm()).to.equal('ERR_HOST_DOWN');
      await records.services.update('compute', SOURCE, { forcedDown: false });
      expect(await outcomeOf(test, uuid)).to.deep.equal(resized(SOURCE, DEST));
      const held = test.virt(SOURCE).steps.hold('confirm-migration');
      expect(await confirm()).to.equal('accepted');
      await held.reached;
      expect(await confirm()).to.equal('ERR_NOT_FOUND');
      held.release();
      await test.becomes(uuid, 'active/-');
      expect(await confirm()).to.equal('ERR_UNEXPECTED_STATE');
    }));

  it('releases the source also when it fails there, and leaves the instance in ERROR', () =>
    withCloud({}, async (test) => {
      const uuid = await bootResized(test);
      test.virt(SOURCE).steps.failNext('confirm-migration');
      await test.cloud.moves.confirmResize(test.recorded.context, uuid);
      await test.becomes(uuid, 'error/-');
      await allIdle(test);
      expect(await outcomeOf(test, uuid)).to.deep.equal({
        ...CONFIRMED,
        state: 'error/-',
        status: 'error',
        kept: [SOURCE],
      });
    }));

  it('happens by itself when the instance is deleted, so that nothing of it stays at the source', () =>
    withCloud({}, async (test) => {
      const uuid = await bootResized(test);
      await test.cloud.actions.delete(test.recorded.context, uuid);
      await test.becomes(uuid, 'deleted/-');
      await test.migrationBecomes(uuid, 'confirmed');
      await allIdle(test);
      const { guests, kept, allocations } = await outcomeOf(test, uuid);
      expect({ guests, kept, allocations }).to.deep.equal({ guests: [], kept: [], allocations: [] });
    }));

  it('leaves nothing behind when the request cannot be sent', () =>
    withCloud({ onSend: failing('confirm_resize') }, async (test) => {
      const uuid = await bootResized(test);
      const { moves } = test.cloud;
      expect(
        await moves.confirmResize(test.recorded.context, uuid).then(
          () => 'accepted',
          () => 'refused',
        ),
      ).to.equal('refused');
      expect(await outcomeOf(test, uuid)).to.deep.equal(resized(SOURCE, DEST));
    }));
});

describe('reverting a resize', () => {
  it('makes the instance again at its source, as it was (GS-58, GS-59, GS-60)', () =>
    withCloud({}, async (test) => {
      const uuid = await bootResized(test);
      test.arrived.length = 0;
      test.statuses.length = 0;
      await test.cloud.moves.revertResize(test.recorded.context, uuid);
      await test.becomes(uuid, 'active/-');
      await allIdle(test);
      expect(test.statuses).to.deep.equal(['reverting', 'reverted']);
      expect(test.arrived.filter((one) => !one.startsWith('external_instance_event'))).to.deep.equal([
        `revert_resize @ compute.${DEST}`,
        `check_instance_shared_storage @ compute-ops.${SOURCE}`,
        `finish_revert_resize @ compute-ops.${SOURCE}`,
      ]);
      expect(await outcomeOf(test, uuid)).to.deep.equal(untouched(SOURCE, 'reverted'));
      expect([...test.virt(DEST).keptDisks]).to.deep.equal([]);
    }));

  it('of a stopped instance stops it again', () =>
    withCloud({}, async (test) => {
      const uuid = await bootStoppedAndResized(test);
      test.states.length = 0;
      await test.cloud.moves.revertResize(test.recorded.context, uuid);
      await test.becomes(uuid, 'stopped/-');
      await allIdle(test);
      expect(test.states.slice(-2)).to.deep.equal(['active/powering-off', 'stopped/-']);
      expect(await outcomeOf(test, uuid)).to.deep.equal({
        ...untouched(SOURCE, 'reverted'),
        state: 'stopped/-',
        guests: [`${SOURCE}:shutdown`],
      });
    }));

  it('keeps the disks when both hosts have the same', () =>
    withCloud({ sharedStorage: true }, async (test) => {
      const uuid = await bootResized(test);
      await test.cloud.moves.revertResize(test.recorded.context, uuid);
      await test.becomes(uuid, 'active/-');
      await allIdle(test);
      expect([...test.virt(DEST).keptDisks]).to.deep.equal([uuid]);
    }));

  it('keeps the disks when the source cannot say whether they are its own, too', () =>
    withCloud({}, async (test) => {
      const uuid = await bootResized(test);
      test.virt(SOURCE).steps.failNext('check-shared-storage');
      await test.cloud.moves.revertResize(test.recorded.context, uuid);
      await test.becomes(uuid, 'active/-');
      await allIdle(test);
      expect([...test.virt(DEST).keptDisks]).to.deep.equal([uuid]);
      expect(await outcomeOf(test, uuid)).to.deep.equal(untouched(SOURCE, 'reverted'));
    }));

  it('that fails at the destination leaves the instance there, in ERROR', () =>
    withCloud({}, async (test) => {
      const uuid = await bootResized(test);
      test.virt(DEST).steps.failNext('destroy');
      await test.cloud.moves.revertResize(test.recorded.context, uuid);
      await test.becomes(uuid, 'error/-');
      await allIdle(test);
      expect(await outcomeOf(test, uuid)).to.deep.equal({
        ...CONFIRMED,
        state: 'error/-',
        status: 'error',
        kept: [SOURCE],
      });
    }));

  it('that cannot tell the source leaves the instance where its disks are, in ERROR', () =>
    withCloud({ onSend: failing('finish_revert_resize') }, async (test) => {
      const uuid = await bootResized(test);
      await test.cloud.moves.revertResize(test.recorded.context, uuid);
      await test.becomes(uuid, 'error/-');
      await allIdle(test);
      expect(await outcomeOf(test, uuid)).to.deep.equal({
        ...untouched(SOURCE, 'error'),
        state: 'error/-',
        guests: [],
        kept: [SOURCE],
        size: 1024,
      });
    }));

  for (const step of ['finish-revert', 'start-guest'] as const) {
    it(`that fails at the source (${step}) leaves the instance there, in ERROR`, () =>
      withCloud({}, async (test) => {
        const uuid = await bootResized(test);
        test.virt(SOURCE).steps.failNext(step);
        await test.cloud.moves.revertResize(test.recorded.context, uuid);
        await test.becomes(uuid, 'error/-');
        await allIdle(test);
        expect(await outcomeOf(test, uuid)).to.deep.equal({
          ...untouched(SOURCE, 'error'),
          state: 'error/-',
          guests: [`${SOURCE}:shutdown`],
        });
      }));
  }

  it('and confirming it exclude each other', () =>
    withCloud({}, async (test) => {
      const uuid = await bootResized(test);
      const { moves } = test.cloud;
      const [reverted, confirmed] = await Promise.allSettled([
        moves.revertResize(test.recorded.context, uuid),
        moves.confirmResize(test.recorded.context, uuid),
      ]);
      expect([reverted.status, confirmed.status].sort()).to.deep.equal(['fulfilled', 'rejected']);
      const end = reverted.status === 'fulfilled' ? 'reverted' : 'confirmed';
      await test.becomes(uuid, 'active/-');
      await allIdle(test);
      expect((await migrationOf(test, uuid)).get('status')).to.equal(end);
    }));

  it('does nothing when its messages come again', () =>
    withCloud({}, async (test) => {
      const uuid = await bootResized(test);
      await test.cloud.moves.revertResize(test.recorded.context, uuid);
      await test.becomes(uuid, 'active/-');
      await allIdle(test);
      const args = {
        instance: await test.cloud.records.instances.get(uuid),
        migration: await migrationOf(test, uuid),
      };
      const { computeApi } = test.cloud;
      await computeApi.cast({}, 'confirm_resize', SOURCE, args);
      await computeApi.cast({}, 'revert_resize', DEST, { ...args, request_spec: null });
      await computeApi.call({}, 'get_host_uptime', DEST, {});
      await computeApi.cast({}, 'finish_revert_resize', SOURCE, { ...args, request_spec: null });
      await computeApi.call({}, 'check_instance_shared_storage', SOURCE, { data: {} });
      await allIdle(test);
      expect(await outcomeOf(test, uuid)).to.deep.equal(untouched(SOURCE, 'reverted'));
    }));
});
