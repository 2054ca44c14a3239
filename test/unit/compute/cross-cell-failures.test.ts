import { expect } from 'chai';
import { describe, it } from 'mocha';
import { deletedNow } from '#compute/objects/deleted.js';
import { rejectionOf } from '../../support/deferred.js';
import { DEST, SOURCE } from './test-cloud.js';
import { failing, THIRD } from './resize-words.js';
import {
  asBefore,
  type CellsOutcome,
  FIRST_CELL,
  MOVED,
  SECOND_CELL,
  type TwoCells,
  withTwoCells,
} from './two-cells.js';

/** What the second cell has left of a move that was taken back. */
const GONE_THERE = `active/resize_prep@null hidden deleted`.replace('active/resize_prep', 'deleted/-');

/** Everything is as before. */
const TAKEN_BACK = asBefore({
  instance: [`active/-@${SOURCE}`, GONE_THERE],
  migration: ['error', 'error hidden deleted'],
});

/** Of the guest only the disks are there; a hard reboot makes it again. */
const KEPT_ONLY: CellsOutcome = {
  ...TAKEN_BACK,
  instance: [`error/-@${SOURCE}`, GONE_THERE],
  guests: [],
  kept: [SOURCE],
};

async function resizeUntilError(cells: TwoCells): Promise<string> {
  const uuid = await cells.first.bootActive(SOURCE);
  await cells.resize(uuid);
  await cells.first.migrationBecomes(uuid, 'error');
  await cells.settled();
  return uuid;
}

/** A hard reboot makes the guest again, as the error promises. */
async function expectRepairable(cells: TwoCells, uuid: string): Promise<void> {
  await cells.first.cloud.actions.reboot(cells.first.recorded.context, uuid, 'hard');
  await cells.first.becomes(uuid, 'active/-');
  expect((await cells.outcome(uuid)).guests).to.deep.equal([`${SOURCE}:running`]);
}

async function expectNothingHeld(cells: TwoCells): Promise<void> {
  const { ended } = await cells.second.terminate(DEST);
  expect((await ended).report.outcome).to.equal('clean');
  await cells.second.cloud.host(DEST).start();
}

/** So long that no test sees it happen. */
const NO_RECHECK = { recheckMs: 600_000 } as const;

