import { expect } from 'chai';
import { describe, it } from 'mocha';
import { bereft, evacuateTo, THIRD, THREE } from './evacuation-words.js';
import { DEST, SOURCE, type TestCloud, withCloud } from './test-cloud.js';

async function expectNowhere(test: TestCloud, uuid: string): Promise<void> {
  expect(await test.stateOf(uuid)).to.equal(`error/-@${SOURCE}`);
  expect(await test.allocatedOn(uuid)).to.deep.equal([SOURCE]);
  expect(test.statuses).to.deep.equal(['accepted', 'error']);
}

describe('an evacuation to a host that drains', () => {
  it('is refused there, and the conductor chooses another one; its migration stays accepted (GS-1, decision 24)', () =>
    withCloud(THREE, async (test) => {
      const busy = await test.bootActive(DEST);
      const held = test.virt(DEST).steps.hold('upload-image');
      await test.cloud.actions.snapshot({}, busy);
      await held.reached;
      const uuid = await bereft(test);
      const { ended } = await test.terminate(DEST);
      await evacuateTo(test, uuid, DEST); // chosen before anybody knew
      const migration = await test.migrationBecomes(uuid, 'done');
      expect(migration.get('dest_compute')).to.equal(THIRD);
      expect(test.statuses).to.deep.equal(['accepted', 'pre-migrating', 'done']);
      expect(await test.stateOf(uuid)).to.equal(`active/-@${THIRD}`);
      expect(await test.allocatedOn(uuid)).to.deep.equal([SOURCE, THIRD]);
      held.release();
      const { code, report } = await ended;
      expect([code, report.unfinished]).to.deep.equal([0, []]);
      await test.cloud.host(DEST).start();
      await test.idle(DEST);
      expect(test.cloud.hypervisors.locate(uuid)).to.deep.equal([SOURCE, THIRD]);
    }));

  it('ends in ERROR when there is no other', () =>
    withCloud({}, async (test) => {
      const busy = await test.bootActive(DEST);
      const held = test.virt(DEST).steps.hold('upload-image');
      await test.cloud.actions.snapshot({}, busy);
      await held.reached;
      const uuid = await bereft(test);
      const { ended } = await test.terminate(DEST);
      await evacuateTo(test, uuid, DEST);
      await test.migrationBecomes(uuid, 'error');
      await test.becomes(uuid, 'error/-');
      await expectNowhere(test, uuid);
      held.release();
      await ended;
      await test.cloud.host(DEST).start();
    }));

  it('is completed when it had begun, and hears its event meanwhile (GS-2, GS-5, GS-31)', () =>
    withCloud({}, async (test) => {
      const uuid = await bereft(test);
      test.cloud.networking.hold(uuid);
      await test.cloud.rebuilds.evacuate({}, uuid);
      await test.becomes(uuid, 'active/rebuild_spawning');
      const { ended, hasEnded } = await test.terminate(DEST);
      expect(hasEnded()).to.equal(false);
      expect(test.tasks(DEST)).to.deep.equal(['evacuate_instance']);
      await test.cloud.networking.release(uuid);
      expect((await ended).code).to.equal(0);
      expect(await test.stateOf(uuid)).to.equal(`active/-@${DEST}`);
      expect(test.statuses.at(-1)).to.equal('done');
      await test.cloud.host(DEST).start();
    }));
});
