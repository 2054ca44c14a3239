import { currentContext } from '@ebbgate/core';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { HypervisorError } from '@ebbgate/compute';
import { POWER_STATE } from '#compute/objects/states.js';
import { eventually } from '../../support/rigs/deadline.js';
import { allIdle, migrationOf, outcomeOf } from './resize-words.js';
import { DEST, SOURCE, type TestCloud, withCloud } from './test-cloud.js';

/** A live migration whose source dies while memory is copied. */
async function cutOff(test: TestCloud): Promise<string> {
  const uuid = await test.bootActive();
  const copy = test.virt(SOURCE).steps.hold('copy-memory');
  await test.migrate(uuid);
  await copy.reached;
  await test.crash(SOURCE);
  return uuid;
}

/** Counts how often hosts that start from now on ask whether another is up. */
function countLooks(test: TestCloud): { readonly more: (count: number) => Promise<void> } {
  const { services } = test.cloud.records;
  const get = services.get.bind(services);
  let onLook = (): void => undefined;
  services.get = (binary, host) => {
    onLook();
    return get(binary, host);
  };
  return {
    more: (count) =>
      new Promise((resolve) => {
        let left = count;
        onLook = () => {
          left -= 1;
          if (left === 0) resolve();
        };
      }),
  };
}

async function startAgain(test: TestCloud): Promise<void> {
  await test.cloud.records.services.update('compute', SOURCE, { forcedDown: false });
  await test.cloud.host(SOURCE).start();
  await allIdle(test);
}