describe('a resize to another cell that fails', () => {
  it('at the pre-check takes the next host of that cell', () =>
    withTwoCells({ ...NO_RECHECK, hostsThere: [DEST, THIRD] }, async (cells) => {
      cells.second.virt(DEST).steps.failNext('check-cold-destination');
      const uuid = await cells.first.bootActive(SOURCE);
      await cells.resize(uuid);
      await cells.second.becomes(uuid, 'resized/-');
      await cells.settled();
      expect(await cells.outcome(uuid)).to.deep.equal({
        ...MOVED,
        instance: [MOVED.instance[0], `resized/-@${THIRD}`],
        guests: [`${THIRD}:running`],
        bound: [SOURCE, THIRD],
        allocations: [`instance@${THIRD}:1024`, `migration@${SOURCE}:512`],
      });
      await expectNothingHeld(cells);
    }));

  it('at the pre-check of all hosts ends as it began', () =>
    withTwoCells(NO_RECHECK, async (cells) => {
      cells.second.virt(DEST).steps.failNext('check-cold-destination');
      const uuid = await resizeUntilError(cells);
      expect(await cells.outcome(uuid)).to.deep.equal(TAKEN_BACK);
      await expectNothingHeld(cells);
    }));

  for (const step of ['power-off', 'copy-disk', 'upload-image'] as const) {
    it(`at the source (${step}) ends as it began, and the destination is told (B1, GS-100)`, () =>
      withTwoCells(NO_RECHECK, async (cells) => {
        cells.first.virt(SOURCE).steps.failNext(step);
        const uuid = await resizeUntilError(cells);
        expect(await cells.outcome(uuid)).to.deep.equal(TAKEN_BACK);
        expect(cells.second.arrived).to.include(`drop_move_claim_at_destination @ compute-ops.${DEST}`);
        await expectNothingHeld(cells);
      }));
  }

  it('at the source, whose guest does not start again, leaves it in ERROR there', () =>
    withTwoCells(NO_RECHECK, async (cells) => {
      cells.first.virt(SOURCE).steps.failNext('upload-image');
      cells.first.virt(SOURCE).steps.failNext('power-on');
      const uuid = await resizeUntilError(cells);
      expect(await cells.outcome(uuid)).to.deep.equal({
        ...TAKEN_BACK,
        instance: [`error/-@${SOURCE}`, GONE_THERE],
        guests: [`${SOURCE}:shutdown`],
      });
      await expectRepairable(cells, uuid);
    }));

  it('at the source when the guest is gone leaves it in ERROR there, and a hard reboot makes it again', () =>
    withTwoCells(NO_RECHECK, async (cells) => {
      cells.first.virt(SOURCE).steps.failNext('keep-disks');
      const uuid = await resizeUntilError(cells);
      expect(await cells.outcome(uuid)).to.deep.equal(KEPT_ONLY);
      await expectRepairable(cells, uuid);
      await expectNothingHeld(cells);
    }));

  for (const step of ['create-disks', 'plug-vifs', 'start-guest'] as const) {
    it(`at the destination (${step}) leaves it in ERROR at the source, and nothing there`, () =>
      withTwoCells(NO_RECHECK, async (cells) => {
        cells.second.virt(DEST).steps.failNext(step);
        const uuid = await resizeUntilError(cells);
        const instance = [`error/-@${SOURCE}`, `deleted/-@${DEST} hidden deleted`] as const;
        expect(await cells.outcome(uuid)).to.deep.equal({ ...KEPT_ONLY, instance });
        await expectRepairable(cells, uuid);
        await expectNothingHeld(cells);
      }));
  }

  for (const [method, outcome] of [
    ['prep_snapshot_based_resize_at_dest', TAKEN_BACK],
    ['prep_snapshot_based_resize_at_source', TAKEN_BACK],
    ['finish_snapshot_based_resize_at_dest', KEPT_ONLY],
  ] as const) {
    it(`because ${method} cannot be sent is taken back`, () =>
      withTwoCells({ ...NO_RECHECK, onSend: failing(method) }, async (cells) => {
        const uuid = await resizeUntilError(cells);
        expect(await cells.outcome(uuid)).to.deep.equal(outcome);
        await expectNothingHeld(cells);
      }));
  }

  it('because the mapping cannot be written is taken back, and its guest goes', () =>
    withTwoCells(NO_RECHECK, async (cells) => {
      const { mappings } = cells.registry;
      const set = mappings.set.bind(mappings);
      mappings.set = (uuid, cell) =>
        cell === SECOND_CELL ? Promise.reject(new Error('no database, as ordered')) : set(uuid, cell);
      const uuid = await resizeUntilError(cells);
      const instance = [`error/-@${SOURCE}`, `deleted/-@${DEST} hidden deleted`] as const;
      expect(await cells.outcome(uuid)).to.deep.equal({ ...KEPT_ONLY, instance });
      await expectRepairable(cells, uuid);
    }));

  it('because the instance is deleted while the source uploads leaves nothing of it anywhere', () =>
    withTwoCells(NO_RECHECK, async (cells) => {
      const uuid = await cells.first.bootActive(SOURCE);
      const held = cells.first.virt(SOURCE).steps.hold('upload-image');
      await cells.resize(uuid);
      await held.reached;
      await cells.first.cloud.actions.delete(cells.first.recorded.context, uuid);
      await cells.first.becomes(uuid, 'deleted/-');
      await expectGone(cells, uuid);
    }));

  it('because the instance is deleted while the destination makes its guest leaves nothing of it anywhere', () =>
    withTwoCells(NO_RECHECK, async (cells) => {
      const uuid = await cells.first.bootActive(SOURCE);
      const held = cells.second.virt(DEST).steps.hold('start-guest');
      await cells.resize(uuid);
      await held.reached;
      await cells.first.cloud.actions.delete(cells.first.recorded.context, uuid);
      await cells.first.becomes(uuid, 'deleted/-');
      held.release();
      await expectGone(cells, uuid);
    }));

  it('at its confirmation leaves it in ERROR where it is', () =>
    withTwoCells(NO_RECHECK, async (cells) => {
      const uuid = await cells.bootMoved();
      cells.first.virt(SOURCE).steps.failNext('confirm-migration');
      await cells.confirm(uuid);
      await cells.second.becomes(uuid, 'error/-');
      await cells.settled();
      expect(await cells.outcome(uuid)).to.deep.equal({
        ...MOVED,
        instance: [MOVED.instance[0], `error/-@${DEST}`],
        migration: ['confirming hidden', 'error'],
        allocations: [`instance@${DEST}:1024`],
      });
    }));

  it('at its revert at the destination leaves it in ERROR at the source, and the guest there goes', () =>
    withTwoCells(NO_RECHECK, async (cells) => {
      const uuid = await cells.bootMoved();
      cells.second.virt(DEST).steps.failNext('destroy');
      await cells.revert(uuid);
      await cells.first.becomes(uuid, 'error/-');
      await cells.settled();
      expect(await cells.outcome(uuid)).to.deep.equal(REVERT_FAILED);
      await expectRepairable(cells, uuid);
    }));

  it('at its revert at the source leaves it in ERROR there', () =>
    withTwoCells(NO_RECHECK, async (cells) => {
      const uuid = await cells.bootMoved();
      cells.first.virt(SOURCE).steps.failNext('finish-revert');
      await cells.revert(uuid);
      await cells.first.becomes(uuid, 'error/-');
      await cells.settled();
      expect(await cells.outcome(uuid)).to.deep.equal({
        ...REVERT_FAILED,
        guests: [`${SOURCE}:shutdown`],
        kept: [],
      });
      await expectRepairable(cells, uuid);
    }));

  it('is not begun again by messages that come late or twice (B3, B11)', () =>
    withTwoCells(NO_RECHECK, async (cells) => {
      const uuid = await cells.bootMoved();
      const codes = await sendAgain(cells, uuid);
      expect(codes).to.deep.equal([
        'ERR_MIGRATION_PRE_CHECK',
        'ERR_UNEXPECTED_STATE',
        'ERR_UNEXPECTED_STATE',
        'ERR_UNEXPECTED_STATE',
        'ERR_UNEXPECTED_STATE',
        'ERR_UNEXPECTED_STATE',
      ]);
      expect(await cells.outcome(uuid)).to.deep.equal(MOVED);
      await expectNothingHeld(cells);
    }));

  for (const [what, there] of [
    ['is being taken back', { hidden: true }],
    ['was taken back', { ...deletedNow(), hidden: true }],
  ] as const)
    it(`a guest goes with a revert that comes late, when its move ${what}: its host may have started a moment too early (COMP-07)`, () =>
      withTwoCells({}, async (cells) => {
        const uuid = await cells.bootMoved();
        const { computeApi, records } = cells.second.cloud;
        const [migration] = await records.migrations.find({ instance_uuid: uuid });
        if (!migration) throw new RangeError('the move has a record there');
        const args = { instance: await records.instances.get(uuid), migration };
        await records.migrations.update(migration.get('uuid'), { status: 'error' });
        await records.instances.update(uuid, there);
        const late = computeApi.call({}, 'revert_snapshot_based_resize_at_dest', DEST, args);
        expect(await rejectionOf(late)).to.include({ code: 'ERR_UNEXPECTED_STATE' });
        expect((await cells.outcome(uuid)).guests).to.deep.equal([]);
      }));
});

