import { Liveness, Migration, type TaskState } from '@ebbgate/compute';
import { lookAtEvacuation } from '#compute/api/evacuation-sight.js';
import { checkDown, evacuateHost } from '#compute/api/host-evacuation.js';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { rejectionOf, until } from '../../support/deferred.js';
import { THIRD, THREE } from './evacuation-words.js';
import { codeOf, DEST, SOURCE, type TestCloud, withCloud } from './test-cloud.js';

const liveness = new Liveness();

/** Each instance that is looked at: `state status`, by number of the boot. */
async function seen(test: TestCloud, uuids: readonly string[], now = Date.now()): Promise<readonly string[]> {
  const found = await lookAtEvacuation({ records: test.cloud.records, liveness, now: () => now }, SOURCE);
  expect(found.map(({ uuid }) => uuid)).to.have.members([...new Set(found.map(({ uuid }) => uuid))]);
  return uuids.map((uuid) => {
    const one = found.find((each) => each.uuid === uuid);
    return one ? `${one.state} ${one.migration?.get('status') ?? '-'}` : 'none';
  });
}

interface Driven {
  readonly run: (parallel?: number, signal?: AbortSignal) => Promise<readonly string[]>;
  /** Most that were under way at one moment. */
  readonly most: () => number;
  readonly refused: Map<string, unknown>;
}

function driver(test: TestCloud): Driven {
  const { records, rebuilds } = test.cloud;
  const refused = new Map<string, unknown>();
  const moving = new Set<string>();
  let most = 0;
  records.events.on('migration', (one) => {
    if (['accepted', 'pre-migrating'].includes(one.get('status'))) moving.add(one.get('uuid'));
    else moving.delete(one.get('uuid'));
    most = Math.max(most, moving.size);
  });
  const evacuate = (uuid: string, seenTask: TaskState): Promise<unknown> =>
    rebuilds.evacuate({}, uuid, null, { seenTask });
  const means = { records, liveness, evacuate };
  return {
    refused,
    most: () => most,
    run: async (parallel = 5, signal = new AbortController().signal) => {
      const plan = { host: SOURCE, parallel, lookMs: 1, signal };
      return (await evacuateHost(means, plan, refused)).map(({ state }) => state).sort();
    },
  };
}

async function booted(test: TestCloud, count: number): Promise<readonly string[]> {
  const uuids: string[] = [];
  for (let at = 0; at < count; at += 1) uuids.push(await test.bootActive());
  return uuids;
}

