import { MessageDeliveryError } from '@ebbgate/core';
import { type MigrationStatus, MigrationPreCheckError, type VirtStep } from '@ebbgate/compute';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { arrived, liveOutcomeNow, liveOutcomeOf, migrateUntil, stayed } from './live-migration-words.js';
import { loseAnswers } from './lost-answers.js';
import { failToPlug } from './network-words.js';
import { failing, migrationOf, preferring, THIRD } from './resize-words.js';
import { DEST, SOURCE, type TestCloud, withCloud } from './test-cloud.js';

/** So long that no test sees it happen: what ends, ends because it was told. */
const NO_RECHECK = { recheckMs: 600_000 } as const;
const REFUSAL = new MigrationPreCheckError('not here');
const HOSTS = [SOURCE, DEST, THIRD, 'compute-d'];

/** Requests of a method that have come to a host, whichever. */
function count(test: TestCloud, method: string): number {
  return test.arrived.filter((one) => one.startsWith(`${method} @`)).length;
}

/** Its guest is to be pinned. */
async function pinned(test: TestCloud, uuid: string): Promise<void> {
  const { instances } = test.cloud.records;
  const flavor = (await instances.get(uuid)).get('flavor').clone();
  await instances.update(uuid, { flavor: flavor.update({ extra_specs: { 'hw:numa_nodes': '1' } }) });
}