describe('a live migration that does not go through', () => {
  it('lets the destination go when the source dies and stays away, and is taken back when it comes (B5, GS-100)', () =>
    withCloud({}, async (test) => {
      const uuid = await cutOff(test);
      await test.idle(DEST);
      const { code, report } = await test.cloud.host(DEST).terminate();
      expect([code, report.outcome]).to.deep.equal([0, 'clean']);
      await test.cloud.host(DEST).start();
      await startAgain(test);
      await test.migrationBecomes(uuid, 'error');
      expect(await test.stateOf(uuid)).to.equal(`active/-@${SOURCE}`);
      expect(test.virt(DEST).expected).to.deep.equal([]);
    }));

  it('keeps the destination engaged while the source drains (GS-100)', () =>
    withCloud({}, async (test) => {
      const uuid = await test.bootActive();
      const looks = countLooks(test);
      await test.cloud.host(DEST).terminate();
      await test.cloud.host(DEST).start(); // a new run, which asks through them
      const copy = test.virt(SOURCE).steps.hold('copy-memory');
      await test.migrate(uuid);
      await copy.reached;
      const drain = await test.terminate(SOURCE);
      await looks.more(3);
      expect(test.tasks(DEST)).to.deep.equal(['live_migration_at_dest']);
      copy.release();
      await test.migrationBecomes(uuid, 'completed');
      await drain.ended;
      await test.cloud.host(SOURCE).start();
    }));

  it('lets the destination go also when nothing is to be cleaned up there, since the disks are shared (B4, GS-100)', () =>
    withCloud({ sharedStorage: true, recheckMs: 60_000 }, async (test) => {
      const uuid = await test.bootActive();
      test.virt(SOURCE).steps.failNext('copy-memory', new HypervisorError('the copy broke off'));
      await test.migrate(uuid);
      await test.migrationBecomes(uuid, 'failed');
      await test.idle(DEST);
      const { code, report } = await test.cloud.host(DEST).terminate();
      expect([code, report.outcome]).to.deep.equal([0, 'clean']);
      await test.cloud.host(DEST).start();
    }));

  it('is one task at the destination, also while that is being prepared (B15, GS-99)', () =>
    withCloud({}, async (test) => {
      const uuid = await test.bootActive();
      const prepare = test.virt(DEST).steps.hold('pre-live-migration');
      await test.migrate(uuid);
      await prepare.reached;
      const { registry } = test.cloud.host(DEST).process.service;
      expect(registry.snapshot().map(({ name }) => name)).to.deep.equal(['live_migration_at_dest']);
      prepare.release();
      await test.migrationBecomes(uuid, 'completed');
      await test.idle(DEST);
      expect(registry.counts.failed).to.equal(0);
    }));

  it('is looked after there for as long as it takes, whoever asked for it has left or not (GS-100, RPC-03)', () =>
    withCloud({ recheckMs: 5 }, async (test) => {
      const uuid = await test.bootActive();
      const prepare = test.virt(DEST).steps.hold('pre-live-migration');
      await test.migrate(uuid);
      await prepare.reached;
      const left: number[] = [];
      const { migrations } = test.cloud.records;
      const find = migrations.find.bind(migrations);
      migrations.find = (where) => {
        left.push(currentContext()?.remainingMs ?? Infinity);
        return find(where);
      };
      await eventually('three looks', 3000, () => left.length >= 3);
      expect(left.filter((ms) => ms !== Infinity)).to.deep.equal([]);
      prepare.release();
      await test.migrationBecomes(uuid, 'completed');
    }));

  it('counts as failed at the destination when it is taken back (B16)', () =>
    withCloud({ recheckMs: 600_000 }, async (test) => {
      const uuid = await test.bootActive();
      const { registry } = test.cloud.host(DEST).process.service;
      const ends: boolean[] = [];
      registry.events.on('ended', ({ task, failed }) => {
        if (task.name === 'live_migration_at_dest') ends.push(failed);
      });
      test.virt(SOURCE).steps.failNext('copy-memory');
      await test.migrate(uuid);
      await test.migrationBecomes(uuid, 'failed');
      await allIdle(test);
      expect(ends).to.deep.equal([true]);
      await test.migrate(uuid);
      await test.migrationBecomes(uuid, 'completed');
      await allIdle(test);
      expect(ends).to.deep.equal([true, false]);
    }));

  it('leaves a paused instance paused when it does go through', () =>
    withCloud({}, async (test) => {
      const uuid = await test.bootActive();
      const paused = { vm_state: 'paused', power_state: POWER_STATE.paused } as const;
      await test.cloud.records.instances.update(uuid, paused);
      test.virt(SOURCE).machine.set(uuid, 'paused');
      await test.migrate(uuid);
      await test.migrationBecomes(uuid, 'completed');
      await allIdle(test);
      expect(await test.stateOf(uuid)).to.equal(`paused/-@${DEST}`);
      const instance = await test.cloud.records.instances.get(uuid);
      expect(instance.get('power_state')).to.equal(POWER_STATE.paused);
      expect((await outcomeOf(test, uuid)).guests).to.deep.equal([`${DEST}:paused`]);
      expect(test.states).to.not.include('active/migrating');
    }));

  for (const where of [SOURCE, DEST]) {
    it(`leaves nothing of an instance that was deleted while its source was down, with its guest on ${where} (COMP-07)`, () =>
      withCloud({}, async (test) => {
        const uuid = await cutOff(test);
        if (where === DEST) test.virt(SOURCE).machine.move(uuid, DEST);
        await test.cloud.actions.delete({}, uuid);
        expect(await test.stateOf(uuid)).to.equal(`deleted/-@${SOURCE}`);
        await startAgain(test);
        expect(await outcomeOf(test, uuid)).to.include({ state: 'deleted/-', host: SOURCE, status: 'error' });
        const { guests, disks, allocations } = await outcomeOf(test, uuid);
        expect({ guests, disks, allocations }).to.deep.equal({ guests: [], disks: [], allocations: [] });
      }));
  }

  it('stays deleted when its source only seemed to be down, and its guest has come', () =>
    withCloud({}, async (test) => {
      const uuid = await test.bootActive();
      const post = test.virt(SOURCE).steps.hold('post-at-source');
      await test.migrate(uuid);
      await post.reached;
      await test.cloud.records.services.update('compute', SOURCE, { forcedDown: true });
      await test.cloud.actions.delete({}, uuid);
      post.release();
      await test.migrationBecomes(uuid, 'error');
      await allIdle(test);
      expect(await test.stateOf(uuid)).to.equal(`deleted/-@${SOURCE}`);
      expect((await outcomeOf(test, uuid)).guests).to.deep.equal([]);
      expect((await migrationOf(test, uuid)).get('status')).to.equal('error');
      await test.cloud.records.services.update('compute', SOURCE, { forcedDown: false });
    }));

  it('is not begun from a host that has not reported for the configured time (COMP-11)', () =>
    withCloud({ serviceDownTimeMs: 1000, schedulers: 1 }, async (test) => {
      const uuid = await test.bootActive();
      const dead = {
        binary: 'compute',
        host: SOURCE,
        state: 'running',
        reportedAtMs: Date.now() - 5000,
      } as const;
      await test.cloud.records.services.register(dead);
      await test.migrate(uuid);
      await test.migrationBecomes(uuid, 'error');
      expect(test.arrived.filter((one) => one.startsWith('check_can'))).to.deep.equal([]);
    }));
});
