import { expect } from 'chai';
import { describe, it } from 'mocha';
import { RolledBackError, type VirtStep } from '@ebbgate/compute';
import {
  allIdle,
  BIGGER,
  failing,
  kill,
  migrationOf,
  type Outcome,
  outcomeOf,
  untouched,
} from './resize-words.js';
import { DEST, SOURCE, type TestCloud, withCloud } from './test-cloud.js';

/** So long that no test sees it happen: what ends, ends because it was told. */
const NO_RECHECK = { recheckMs: 600_000 } as const;

async function resizeUntil(test: TestCloud, uuid: string, state: string): Promise<void> {
  await test.cloud.moves.resize(test.recorded.context, uuid, BIGGER);
  await test.becomes(uuid, state);
  await allIdle(test);
}

/** The instance could not be sent: it is in ERROR where it was. */
const FAILED_AT_SOURCE: Outcome = {
  ...untouched(SOURCE, 'error'),
  state: 'error/-',
  guests: [`${SOURCE}:shutdown`],
};

/** The instance could not be made again there: it is in ERROR where its disks are. */
const FAILED_AT_DEST: Outcome = {
  state: 'error/-',
  host: DEST,
  status: 'error',
  guests: [`${DEST}:shutdown`],
  kept: [SOURCE],
  disks: [],
  boundTo: DEST,
  allocations: [`instance@${DEST}:1024`],
  size: 512,
};

describe('a resize that fails', () => {
  for (const step of ['power-off', 'copy-disks'] as const) {
    it(`at the source (${step}) leaves it in ERROR there, and ends what the destination holds open (B1, GS-100)`, () =>
      withCloud(NO_RECHECK, async (test) => {
        const uuid = await test.bootActive();
        test.virt(SOURCE).steps.failNext(step);
        await resizeUntil(test, uuid, 'error/-');
        const guests = step === 'power-off' ? [`${SOURCE}:running`] : FAILED_AT_SOURCE.guests;
        expect(await outcomeOf(test, uuid)).to.deep.equal({ ...FAILED_AT_SOURCE, guests });
        expect(test.arrived).to.include(`drop_move_claim_at_destination @ compute-ops.${DEST}`);
        const { ended } = await test.terminate(DEST);
        expect((await ended).report.outcome).to.equal('clean');
        await test.cloud.host(DEST).start();
      }));

    it(`at the source (${step}) and is rolled back there leaves it as it was (B1)`, () =>
      withCloud(NO_RECHECK, async (test) => {
        const uuid = await test.bootActive();
        test.virt(SOURCE).steps.failNext(step, new RolledBackError('no room for the copy'));
        await resizeUntil(test, uuid, 'active/-');
        expect(await outcomeOf(test, uuid)).to.deep.equal(untouched(SOURCE, 'error'));
      }));
  }

  it('when the disks are sent makes the guest again at the source, and removes them at the destination', () =>
    withCloud(NO_RECHECK, async (test) => {
      const uuid = await test.bootActive();
      const copying = test.virt(SOURCE).steps.hold('copy-disks');
      await test.cloud.moves.resize(test.recorded.context, uuid, BIGGER);
      await copying.reached;
      const { migrations } = test.cloud.records;
      await migrations.update((await migrationOf(test, uuid)).get('uuid'), { status: 'cancelled' });
      copying.release();
      await test.becomes(uuid, 'active/-');
      await allIdle(test);
      expect(await outcomeOf(test, uuid)).to.deep.equal(untouched(SOURCE, 'cancelled'));
    }));

  it('when the destination cannot be told that they are sent does the same', () =>
    withCloud({ ...NO_RECHECK, onSend: failing('finish_resize') }, async (test) => {
      const uuid = await test.bootActive();
      await resizeUntil(test, uuid, 'active/-');
      expect(await outcomeOf(test, uuid)).to.deep.equal(untouched(SOURCE, 'error'));
    }));

  it('when the guest cannot be made again at the source either leaves it in ERROR there', () =>
    withCloud({ ...NO_RECHECK, onSend: failing('finish_resize') }, async (test) => {
      const uuid = await test.bootActive();
      test.virt(SOURCE).steps.failNext('finish-revert');
      await resizeUntil(test, uuid, 'error/-');
      expect(await outcomeOf(test, uuid)).to.deep.equal(FAILED_AT_SOURCE);
    }));

  for (const step of ['finish-migration', 'plug-vifs', 'start-guest'] satisfies VirtStep[]) {
    it(`at the destination (${step}) leaves it in ERROR there, in its old size, with nothing at the source`, () =>
      withCloud(NO_RECHECK, async (test) => {
        const uuid = await test.bootActive();
        test.virt(DEST).steps.failNext(step);
        await resizeUntil(test, uuid, 'error/-');
        const isMade = step !== 'finish-migration';
        expect(await outcomeOf(test, uuid)).to.deep.equal({
          ...FAILED_AT_DEST,
          guests: isMade ? FAILED_AT_DEST.guests : [],
          disks: isMade ? [] : [DEST],
        });
      }));
  }

  it('because its source has died does not keep the destination engaged (B5)', () =>
    withCloud({}, async (test) => {
      const uuid = await test.bootActive();
      const copying = test.virt(SOURCE).steps.hold('copy-disks');
      await test.cloud.moves.resize(test.recorded.context, uuid, BIGGER);
      await copying.reached;
      expect(test.tasks(DEST)).to.deep.equal(['prep_resize_at_dest']);
      await kill(test, SOURCE);
      await test.cloud.records.services.update('compute', SOURCE, { forcedDown: true });
      await test.idle(DEST);
      await test.cloud.records.services.update('compute', SOURCE, { forcedDown: false });
      await test.cloud.host(SOURCE).start();
      await test.becomes(uuid, 'active/-');
      await allIdle(test); // it tells the destination, too
    }));

  for (const [what, host, step, status] of [
    ['the source copies its disks', SOURCE, 'copy-disks', 'error'],
    ['the destination makes its guest', DEST, 'start-guest', 'confirmed'],
  ] as const) {
    it(`because the instance is deleted while ${what} leaves nothing of it anywhere`, () =>
      withCloud(NO_RECHECK, async (test) => {
        const uuid = await test.bootActive();
        const held = test.virt(host).steps.hold(step);
        await test.cloud.moves.resize(test.recorded.context, uuid, BIGGER);
        await held.reached;
        await test.cloud.actions.delete(test.recorded.context, uuid);
        await test.becomes(uuid, 'deleted/-');
        await test.migrationBecomes(uuid, status);
        await expectGone(test, uuid);
      }));
  }

  it('because the instance is deleted before the destination has begun leaves nothing of it anywhere', () =>
    withCloud(NO_RECHECK, async (test) => {
      const uuid = await test.bootActive();
      const held = test.virt(SOURCE).steps.hold('copy-disks');
      await test.cloud.moves.resize(test.recorded.context, uuid, BIGGER);
      await held.reached;
      await kill(test, DEST);
      held.release();
      await test.becomes(uuid, 'active/resize_migrated');
      await test.idle(SOURCE);
      await test.cloud.actions.delete(test.recorded.context, uuid);
      await test.cloud.host(DEST).start();
      await test.becomes(uuid, 'deleted/-');
      await test.migrationBecomes(uuid, 'confirmed');
      await expectGone(test, uuid);
    }));

  describe('to be wanted', () => {
    it('is not begun by a message that comes late, and ends nothing but itself', () =>
      withCloud(NO_RECHECK, async (test) => {
        const uuid = await test.bootActive();
        await resizeUntil(test, uuid, 'resized/-');
        const before = await outcomeOf(test, uuid);
        await sendAgain(test, uuid);
        await allIdle(test);
        expect(await outcomeOf(test, uuid)).to.deep.equal(before);
      }));

    it('is begun once when its message comes twice, and nothing stays open (B3)', () =>
      withCloud(NO_RECHECK, async (test) => {
        const uuid = await test.bootActive();
        const copying = test.virt(SOURCE).steps.hold('copy-disks');
        await test.cloud.moves.resize(test.recorded.context, uuid, BIGGER);
        await copying.reached;
        await sendAgain(test, uuid);
        expect(test.tasks(DEST)).to.include('prep_resize_at_dest');
        copying.release();
        await test.becomes(uuid, 'resized/-');
        await allIdle(test);
        expect((await outcomeOf(test, uuid)).status).to.equal('finished');
      }));
  });
});

