import { expect } from 'chai';
import { describe, it } from 'mocha';
import { BIGGER } from './resize-words.js';
import { codeOf, DEST, SOURCE } from './test-cloud.js';
import { asBefore, MOVED, SECOND_CELL, withTwoCells } from './two-cells.js';

describe('a resize to another cell', () => {
  it('goes through an image, in the steps of Nova, and waits for its user (GS-51, GS-52, GS-66)', () =>
    withTwoCells({}, async (cells) => {
      const { first, second } = cells;
      const uuid = await first.bootActive(SOURCE);
      first.states.length = 0;
      await cells.resize(uuid);
      await cells.moved(uuid);
      expect(await cells.outcome(uuid)).to.deep.equal(MOVED);
      expect(first.states).to.deep.equal([
        'active/resize_prep',
        'active/resize_migrating',
        'active/resize_migrated',
      ]);
      expect(first.statuses).to.deep.equal(['pre-migrating', 'migrating', 'post-migrating', 'finished']);
      expect(second.states).to.deep.equal([
        'active/resize_prep',
        'active/resize_migrated',
        'active/resize_finish',
        'resized/-',
      ]);
      expect(second.statuses).to.deep.equal(['pre-migrating', 'post-migrating', 'finished']);
      const calls = [...first.arrived, ...second.arrived].filter((one) => one.includes('snapshot_based'));
      expect(calls).to.deep.equal([
        `prep_snapshot_based_resize_at_source @ compute-ops.${SOURCE}`,
        `prep_snapshot_based_resize_at_dest @ compute.${DEST}`,
        `finish_snapshot_based_resize_at_dest @ compute-ops.${DEST}`,
      ]);
      const there = await second.cloud.records.instances.get(uuid);
      expect([there.get('memory_mb'), there.get('migration_context')?.toString()]).to.deep.equal([
        1024,
        'MigrationContext 1.2',
      ]);
      const [migration] = await second.cloud.records.migrations.find({ instance_uuid: uuid });
      expect(migration?.get('cross_cell_move')).to.equal(true);
    }));

  it('stays in its cell as long as that has a host for it', () =>
    withTwoCells({}, async (cells) => {
      const { first, second } = cells;
      const uuid = await second.bootActive(DEST);
      await cells.resize(uuid); // out of the only host of the second cell
      await first.becomes(uuid, 'resized/-');
      await cells.settled();
      expect((await cells.outcome(uuid)).cell).to.equal('cell1');
      expect(second.arrived.filter((one) => one.startsWith('prep_resize '))).to.deep.equal([]);
    }));

  it('keeps a stopped instance stopped', () =>
    withTwoCells({}, async (cells) => {
      const { first } = cells;
      const uuid = await first.bootActive(SOURCE);
      await first.cloud.actions.stop(first.recorded.context, uuid);
      await first.becomes(uuid, 'stopped/-');
      await cells.resize(uuid);
      await cells.moved(uuid);
      expect((await cells.outcome(uuid)).guests).to.deep.equal([`${DEST}:shutdown`]);
      await cells.confirm(uuid);
      await cells.second.becomes(uuid, 'stopped/-');
    }));

  it('needs no image when the disks are on volumes', () =>
    withTwoCells({}, async (cells) => {
      const uuid = await cells.first.bootActive(SOURCE);
      await cells.first.cloud.records.instances.update(uuid, { image_ref: '' });
      cells.first.virt(SOURCE).steps.failNext('upload-image');
      await cells.resize(uuid);
      await cells.moved(uuid);
      expect((await cells.outcome(uuid)).guests).to.deep.equal([`${DEST}:running`]);
    }));

  it('is confirmed: nothing of it stays in the old cell (GS-57)', () =>
    withTwoCells({}, async (cells) => {
      const uuid = await cells.bootMoved();
      await cells.confirm(uuid);
      await cells.second.becomes(uuid, 'active/-');
      await cells.settled();
      expect(await cells.outcome(uuid)).to.deep.equal({
        ...MOVED,
        instance: [`deleted/-@${SOURCE} hidden deleted`, `active/-@${DEST}`],
        migration: ['confirmed hidden', 'confirmed'],
        kept: [],
        bound: [null, DEST],
        allocations: [`instance@${DEST}:1024`],
      });
      expect(cells.first.arrived).to.include(`confirm_snapshot_based_resize_at_source @ compute.${SOURCE}`);
    }));

  it('is reverted: the instance is again what it was, where it was (GS-61, GS-62)', () =>
    withTwoCells({}, async (cells) => {
      const uuid = await cells.bootMoved();
      await cells.second.cloud.records.instances.update(uuid, { display_name: 'renamed' });
      await cells.revert(uuid);
      await cells.first.becomes(uuid, 'active/-');
      await cells.settled();
      expect(await cells.outcome(uuid)).to.deep.equal(REVERTED);
      const instance = await cells.first.cloud.records.instances.get(uuid);
      expect([instance.get('memory_mb'), instance.get('display_name')]).to.deep.equal([512, 'renamed']);
      expect(cells.second.arrived).to.include(`revert_snapshot_based_resize_at_dest @ compute.${DEST}`);
      expect(cells.first.arrived).to.include(
        `finish_revert_snapshot_based_resize_at_source @ compute-ops.${SOURCE}`,
      );
    }));

  it('can be had again after a revert, and back after a confirmation', () =>
    withTwoCells({}, async (cells) => {
      const uuid = await cells.bootMoved();
      await cells.revert(uuid);
      await cells.first.becomes(uuid, 'active/-');
      await cells.settled();
      await cells.resize(uuid);
      await cells.second.becomes(uuid, 'resized/-');
      await cells.settled();
      await cells.confirm(uuid);
      await cells.second.becomes(uuid, 'active/-');
      await cells.settled();
      await cells.resize(uuid);
      await cells.first.becomes(uuid, 'resized/-');
      await cells.settled();
      expect((await cells.outcome(uuid)).guests).to.deep.equal([`${SOURCE}:running`]);
    }));

  it('is ended once when it is asked for twice, and not without its source (COMP-16)', () =>
    withTwoCells({}, async (cells) => {
      const uuid = await cells.bootMoved();
      const services = cells.first.cloud.records.services;
      await services.update('compute', SOURCE, { forcedDown: true });
      expect(await codeOf(cells.confirm(uuid))).to.equal('ERR_HOST_DOWN');
      await services.update('compute', SOURCE, { forcedDown: false });
      const both = await Promise.all([codeOf(cells.confirm(uuid)), codeOf(cells.revert(uuid))]);
      expect(both).to.deep.equal(['ERR_UNEXPECTED_STATE', undefined]); // the confirmation looks at its source first
      await cells.first.becomes(uuid, 'active/-');
      await cells.settled();
    }));

  it('leaves nothing anywhere when the instance is deleted before it is confirmed', () =>
    withTwoCells({}, async (cells) => {
      const uuid = await cells.bootMoved();
      await cells.second.cloud.actions.delete(cells.first.recorded.context, uuid);
      await cells.second.becomes(uuid, 'deleted/-');
      await cells.first.migrationBecomes(uuid, 'confirmed');
      await cells.settled();
      const { guests, kept, bound, allocations } = await cells.outcome(uuid);
      expect([guests, kept, bound, allocations]).to.deep.equal([[], [], [null, null], []]);
    }));

  it('goes to the cell of the host that is asked for', () =>
    withTwoCells({ hostsThere: [DEST, 'compute-c'] }, async (cells) => {
      const uuid = await cells.first.bootActive(SOURCE);
      await cells.first.cloud.moves.migrate(cells.first.recorded.context, uuid, 'compute-c');
      await cells.second.becomes(uuid, 'resized/-');
      await cells.settled();
      expect((await cells.outcome(uuid)).guests).to.deep.equal(['compute-c:running']);
      expect((await cells.registry.ofInstance(uuid)).name).to.equal(SECOND_CELL);
    }));

  it('ends as it began when no cell has a host', () =>
    withTwoCells({}, async (cells) => {
      const uuid = await cells.first.bootActive(SOURCE);
      const huge = BIGGER.clone().update({ memory_mb: 10_000_000 });
      await cells.first.cloud.moves.resize(cells.first.recorded.context, uuid, huge);
      await cells.first.migrationBecomes(uuid, 'error');
      await cells.settled();
      expect(await cells.outcome(uuid)).to.deep.equal(asBefore());
    }));
});

const REVERTED = {
  ...asBefore(),
  instance: [`active/-@${SOURCE}`, `deleted/-@${DEST} hidden deleted`],
  migration: ['reverted', 'reverted hidden deleted'],
};