const REVERT_FAILED: CellsOutcome = {
  ...KEPT_ONLY,
  instance: [`error/-@${SOURCE}`, `deleted/-@${DEST} hidden deleted`],
  migration: ['error', 'error hidden deleted'],
  cell: FIRST_CELL,
};

async function expectGone(cells: TwoCells, uuid: string): Promise<void> {
  await cells.first.migrationBecomes(uuid, 'error');
  await cells.settled();
  const { guests, kept, bound, allocations, images } = await cells.outcome(uuid);
  expect({ guests, kept, bound, allocations, images }).to.deep.equal({
    guests: [],
    kept: [],
    bound: [null, null],
    allocations: [],
    images: 0,
  });
}

/** All calls of a move and its ends, once more; what each was answered with. */
async function sendAgain({ first, second }: TwoCells, uuid: string): Promise<readonly unknown[]> {
  const [there] = await second.cloud.records.migrations.find({ instance_uuid: uuid });
  const [here] = await first.cloud.records.migrations.find({ instance_uuid: uuid });
  if (!there || !here) throw new RangeError('the move has a record in each cell');
  const atSource = { instance: await first.cloud.records.instances.get(uuid), migration: here };
  const atDest = { instance: await second.cloud.records.instances.get(uuid), migration: there };
  const prepare = { ...atDest, flavor: atDest.instance.get('flavor'), nodename: DEST, limits: null };
  const [a, b] = [first.cloud.computeApi, second.cloud.computeApi];
  const sent = [
    b.call({}, 'prep_snapshot_based_resize_at_dest', DEST, prepare),
    a.call({}, 'prep_snapshot_based_resize_at_source', SOURCE, { ...atSource, snapshot_id: null }),
    b.call({}, 'finish_snapshot_based_resize_at_dest', DEST, { ...atDest, snapshot_id: null }),
    a.call({}, 'confirm_snapshot_based_resize_at_source', SOURCE, atSource),
    b.call({}, 'revert_snapshot_based_resize_at_dest', DEST, atDest),
    a.call({}, 'finish_revert_snapshot_based_resize_at_source', SOURCE, atSource),
  ];
  const ended = await Promise.allSettled(sent);
  return ended.map((one) => (one.status === 'rejected' ? (one.reason as { code?: unknown }).code : 'done'));
}
