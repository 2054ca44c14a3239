import { randomUUID } from 'node:crypto';
import { Migration, RequestSpec, resourcesOf } from '@ebbgate/compute';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { until } from '../../support/deferred.js';
import { allIdle, BIGGER, bootResized } from './resize-words.js';
import { DEST, SOURCE, withCloud } from './test-cloud.js';

describe('a host that hears of a move that is over', () => {
  it('leaves nothing claimed at a destination that hears of it when it is over (GS-6, GS-76)', () =>
    withCloud({}, async (test) => {
      const { records, computeApi } = test.cloud;
      const instance = await records.instances.get(await test.bootActive());
      const uuid = instance.get('uuid');
      const about = { instance_uuid: uuid, source_compute: SOURCE, dest_compute: null } as const;
      const over = { ...about, uuid: randomUUID(), migration_type: 'migration', status: 'error' } as const;
      const migration = await records.migrations.create(Migration.create(over));
      const flavor = instance.get('flavor');
      const request = {
        image: {},
        filter_properties: null,
        node: null,
        clean_shutdown: true,
        host_list: null,
      };
      const request_spec = RequestSpec.create({ instance_uuid: uuid, flavor });
      await records.allocations.claim(uuid, DEST, resourcesOf(flavor)); // by the scheduler
      const args = { ...request, instance, migration, flavor, request_spec };
      await computeApi.cast({}, 'prep_resize', DEST, args);
      await until(() => test.arrived.includes(`prep_resize @ compute.${DEST}`));
      await allIdle(test);
      expect(await test.allocatedOn(uuid)).to.deep.equal([SOURCE]);
      expect(await test.stateOf(uuid)).to.equal(`active/-@${SOURCE}`);
    }));

  it('leaves an earlier move alone that was reverted, while another one waits to be (COMP-07, GS-76)', () =>
    withCloud({}, async (test) => {
      const { moves, hypervisors } = test.cloud;
      const uuid = await bootResized(test);
      await moves.revertResize({}, uuid);
      await test.becomes(uuid, 'active/-');
      await moves.resize({}, uuid, BIGGER);
      await test.becomes(uuid, 'resized/-');
      await allIdle(test);
      const [first] = await test.cloud.records.migrations.find({ instance_uuid: uuid });
      await (
        await test.terminate(DEST)
      ).ended;
      await moves.revertResize({}, uuid); // waits for the destination
      const args = { instance: await test.cloud.records.instances.get(uuid), request_spec: null };
      const late = { ...args, migration: first ?? expect.fail('there is no move') };
      await test.cloud.computeApi.cast({}, 'finish_revert_resize', SOURCE, late);
      await (
        await test.terminate(SOURCE)
      ).ended;
      await test.cloud.host(SOURCE).start();
      await test.idle(SOURCE);
      expect(await test.stateOf(uuid)).to.equal(`resized/resize_reverting@${DEST}`);
      expect(hypervisors.locate(uuid)).to.deep.equal([DEST]);
      await test.cloud.host(DEST).start();
      await test.becomes(uuid, 'active/-');
      await allIdle(test);
      expect(hypervisors.locate(uuid)).to.deep.equal([SOURCE]);
      const its = await test.cloud.records.migrations.find({ instance_uuid: uuid });
      expect(its.map((one) => one.get('status'))).to.deep.equal(['reverted', 'reverted']);
    }));

  it('leaves nothing claimed anywhere when its host starts before it has come to another (COMP-07, GS-6, GS-76)', () =>
    withCloud({}, async (test) => {
      const { records } = test.cloud;
      const uuid = await test.bootActive();
      await (
        await test.terminate(SOURCE)
      ).ended;
      const about = { instance_uuid: uuid, source_compute: SOURCE, dest_compute: null } as const;
      const begun = {
        ...about,
        uuid: randomUUID(),
        migration_type: 'migration',
        status: 'pre-migrating',
      } as const;
      await records.migrations.create(Migration.create(begun));
      const instance = await records.instances.update(uuid, { task_state: 'resize_prep' });
      await records.allocations.transfer(uuid, begun.uuid);
      await records.allocations.claim(uuid, DEST, resourcesOf(instance.get('flavor')));
      await test.cloud.host(SOURCE).start();
      await test.becomes(uuid, 'active/-');
      await allIdle(test);
      expect(await test.allocatedOn(uuid)).to.deep.equal([SOURCE]);
      expect(await test.allocatedOn(begun.uuid)).to.deep.equal([]);
    }));
});