describe('a live migration that the conductor cannot hand over (compute-rpc 3.1, steps 3 to 6)', () => {
  it('leaves the instance as it was when the guest is shut down', () =>
    withCloud(NO_RECHECK, async (test) => {
      const uuid = await test.bootActive();
      await test.cloud.records.instances.update(uuid, { power_state: 4 });
      expect(await migrateUntil(test, uuid, 'error')).to.deep.equal(stayed('error'));
      expect(count(test, 'check_can_live_migrate_destination')).to.equal(0);
    }));

  it('leaves it as it was when no host has room', () =>
    withCloud({ ...NO_RECHECK, resourcesOf: preferring(SOURCE) }, async (test) => {
      const uuid = await test.bootActive();
      const all = { vcpus: 64, memoryMb: 8192, diskGb: 100 };
      await test.cloud.records.allocations.claim('somebody-else', DEST, all);
      expect(await migrateUntil(test, uuid, 'error')).to.deep.equal(stayed('error'));
    }));

  for (const [side, host, step] of [
    ['destination', DEST, 'check-destination'],
    ['source', SOURCE, 'check-source'],
  ] as const) {
    it(`leaves it as it was when the ${side} refuses, and the destination is not engaged`, () =>
      withCloud(NO_RECHECK, async (test) => {
        const uuid = await test.bootActive();
        test.virt(host).steps.failNext(step, REFUSAL);
        expect(await migrateUntil(test, uuid, 'error')).to.deep.equal(stayed('error'));
      }));

    it(`leaves it in ERROR, and otherwise as it was, when the ${side} fails for another reason`, () =>
      withCloud(NO_RECHECK, async (test) => {
        const uuid = await test.bootActive();
        test.virt(host).steps.failNext(step);
        expect(await migrateUntil(test, uuid, 'error')).to.deep.equal(stayed('error', 'error'));
      }));
  }

  it('leaves it in ERROR when the source cannot be told, and tells the destination', () =>
    withCloud({ onSend: failing('live_migration') }, async (test) => {
      const uuid = await test.bootActive();
      expect(await migrateUntil(test, uuid, 'error')).to.deep.equal(stayed('error', 'error'));
      expect(count(test, 'rollback_live_migration_at_destination')).to.equal(1);
    }));

  const UNCONFIRMED = {
    onSend: ({ method }: { readonly method: string }): void => {
      if (method === 'live_migration') throw new MessageDeliveryError('no confirm', { outcome: 'unknown' });
    },
  };

  it('is taken back when it is not known whether the source was told, and it has not begun', () =>
    withCloud(UNCONFIRMED, async (test) => {
      const uuid = await test.bootActive();
      expect(await migrateUntil(test, uuid, 'error')).to.deep.equal(stayed('error', 'error'));
    }));

  it('is left to the source when that was told after all', () =>
    withCloud(UNCONFIRMED, async (test) => {
      const uuid = await test.bootActive();
      const { migrations } = test.cloud.records;
      const update = migrations.update.bind(migrations);
      migrations.update = async (migration, changes, expected) => {
        if (changes.status === 'error') await update(migration, { status: 'queued' }); // the source is faster
        return update(migration, changes, expected);
      };
      await test.migrate(uuid);
      const migration = await test.migrationBecomes(uuid, 'queued');
      await test.cloud.conductors[0]?.registry.whenIdle();
      expect(await liveOutcomeNow(test, uuid)).to.deep.equal({
        ...stayed('queued'),
        state: 'active/migrating',
        allocations: [`instance@${DEST}:512`, `migration@${SOURCE}:512`],
        alsoBoundTo: [DEST],
      });
      await update(migration.get('uuid'), { status: 'error' }); // so that nobody is engaged any more
    }));

  it('asks the next host when the ports cannot be bound to one, which is told', () =>
    withCloud({ ...NO_RECHECK, hosts: [SOURCE, DEST, THIRD] }, async (test) => {
      const uuid = await test.bootActive();
      const { networking } = test.cloud;
      const tried: string[] = [];
      const bind = networking.bind.bind(networking);
      networking.bind = async (instance, host) => {
        tried.push(host);
        if (tried.length === 1) throw new Error('port binding failed, as ordered');
        await bind(instance, host);
      };
      await test.migrate(uuid, null);
      const { status, host, allocations, boundTo, alsoBoundTo } = await completed(test, uuid);
      expect(tried).to.have.length(2);
      expect([status, host, boundTo]).to.deep.equal(['completed', tried[1], tried[1]]);
      expect(alsoBoundTo).to.deep.equal([]);
      expect(allocations).to.deep.equal([`instance@${tried[1] ?? ''}:512`]);
      expect(test.arrived).to.include(
        `rollback_live_migration_at_destination @ compute-ops.${tried[0] ?? ''}`,
      );
    }));

  for (const [most, asked] of [
    [0, 1],
    [1, 2],
    [-1, 3],
  ] as const) {
    it(`asks ${asked} of three hosts that refuse when migrate_max_retries is ${most}`, () =>
      withCloud({ ...NO_RECHECK, hosts: HOSTS, migrateMaxRetries: most }, async (test) => {
        const uuid = await test.bootActive();
        for (const host of HOSTS) test.virt(host).steps.failNext('check-destination', REFUSAL);
        await test.migrate(uuid, null);
        await test.becomes(uuid, 'active/-');
        expect(await liveOutcomeOf(test, uuid)).to.deep.equal(stayed('error'));
        expect(count(test, 'check_can_live_migrate_destination')).to.equal(asked);
        expect(test.statuses).to.deep.equal(
          most < 0 ? ['accepted', 'error'] : ['accepted', 'failed', 'error'],
        );
      }));
  }

  it('gives nothing back to an instance that is deleted meanwhile', () =>
    withCloud(NO_RECHECK, async (test) => {
      const uuid = await test.bootActive();
      const check = test.virt(SOURCE).steps.hold('check-source');
      test.virt(SOURCE).steps.failNext('check-source', REFUSAL);
      await test.migrate(uuid);
      await check.reached;
      await test.cloud.actions.delete({}, uuid);
      await test.becomes(uuid, 'deleted/-');
      check.release();
      await test.cloud.conductors[0]?.registry.whenIdle();
      const { guests, disks, allocations } = await liveOutcomeOf(test, uuid);
      expect({ guests, disks, allocations }).to.deep.equal({ guests: [], disks: [], allocations: [] });
    }));
});

/** What is left of a migration that went through. */
async function completed(test: TestCloud, uuid: string): ReturnType<typeof liveOutcomeOf> {
  await test.migrationBecomes(uuid, 'completed');
  return liveOutcomeOf(test, uuid);
}