async function expectGone(test: TestCloud, uuid: string): Promise<void> {
  await allIdle(test);
  const { guests, kept, disks, allocations } = await outcomeOf(test, uuid);
  expect({ guests, kept, disks, allocations }).to.deep.equal({
    guests: [],
    kept: [],
    disks: [],
    allocations: [],
  });
}

/** Every message of the move, once more; resolves when all have been looked at. */
async function sendAgain(test: TestCloud, uuid: string): Promise<void> {
  const instance = await test.cloud.records.instances.get(uuid);
  const migration = await migrationOf(test, uuid);
  const { computeApi } = test.cloud;
  const { requestSpec } = test.recorded.bootRequest(1, '');
  const both = { instance, migration, image: {}, request_spec: requestSpec };
  const prepare = { ...both, flavor: BIGGER, filter_properties: null, node: null, clean_shutdown: true };
  await computeApi.cast({}, 'prep_resize', DEST, { ...prepare, host_list: [] });
  await computeApi.cast({}, 'resize_instance', SOURCE, { ...both, flavor: BIGGER, clean_shutdown: true });
  await computeApi.cast({}, 'finish_resize', DEST, { ...both, disk_info: null });
  // Requests of one server are taken in their order: when these are answered, those have begun.
  for (const host of [SOURCE, DEST]) {
    await computeApi.call({}, 'get_host_uptime', host, {});
    await computeApi.call({}, 'check_instance_shared_storage', host, { data: {} });
  }
}