describe('evacuating a whole host', () => {
  it('brings all instances elsewhere, so many at a time, and does nothing when it is done again (FD-6)', () =>
    withCloud({}, async (test) => {
      const uuids = await booted(test, 5);
      await test.crash(SOURCE);
      expect(await seen(test, uuids)).to.deep.equal(uuids.map(() => 'waiting -'));
      const { run, most } = driver(test);
      const held = test.virt(DEST).steps.hold('create-disks');
      const running = run(2);
      await until(() => most() === 2);
      held.release();
      expect(await running).to.deep.equal(uuids.map(() => 'evacuated'));
      expect(most()).to.equal(2);
      for (const uuid of uuids) expect(await test.stateOf(uuid)).to.equal(`active/-@${DEST}`);
      const before = (await test.cloud.records.migrations.find({})).length;
      expect(await run()).to.deep.equal(uuids.map(() => 'evacuated'));
      expect((await test.cloud.records.migrations.find({})).length).to.equal(before);
      await test.revive(SOURCE);
      expect(await seen(test, uuids)).to.deep.equal(uuids.map(() => 'none'));
    }));

  it('goes on with what another had begun, and leaves alone what is under way', () =>
    withCloud({}, async (test) => {
      const [first = '', second = ''] = await booted(test, 2);
      await test.crash(SOURCE);
      const held = test.virt(DEST).steps.hold('create-disks');
      await test.cloud.rebuilds.evacuate({}, first);
      await held.reached;
      const { run, most } = driver(test);
      const both = Promise.all([run(1), driver(test).run(1)]);
      await test.watch.instance(first, (one) => one.get('task_state') === 'rebuild_spawning', {
        timeoutMs: 2000,
      });
      expect(await seen(test, [first, second])).to.deep.equal(['under_way pre-migrating', 'waiting -']);
      held.release();
      expect(await both).to.deep.equal([
        ['evacuated', 'evacuated'],
        ['evacuated', 'evacuated'],
      ]);
      expect(most()).to.equal(1);
      expect((await test.cloud.records.migrations.find({})).length).to.equal(2);
    }));

  it('tells what failed, tries that once more when it is asked again, and what cannot be', () =>
    withCloud({}, async (test) => {
      const [well = '', lame = '', paused = ''] = await booted(test, 3);
      await test.crash(SOURCE);
      await test.cloud.records.instances.update(paused, { vm_state: 'paused' });
      await test.cloud.records.instances.update(lame, { vm_state: 'error' });
      test.virt(DEST).steps.failNext('create-disks');
      const { run } = driver(test);
      expect(await run(1)).to.deep.equal(['evacuated', 'failed', 'unsuitable']);
      const found = await lookAtEvacuation({ records: test.cloud.records, liveness }, SOURCE);
      expect(found.find(({ uuid }) => uuid === paused)?.reason).to.equal('vm_state is paused');
      expect(found.find(({ state }) => state === 'failed')?.reason)
        .to.be.a('string')
        .and.not.equal('');
      expect(await run(1)).to.deep.equal(['evacuated', 'evacuated', 'unsuitable']);
      for (const uuid of [well, lame]) expect(await test.stateOf(uuid)).to.match(new RegExp(`@${DEST}$`));
      expect(await test.stateOf(paused)).to.equal(`paused/-@${SOURCE}`);
    }));

  it('asks again for one whose new host has died, too, and whose request got lost', () =>
    withCloud(THREE, async (test) => {
      const [uuid = ''] = await booted(test, 1);
      await test.crash(SOURCE);
      const held = test.virt(DEST).steps.hold('start-guest');
      await test.cloud.rebuilds.evacuate({}, uuid, DEST);
      await held.reached;
      await test.crash(DEST);
      held.release();
      expect(await seen(test, [uuid])).to.deep.equal(['waiting pre-migrating']);
      expect(await driver(test).run()).to.deep.equal(['evacuated']);
      expect(await test.stateOf(uuid)).to.equal(`active/-@${THIRD}`);
    }));

  it('takes a request for lost that nobody has taken up for two minutes', () =>
    withCloud({}, async (test) => {
      const [uuid = ''] = await booted(test, 1);
      await test.crash(SOURCE);
      await test.cloud.records.migrations.create(
        Migration.create({
          uuid: '77777777-0000-4000-8000-000000000002',
          instance_uuid: uuid,
          source_compute: SOURCE,
          dest_compute: null,
          status: 'accepted',
          migration_type: 'evacuation',
          deleted: false,
        }),
      );
      expect(await seen(test, [uuid])).to.deep.equal(['under_way accepted']);
      expect(await codeOf(test.cloud.rebuilds.evacuate({}, uuid))).to.equal('ERR_UNEXPECTED_STATE');
      expect(await seen(test, [uuid], Date.now() + 121_000)).to.deep.equal(['waiting accepted']);
    }));

  it('is refused while the host is up; what can not be asked for is told, and keeps nothing else from going', () =>
    withCloud({}, async (test) => {
      const [first = ''] = await booted(test, 2);
      const { records } = test.cloud;
      expect(await codeOf(checkDown({ records, liveness }, SOURCE))).to.equal('ERR_UNEXPECTED_STATE');
      await test.crash(SOURCE);
      await checkDown({ records, liveness }, SOURCE);
      const evacuate = async (uuid: string): Promise<unknown> => {
        if (uuid === first) throw new Error('no way');
        return test.cloud.rebuilds.evacuate({}, uuid);
      };
      const refused = new Map<string, unknown>();
      const plan = { host: SOURCE, parallel: 5, lookMs: 1, signal: new AbortController().signal };
      const found = await evacuateHost({ records, liveness, evacuate }, plan, refused);
      expect(found.map(({ state }) => state).sort()).to.deep.equal(['evacuated', 'waiting']);
      expect([...refused.keys()]).to.deep.equal([first]);
    }));

  it('is begun once for an instance for which two ask at the same time, or one who has seen another task', () =>
    withCloud({}, async (test) => {
      const [uuid = ''] = await booted(test, 1);
      await test.crash(SOURCE);
      const { rebuilds, records } = test.cloud;
      const ask = (seenTask?: TaskState): Promise<unknown> =>
        codeOf(rebuilds.evacuate({}, uuid, null, seenTask === undefined ? {} : { seenTask }));
      expect(await ask('powering-off')).to.equal('ERR_UNEXPECTED_STATE');
      expect(await records.migrations.find({})).to.deep.equal([]);
      expect(await Promise.all([ask(), ask()])).to.have.members([undefined, 'ERR_UNEXPECTED_STATE']);
      await test.migrationBecomes(uuid, 'done');
      expect(test.statuses).to.deep.equal(['accepted', 'pre-migrating', 'done']);
      expect(await test.allocatedOn(uuid)).to.deep.equal([SOURCE, DEST]);
    }));

  it('begins no more once it is told to stop; what is under way goes on', () =>
    withCloud({}, async (test) => {
      const [first = '', second = ''] = await booted(test, 2);
      await test.crash(SOURCE);
      const held = test.virt(DEST).steps.hold('create-disks');
      const stop = new AbortController();
      const running = rejectionOf(driver(test).run(1, stop.signal));
      await held.reached;
      stop.abort();
      expect((await running).code).to.equal('ERR_ABORTED');
      held.release();
      const moved = (await test.stateOf(first)).startsWith('active/rebuild') ? first : second;
      await test.migrationBecomes(moved, 'done');
      expect((await test.cloud.records.migrations.find({})).length).to.equal(1);
    }));
});
