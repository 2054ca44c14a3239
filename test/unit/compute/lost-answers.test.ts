import { MessagingTimeoutError } from '@ebbgate/core';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { LibvirtLiveMigrateData } from '@ebbgate/compute';
import { bereft } from './evacuation-words.js';
import { loseAnswers } from './lost-answers.js';
import { allIdle, BIGGER, outcomeOf, resized, untouched } from './resize-words.js';
import { DEST, SOURCE, withCloud } from './test-cloud.js';

/** Less than the first pause between two tries. */
const IMPATIENT = { recordsPatienceMs: 50 };
const NO_RECHECK = { recheckMs: 60_000 };

for (const applied of [true, false]) {
  describe(`a record whose write ${applied ? 'has happened without an answer' : 'times out at first'}`, () => {
    const once = { applied, times: 1 };

    it('keeps the guest of a build that has succeeded (COMP-07)', () =>
      withCloud({}, async (test) => {
        const lost = loseAnswers(test.cloud.records.instances, {
          ...once,
          of: (changes) => changes.vm_state === 'active',
        });
        const uuid = await test.bootActive();
        await test.idle(SOURCE);
        expect(lost()).to.equal(1);
        expect(await test.stateOf(uuid)).to.equal(`active/-@${SOURCE}`);
        expect(await test.virt(SOURCE).guestState(uuid)).to.equal('running');
        expect(await test.allocatedOn(uuid)).to.deep.equal([SOURCE]);
        expect(await test.cloud.networking.portsOf(uuid)).to.have.length(1);
        expect(test.cloud.host(SOURCE).process.service.registry.counts.failed).to.equal(0);
      }));

    it('keeps the guest of an evacuation that has succeeded (COMP-07)', () =>
      withCloud({}, async (test) => {
        const uuid = await bereft(test);
        const lost = loseAnswers(test.cloud.records.instances, {
          ...once,
          of: (changes) => changes.host === DEST,
        });
        await test.cloud.rebuilds.evacuate({}, uuid);
        await test.migrationBecomes(uuid, 'done');
        await test.idle(DEST);
        expect(lost()).to.equal(1);
        expect(await test.stateOf(uuid)).to.equal(`active/-@${DEST}`);
        expect(await test.virt(DEST).guestState(uuid)).to.equal('running');
        expect(test.cloud.networking.boundTo(uuid)).to.equal(DEST);
        expect(await test.allocatedOn(uuid)).to.deep.equal([SOURCE, DEST]);
      }));

    it('hands a cold move over all the same', () =>
      withCloud(NO_RECHECK, async (test) => {
        const uuid = await test.bootActive();
        const lost = loseAnswers(test.cloud.records.instances, {
          ...once,
          of: (changes) => changes.task_state === 'resize_migrated',
        });
        await test.cloud.moves.resize(test.recorded.context, uuid, BIGGER);
        await test.becomes(uuid, 'resized/-');
        await allIdle(test);
        expect(lost()).to.equal(1);
        expect(await outcomeOf(test, uuid)).to.deep.equal(resized(SOURCE, DEST));
      }));

    it('begins a build', () =>
      withCloud({}, async (test) => {
        const lost = loseAnswers(test.cloud.records.instances, {
          ...once,
          of: (changes) => changes.launched_on === SOURCE,
        });
        await test.bootActive();
        expect(lost()).to.equal(1);
      }));

    it('begins a live migration', () =>
      withCloud({}, async (test) => {
        const uuid = await test.bootActive();
        const { migrations } = test.cloud.records;
        const lost = loseAnswers(migrations, { ...once, of: (changes) => changes.status === 'queued' });
        await test.migrate(uuid);
        await test.migrationBecomes(uuid, 'completed');
        await allIdle(test);
        expect(lost()).to.equal(1);
        expect(await test.stateOf(uuid)).to.equal(`active/-@${DEST}`);
      }));

    it('begins a cold move', () =>
      withCloud(NO_RECHECK, async (test) => {
        const uuid = await test.bootActive();
        const { migrations } = test.cloud.records;
        const lost = loseAnswers(migrations, { ...once, of: (changes) => changes.status === 'migrating' });
        await test.cloud.moves.resize(test.recorded.context, uuid, BIGGER);
        await test.becomes(uuid, 'resized/-');
        expect(lost()).to.equal(1);
      }));

    it('ends a cold move well at its destination', () =>
      withCloud(NO_RECHECK, async (test) => {
        const uuid = await test.bootActive();
        const { instances, migrations } = test.cloud.records;
        const lost = [
          loseAnswers(migrations, { ...once, of: (changes) => changes.dest_compute === DEST }),
          loseAnswers(instances, { ...once, of: (changes) => changes.task_state === 'resize_finish' }),
          loseAnswers(instances, { ...once, of: (changes) => changes.vm_state === 'resized' }),
        ];
        await test.cloud.moves.resize(test.recorded.context, uuid, BIGGER);
        await test.becomes(uuid, 'resized/-');
        await allIdle(test);
        expect(lost.map((count) => count())).to.deep.equal([1, 1, 1]);
        expect(await outcomeOf(test, uuid)).to.deep.equal(resized(SOURCE, DEST));
      }));
  });

  describe(`records that do not answer in the end${applied ? ', though the write has happened' : ''}`, () => {
    const once = { applied, times: 1 };

    it('leave the guest of a build where it is (COMP-07)', () =>
      withCloud(IMPATIENT, async (test) => {
        loseAnswers(test.cloud.records.instances, {
          ...once,
          of: (changes) => changes.vm_state === 'active',
        });
        const uuid = await test.boot();
        await test.becomes(uuid, applied ? 'active/-' : 'building/spawning');
        await test.idle(SOURCE);
        expect(await test.virt(SOURCE).guestState(uuid)).to.equal('running');
        expect(await test.allocatedOn(uuid)).to.deep.equal([SOURCE]);
      }));

    it('leave the guest of an evacuation where it is (COMP-07)', () =>
      withCloud(IMPATIENT, async (test) => {
        const uuid = await bereft(test);
        loseAnswers(test.cloud.records.instances, { ...once, of: (changes) => changes.host === DEST });
        await test.cloud.rebuilds.evacuate({}, uuid);
        await test.migrationBecomes(uuid, 'pre-migrating');
        await test.idle(DEST);
        expect(await test.virt(DEST).guestState(uuid)).to.equal('running');
        expect(await test.allocatedOn(uuid)).to.deep.equal([SOURCE, DEST]);
      }));

    it('end a build that could not begin in ERROR', () =>
      withCloud(IMPATIENT, async (test) => {
        const { instances } = test.cloud.records;
        loseAnswers(instances, { ...once, of: (changes) => changes.launched_on === SOURCE });
        const uuid = await test.boot();
        await test.becomes(uuid, 'error/-');
        await test.idle(SOURCE);
        expect(await test.allocatedOn(uuid)).to.deep.equal([]);
      }));

    it('end a live migration that could not begin, and all is as before', () =>
      withCloud(IMPATIENT, async (test) => {
        const uuid = await test.bootActive();
        const { migrations } = test.cloud.records;
        loseAnswers(migrations, { ...once, of: (changes) => changes.status === 'queued' });
        await test.migrate(uuid);
        await test.migrationBecomes(uuid, 'failed');
        await allIdle(test);
        expect(await outcomeOf(test, uuid)).to.deep.equal(untouched(SOURCE, 'failed'));
      }));

    it('end a cold move that could not begin, and all is as before', () =>
      withCloud({ ...IMPATIENT, ...NO_RECHECK }, async (test) => {
        const uuid = await test.bootActive();
        const { migrations } = test.cloud.records;
        loseAnswers(migrations, { ...once, of: (changes) => changes.status === 'migrating' });
        await test.cloud.moves.resize(test.recorded.context, uuid, BIGGER);
        await test.migrationBecomes(uuid, 'error');
        await test.becomes(uuid, 'active/-');
        await allIdle(test);
        expect(await outcomeOf(test, uuid)).to.deep.equal(untouched(SOURCE, 'error'));
      }));
  });
}

describe('a second message about something that has ended', () => {
  it('touches nothing when its records do not answer', () =>
    withCloud(IMPATIENT, async (test) => {
      const uuid = await test.bootActive();
      await test.migrate(uuid);
      const migration = await test.migrationBecomes(uuid, 'completed');
      await allIdle(test);
      const before = await outcomeOf(test, uuid);
      const { instances, migrations } = test.cloud.records;
      const update = migrations.update.bind(migrations);
      migrations.update = (id, changes, expected) =>
        changes.status === 'queued'
          ? Promise.reject(new MessagingTimeoutError('no answer, as ordered'))
          : update(id, changes, expected);
      await test.cloud.computeApi.cast({}, 'live_migration', SOURCE, {
        instance: await instances.get(uuid),
        migration,
        dest: DEST,
        block_migration: null,
        migrate_data: LibvirtLiveMigrateData.create({ is_shared_instance_path: true }),
      });
      await test.cloud.computeApi.call({}, 'check_instance_shared_storage', SOURCE, { data: {} }); // comes after it
      await allIdle(test);
      expect(await outcomeOf(test, uuid)).to.deep.equal(before);
    }));
});