describe('a live migration that fails at its source or its destination (compute-rpc 3.1, steps 7 to 11)', () => {
  const failures: readonly (readonly [string, VirtStep])[] = [
    [DEST, 'pre-live-migration'],
    [SOURCE, 'copy-memory'],
    [SOURCE, 'switch-over'],
  ];
  for (const [host, step] of failures) {
    it(`at ${step} is taken back at both ends: error, then failed`, () =>
      withCloud(NO_RECHECK, async (test) => {
        const uuid = await test.bootActive();
        test.virt(host).steps.failNext(step);
        expect(await migrateUntil(test, uuid, 'failed')).to.deep.equal(stayed('failed'));
        expect(test.statuses.slice(-2)).to.deep.equal(['error', 'failed']);
        expect(count(test, 'remove_volume_connection')).to.equal(0);
        expect(count(test, 'drop_move_claim_at_destination')).to.equal(0);
      }));

    it(`at ${step} drops the claim of the destination when that has made one`, () =>
      withCloud(NO_RECHECK, async (test) => {
        const uuid = await test.bootActive();
        await pinned(test, uuid);
        test.virt(host).steps.failNext(step);
        expect(await migrateUntil(test, uuid, 'failed')).to.deep.equal(stayed('failed'));
        expect(test.arrived).to.include(`drop_move_claim_at_destination @ compute-ops.${DEST}`);
      }));
  }

  it('disconnects the volumes that were connected at the destination, over its ops topic, once the guest was being copied (GS-47)', () =>
    withCloud(NO_RECHECK, async (test) => {
      const uuid = await test.bootActive();
      const virt = test.virt(DEST);
      const prepare = virt.preLiveMigration.bind(virt);
      virt.preLiveMigration = async (instance, data) =>
        (await prepare(instance, data)).update({ old_vol_attachment_ids: { v1: 'a1', v2: 'a2' } });
      const disconnected: string[] = [];
      virt.disconnectVolume = async (_instance, volume) => {
        disconnected.push(volume);
        throw new Error('the volume is busy, as ordered'); // which keeps nothing else from being taken back
      };
      test.virt(SOURCE).steps.failNext('copy-memory');
      expect(await migrateUntil(test, uuid, 'failed')).to.deep.equal(stayed('failed'));
      expect(disconnected).to.deep.equal(['v1', 'v2']);
      const told = test.arrived.filter((one) => one.startsWith('remove_volume_connection'));
      expect(told).to.deep.equal(Array(2).fill(`remove_volume_connection @ compute-ops.${DEST}`));
    }));

  it('leaves the volumes to the destination when an interface is not plugged there', () =>
    withCloud(NO_RECHECK, async (test) => {
      const uuid = await test.bootActive();
      const virt = test.virt(DEST);
      const prepare = virt.preLiveMigration.bind(virt);
      virt.preLiveMigration = async (instance, data) =>
        (await prepare(instance, data)).update({ old_vol_attachment_ids: { v1: 'a1' } });
      failToPlug(test);
      expect(await migrateUntil(test, uuid, 'failed')).to.deep.equal(stayed('failed'));
      expect(count(test, 'remove_volume_connection')).to.equal(0);
    }));

  it('is taken back also when the destination cannot be told', () =>
    withCloud({ onSend: failing('rollback_live_migration_at_destination') }, async (test) => {
      const uuid = await test.bootActive();
      test.virt(SOURCE).steps.failNext('copy-memory');
      const left = await migrateUntil(test, uuid, 'failed');
      expect(left).to.deep.equal({ ...stayed('failed'), disks: [DEST] }); // where nobody has told it
    }));

  it('leaves the instance in ERROR when its ports cannot be bound back', () =>
    withCloud(NO_RECHECK, async (test) => {
      const uuid = await test.bootActive();
      test.virt(SOURCE).steps.failNext('copy-memory');
      const { networking } = test.cloud;
      networking.activateBinding = () => Promise.reject(new Error('no binding, as ordered'));
      expect(await migrateUntil(test, uuid, 'error')).to.deep.equal(stayed('error', 'error'));
    }));

  it('leaves the instance in ERROR when what it had cannot be given back to it', () =>
    withCloud(NO_RECHECK, async (test) => {
      const uuid = await test.bootActive();
      const copy = test.virt(SOURCE).steps.hold('copy-memory');
      await test.migrate(uuid);
      await copy.reached;
      const { allocations } = test.cloud.records;
      const [before, migration] = [allocations.transfer.bind(allocations), await migrationOf(test, uuid)];
      allocations.transfer = () => Promise.reject(new Error('no transfer, as ordered'));
      test.virt(SOURCE).steps.failNext('switch-over');
      copy.release();
      await test.becomes(uuid, 'error/-');
      const left = await liveOutcomeOf(test, uuid);
      expect(left).to.deep.equal({ ...stayed('error', 'error'), allocations: [`migration@${SOURCE}:512`] });
      await before(migration.get('uuid'), uuid);
    }));

  it('at post-at-source, when the guest has left, is completed all the same', () =>
    withCloud(NO_RECHECK, async (test) => {
      const uuid = await test.bootActive();
      test.virt(SOURCE).steps.failNext('post-at-source');
      expect(await migrateUntil(test, uuid, 'completed')).to.deep.equal(arrived('completed'));
    }));

  it('at post-at-destination is in ERROR there, with its ports and its allocation', () =>
    withCloud(NO_RECHECK, async (test) => {
      const uuid = await test.bootActive();
      test.virt(DEST).steps.failNext('post-at-destination');
      expect(await migrateUntil(test, uuid, 'error')).to.deep.equal(arrived('error', 'error'));
    }));

  it('keeps what it had at the source until the destination has finished', () =>
    withCloud(NO_RECHECK, async (test) => {
      const uuid = await test.bootActive();
      const post = test.virt(DEST).steps.hold('post-at-destination');
      await test.migrate(uuid);
      await post.reached;
      const { allocations, boundTo } = await liveOutcomeNow(test, uuid);
      expect(allocations).to.deep.equal([`instance@${DEST}:512`, `migration@${SOURCE}:512`]);
      expect(boundTo).to.equal(DEST);
      post.release();
      expect(await completed(test, uuid)).to.deep.equal(arrived('completed'));
    }));

  it('does not begin at a destination that has less room than the scheduler thought', () =>
    withCloud({}, async (test) => {
      const uuid = await test.bootActive();
      await pinned(test, uuid);
      const { allocations } = test.cloud.records;
      const check = test.virt(SOURCE).steps.hold('check-source');
      await test.migrate(uuid);
      await check.reached;
      await allocations.release(uuid, DEST);
      await allocations.report(DEST, { vcpus: 0, memoryMb: 0, diskGb: 0 });
      check.release();
      await test.becomes(uuid, 'active/-');
      expect(await liveOutcomeOf(test, uuid)).to.deep.equal(stayed('error'));
    }));
});

