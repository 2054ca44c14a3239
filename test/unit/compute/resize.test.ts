import { expect } from 'chai';
import { describe, it } from 'mocha';
import { until } from '../../support/deferred.js';
import {
  allIdle,
  BIGGER,
  codeOf,
  failing,
  outcomeOf,
  preferring,
  resized,
  THIRD,
  untouched,
} from './resize-words.js';
import { DEST, SOURCE, withCloud } from './test-cloud.js';

/** So long that no test sees it happen: what ends, ends because it was told. */
const NO_RECHECK = { recheckMs: 600_000 } as const;

describe('resize and cold migration', () => {
  it('give the instance its new size on another host, step by step, over the topics of the table (GS-53, GS-54, GS-55)', () =>
    withCloud(NO_RECHECK, async (test) => {
      const uuid = await test.bootActive();
      test.arrived.length = 0;
      test.states.length = 0;
      await test.cloud.moves.resize(test.recorded.context, uuid, BIGGER);
      await test.becomes(uuid, 'resized/-');
      await allIdle(test);
      expect(test.states).to.deep.equal([
        'active/resize_prep',
        'active/resize_migrating',
        'active/resize_migrated',
        'active/resize_finish',
        'resized/-',
      ]);
      expect(test.statuses).to.deep.equal(['pre-migrating', 'migrating', 'post-migrating', 'finished']);
      await until(() => test.arrived.length === 5); // nobody waits for the event at the source
      expect(test.arrived).to.deep.equal([
        `prep_resize @ compute.${DEST}`,
        `resize_instance @ compute-ops.${SOURCE}`,
        `finish_resize @ compute-ops.${DEST}`,
        `external_instance_event @ compute-ops.${DEST}`,
        `external_instance_event @ compute-ops.${SOURCE}`,
      ]);
      expect(await outcomeOf(test, uuid)).to.deep.equal(resized(SOURCE, DEST));
      const [migration] = await test.cloud.records.migrations.find({ instance_uuid: uuid });
      expect(migration?.get('migration_type')).to.equal('resize');
      expect([migration?.get('old_instance_type_id'), migration?.get('new_instance_type_id')]).to.deep.equal([
        1, 2,
      ]);
    }));

  it('keep the size and go where they are asked to when it is a cold migration', () =>
    withCloud({ ...NO_RECHECK, hosts: [SOURCE, DEST, THIRD] }, async (test) => {
      const uuid = await test.bootActive();
      await test.cloud.moves.migrate(test.recorded.context, uuid, THIRD);
      await test.becomes(uuid, 'resized/-');
      await allIdle(test);
      expect(await outcomeOf(test, uuid)).to.deep.equal(resized(SOURCE, THIRD, 512));
      const [migration] = await test.cloud.records.migrations.find({ instance_uuid: uuid });
      expect(migration?.get('migration_type')).to.equal('migration');
    }));

  it('leave an instance shut down that was stopped', () =>
    withCloud(NO_RECHECK, async (test) => {
      const uuid = await test.bootActive();
      await test.cloud.actions.stop(test.recorded.context, uuid);
      await test.becomes(uuid, 'stopped/-');
      await test.cloud.moves.resize(test.recorded.context, uuid, BIGGER);
      await test.becomes(uuid, 'resized/-');
      await allIdle(test);
      expect(await outcomeOf(test, uuid)).to.deep.equal({
        ...resized(SOURCE, DEST),
        guests: [`${DEST}:shutdown`],
      });
    }));

  it('are refused in any other state, and at once with a conflict when the host is down (COMP-16)', () =>
    withCloud(NO_RECHECK, async (test) => {
      const { records, moves } = test.cloud;
      const uuid = await test.bootActive();
      const refused = (): Promise<unknown> =>
        moves.resize(test.recorded.context, uuid, BIGGER).then(() => 'accepted', codeOf);
      await records.services.update('compute', SOURCE, { forcedDown: true });
      expect(await refused()).to.equal('ERR_HOST_DOWN');
      await records.services.update('compute', SOURCE, { forcedDown: false });
      await records.instances.update(uuid, { vm_state: 'paused' });
      expect(await refused()).to.equal('ERR_UNEXPECTED_STATE');
      await records.instances.update(uuid, { vm_state: 'active', task_state: 'rebooting' });
      expect(await refused()).to.equal('ERR_UNEXPECTED_STATE');
      await records.instances.update(uuid, { task_state: null });
      expect(await outcomeOf(test, uuid)).to.deep.equal(untouched(SOURCE, '-'));
    }));

  it('leave everything as it was when there is no host', () =>
    withCloud(NO_RECHECK, async (test) => {
      const uuid = await test.bootActive();
      await test.cloud.records.services.update('compute', DEST, { disabled: true });
      await test.cloud.moves.resize(test.recorded.context, uuid, BIGGER);
      await test.migrationBecomes(uuid, 'error');
      await test.becomes(uuid, 'active/-');
      expect(await outcomeOf(test, uuid)).to.deep.equal(untouched(SOURCE, 'error'));
      expect(test.arrived).to.not.include(`prep_resize @ compute.${DEST}`);
    }));

  it('try the next host of the list when one cannot take the instance, with the same record', () =>
    withCloud(
      { ...NO_RECHECK, hosts: [SOURCE, DEST, THIRD], resourcesOf: preferring(DEST) },
      async (test) => {
        const uuid = await test.bootActive();
        test.virt(DEST).steps.failNext('check-cold-destination');
        await test.cloud.moves.resize(test.recorded.context, uuid, BIGGER);
        await test.becomes(uuid, 'resized/-');
        await allIdle(test);
        expect(await outcomeOf(test, uuid)).to.deep.equal(resized(SOURCE, THIRD));
        expect(await test.cloud.records.migrations.find({ instance_uuid: uuid })).to.have.length(1);
        expect(test.arrived.filter((one) => one.startsWith('prep_resize'))).to.deep.equal([
          `prep_resize @ compute.${DEST}`,
          `prep_resize @ compute.${THIRD}`,
        ]);
      },
    ));

  it('pass over hosts of the list that have no room any more, and end as they began after the last', () =>
    withCloud(
      { ...NO_RECHECK, hosts: [SOURCE, DEST, THIRD], resourcesOf: preferring(DEST) },
      async (test) => {
        const uuid = await test.bootActive();
        const { allocations } = test.cloud.records;
        test.cloud.host(DEST).events.on('request', ({ method }) => {
          if (method === 'prep_resize') void fill();
        });
        const fill = async (): Promise<void> => {
          await allocations.report(THIRD, { vcpus: 0, memoryMb: 0, diskGb: 0 });
        };
        test.virt(DEST).steps.failNext('check-cold-destination');
        await test.cloud.moves.resize(test.recorded.context, uuid, BIGGER);
        await test.migrationBecomes(uuid, 'error');
        await test.becomes(uuid, 'active/-');
        await allIdle(test);
        expect(await outcomeOf(test, uuid)).to.deep.equal(untouched(SOURCE, 'error'));
      },
    ));

  it('end as they began when the only host cannot take the instance, which leaves nothing engaged (B2)', () =>
    withCloud(NO_RECHECK, async (test) => {
      const uuid = await test.bootActive();
      test.virt(DEST).steps.failNext('check-cold-destination');
      await test.cloud.moves.resize(test.recorded.context, uuid, BIGGER);
      await test.migrationBecomes(uuid, 'error');
      await test.becomes(uuid, 'active/-');
      await allIdle(test);
      expect(await outcomeOf(test, uuid)).to.deep.equal(untouched(SOURCE, 'error'));
      const instance = await test.cloud.records.instances.get(uuid);
      expect([instance.get('old_flavor'), instance.get('new_flavor')]).to.deep.equal([null, null]);
    }));

  it('end as they began when the source cannot be asked', () =>
    withCloud({ ...NO_RECHECK, onSend: failing('resize_instance') }, async (test) => {
      const uuid = await test.bootActive();
      await test.cloud.moves.resize(test.recorded.context, uuid, BIGGER);
      await test.migrationBecomes(uuid, 'error');
      await test.becomes(uuid, 'active/-');
      await allIdle(test);
      expect(await outcomeOf(test, uuid)).to.deep.equal(untouched(SOURCE, 'error'));
    }));
});