describe('records that answer a live migration late', () => {
  const writes: readonly MigrationStatus[] = ['queued', 'preparing', 'running', 'completed'];
  for (const applied of [true, false]) {
    for (const status of writes) {
      it(`${status}, ${applied ? 'written without an answer' : 'not written at first'}, is written once (COMP-07)`, () =>
        withCloud(NO_RECHECK, async (test) => {
          const uuid = await test.bootActive();
          const { migrations } = test.cloud.records;
          const lost = loseAnswers(migrations, {
            applied,
            times: 1,
            of: (changes) => changes.status === status,
          });
          expect(await migrateUntil(test, uuid, 'completed')).to.deep.equal(arrived('completed'));
          expect(lost()).to.equal(1);
        }));
    }

    for (const status of ['error', 'failed'] as const) {
      it(`${status}, ${applied ? 'written without an answer' : 'not written at first'}, keeps nothing from being taken back (COMP-07)`, () =>
        withCloud(NO_RECHECK, async (test) => {
          const uuid = await test.bootActive();
          const { migrations } = test.cloud.records;
          const lost = loseAnswers(migrations, {
            applied,
            times: 1,
            of: (changes) => changes.status === status,
          });
          test.virt(SOURCE).steps.failNext('copy-memory');
          expect(await migrateUntil(test, uuid, 'failed')).to.deep.equal(stayed('failed'));
          expect(lost()).to.equal(1);
        }));
    }

    it(`the arrival, ${applied ? 'written without an answer' : 'not written at first'}, is recorded by the destination (COMP-07)`, () =>
      withCloud(NO_RECHECK, async (test) => {
        const uuid = await test.bootActive();
        const { instances } = test.cloud.records;
        const lost = loseAnswers(instances, { applied, times: 1, of: (changes) => changes.host === DEST });
        expect(await migrateUntil(test, uuid, 'completed')).to.deep.equal(arrived('completed'));
        expect(lost()).to.equal(1);
      }));

    it(`the end at the source, ${applied ? 'written without an answer' : 'not written at first'}, is recorded (COMP-07)`, () =>
      withCloud(NO_RECHECK, async (test) => {
        const uuid = await test.bootActive();
        const { instances } = test.cloud.records;
        const lost = loseAnswers(instances, {
          applied,
          times: 1,
          of: (changes) => changes.vm_state === 'error',
        });
        test.virt(DEST).steps.failNext('post-at-destination');
        expect(await migrateUntil(test, uuid, 'error')).to.deep.equal(arrived('error', 'error'));
        expect(lost()).to.equal(1);
      }));
  }
});
