import { expect } from 'chai';
import { describe, it } from 'mocha';
import { HypervisorError, Migration, MigrationPreCheckError, type VirtStep } from '@ebbgate/compute';
import { DEST, SOURCE, type TestCloud, withCloud } from './test-cloud.js';

/** The instance is back where it was, nothing is prepared anywhere, and no task is left. */
async function expectTakenBack(test: TestCloud, uuid: string): Promise<void> {
  await test.idle(SOURCE);
  await test.idle(DEST);
  const instance = await test.cloud.records.instances.get(uuid);
  expect(instance.get('host')).to.equal(SOURCE);
  expect(`${instance.get('vm_state')}/${String(instance.get('task_state'))}`).to.equal('active/null');
  expect(test.cloud.hypervisors.locate(uuid)).to.deep.equal([SOURCE]);
  expect(test.cloud.networking.boundTo(uuid)).to.equal(SOURCE);
  expect(test.virt(DEST).expected).to.deep.equal([]);
}

describe('live migration', () => {
  it('moves the guest, its ports and its record, through all statuses, over the topics of the table', () =>
    withCloud({}, async (test) => {
      const uuid = await test.bootActive();
      test.arrived.length = 0;
      await test.migrate(uuid);
      const migration = await test.migrationBecomes(uuid, 'completed');
      expect(test.statuses).to.deep.equal(['accepted', 'queued', 'preparing', 'running', 'completed']);
      expect(test.cloud.hypervisors.locate(uuid)).to.deep.equal([DEST]);
      expect(test.cloud.networking.boundTo(uuid)).to.equal(DEST);
      const instance = await test.cloud.records.instances.get(uuid);
      expect([instance.get('host'), instance.get('vm_state'), instance.get('task_state')]).to.deep.equal([
        DEST,
        'active',
        null,
      ]);
      expect(migration.get('memory_total')).to.equal(512 * 1024 * 1024);
      expect(migration.get('memory_processed')).to.equal(migration.get('memory_total'));
      expect(migration.get('memory_remaining')).to.equal(0);
      expect(test.arrived).to.deep.equal([
        `check_can_live_migrate_destination @ compute.${DEST}`,
        `check_can_live_migrate_source @ compute.${SOURCE}`,
        `live_migration @ compute-ops.${SOURCE}`,
        `pre_live_migration @ compute-ops.${DEST}`,
        `external_instance_event @ compute-ops.${SOURCE}`,
        `external_instance_event @ compute-ops.${DEST}`,
        `post_live_migration_at_destination @ compute-ops.${DEST}`,
      ]);
      await test.idle(SOURCE);
      await test.idle(DEST);
    }));

  it('finds a destination by itself when none is asked for', () =>
    withCloud({}, async (test) => {
      const uuid = await test.bootActive();
      await test.migrate(uuid, null);
      expect((await test.migrationBecomes(uuid, 'completed')).get('dest_compute')).to.equal(DEST);
    }));

  it('keeps the destination engaged from the first question to the last step (GS-100)', () =>
    withCloud({}, async (test) => {
      const uuid = await test.bootActive();
      const check = test.virt(DEST).steps.hold('check-destination');
      const copy = test.virt(SOURCE).steps.hold('copy-memory');
      await test.migrate(uuid);
      await check.reached;
      expect(test.tasks(DEST)).to.include('live_migration_at_dest');
      check.release();
      await copy.reached;
      expect(test.tasks(DEST)).to.deep.equal(['live_migration_at_dest']);
      expect(test.tasks(SOURCE)).to.deep.equal(['live_migration']);
      copy.release();
      await test.migrationBecomes(uuid, 'completed');
      await test.idle(DEST);
    }));

  const failures: readonly (readonly [string, typeof SOURCE | typeof DEST, VirtStep])[] = [
    ['the destination cannot prepare', DEST, 'pre-live-migration'],
    ['the hypervisor fails in the middle', SOURCE, 'copy-memory'],
    ['the hypervisor fails at the very end', SOURCE, 'switch-over'],
  ];
  for (const [what, host, step] of failures) {
    it(`is taken back at both ends when ${what}`, () =>
      withCloud({}, async (test) => {
        const uuid = await test.bootActive();
        test.virt(host).steps.failNext(step);
        await test.migrate(uuid);
        await test.migrationBecomes(uuid, 'failed');
        await expectTakenBack(test, uuid);
        expect(test.statuses.slice(-2)).to.deep.equal(['error', 'failed']);
        expect(test.arrived).to.include(`rollback_live_migration_at_destination @ compute-ops.${DEST}`);
      }));
  }

  it('leaves the instance at the destination, in ERROR, when the last step fails there', () =>
    withCloud({}, async (test) => {
      const uuid = await test.bootActive();
      test.virt(DEST).steps.failNext('post-at-destination');
      await test.migrate(uuid);
      await test.migrationBecomes(uuid, 'error');
      await test.idle(SOURCE);
      await test.idle(DEST);
      const instance = await test.cloud.records.instances.get(uuid);
      expect([instance.get('host'), instance.get('vm_state'), instance.get('task_state')]).to.deep.equal([
        DEST,
        'error',
        null,
      ]);
      expect(test.cloud.hypervisors.locate(uuid)).to.deep.equal([DEST]);
    }));

  it('goes on when only the clean-up at the source fails', () =>
    withCloud({}, async (test) => {
      const uuid = await test.bootActive();
      test.virt(SOURCE).steps.failNext('post-at-source');
      await test.migrate(uuid);
      await test.migrationBecomes(uuid, 'completed');
    }));

  for (const [what, host, step] of [
    ['destination', DEST, 'check-destination'],
    ['source', SOURCE, 'check-source'],
  ] as const) {
    it(`does not begin when the ${what} refuses, and leaves the instance as it was`, () =>
      withCloud({}, async (test) => {
        const uuid = await test.bootActive();
        test.virt(host).steps.failNext(step, new MigrationPreCheckError('not here'));
        await test.migrate(uuid);
        await test.migrationBecomes(uuid, 'error');
        await test.becomes(uuid, 'active/-');
        await expectTakenBack(test, uuid);
        expect(test.arrived.filter((request) => request.startsWith('live_migration '))).to.deep.equal([]);
      }));
  }

  it('tries the next host when one refuses', () =>
    withCloud({ hosts: [SOURCE, DEST, 'compute-c'] }, async (test) => {
      const uuid = await test.bootActive();
      test.virt(DEST).steps.failNext('check-destination', new MigrationPreCheckError('not here'));
      await test.migrate(uuid, null);
      expect((await test.migrationBecomes(uuid, 'completed')).get('dest_compute')).to.equal('compute-c');
      await test.idle(DEST);
    }));

  it('releases a destination that has agreed when the source is never told (undo in reverse)', () =>
    withCloud({}, async (test) => {
      const uuid = await test.bootActive();
      const check = test.virt(SOURCE).steps.hold('check-source');
      await test.migrate(uuid);
      await check.reached;
      const [migration] = await test.cloud.records.migrations.find({ instance_uuid: uuid });
      await test.cloud.records.migrations.update(migration?.get('uuid') ?? '', { status: 'cancelled' });
      check.release();
      await test.becomes(uuid, 'active/-');
      await expectTakenBack(test, uuid);
      expect(test.arrived).to.include(`rollback_live_migration_at_destination @ compute-ops.${DEST}`);
    }));

  it('can be aborted while it runs', () =>
    withCloud({}, async (test) => {
      const uuid = await test.bootActive();
      const copy = test.virt(SOURCE).steps.hold('copy-memory');
      await test.migrate(uuid);
      await copy.reached;
      const [migration] = await test.cloud.records.migrations.find({ instance_uuid: uuid });
      const instance = await test.cloud.records.instances.get(uuid);
      const args = { instance, migration_id: migration?.get('id') ?? 0 };
      await test.cloud.computeApi.cast({}, 'live_migration_abort', SOURCE, args);
      await test.migrationBecomes(uuid, 'cancelled');
      await expectTakenBack(test, uuid);
      expect(test.statuses).to.not.include('error');
    }));

  it('waits for its turn, and can be aborted meanwhile', () =>
    withCloud({}, async (test) => {
      const [first, second, third] = [
        await test.bootActive(),
        await test.bootActive(),
        await test.bootActive(),
      ];
      const copy = test.virt(SOURCE).steps.hold('copy-memory');
      await test.migrate(first);
      await copy.reached;
      await test.migrate(second);
      await test.migrate(third);
      await test.migrationBecomes(second, 'queued');
      await test.migrationBecomes(third, 'queued');
      const [migration] = await test.cloud.records.migrations.find({ instance_uuid: second });
      const instance = await test.cloud.records.instances.get(second);
      const args = { instance, migration_id: migration?.get('id') ?? 0 };
      await test.cloud.computeApi.cast({}, 'live_migration_abort', SOURCE, args);
      await test.migrationBecomes(second, 'cancelled');
      copy.release();
      await test.migrationBecomes(first, 'completed');
      await test.migrationBecomes(third, 'completed');
      await expectTakenBack(test, second);
      expect(test.cloud.hypervisors.locate(third)).to.deep.equal([DEST]);
    }));

  it('does not leave the destination engaged when the source never says how it ended', () =>
    withCloud({}, async (test) => {
      const uuid = await test.bootActive();
      const copy = test.virt(SOURCE).steps.hold('copy-memory');
      await test.migrate(uuid);
      await copy.reached;
      const [migration] = await test.cloud.records.migrations.find({ instance_uuid: uuid });
      await test.cloud.records.migrations.update(migration?.get('uuid') ?? '', { status: 'error' });
      await test.idle(DEST); // the records are asked again every 20 ms here
      copy.release();
      await test.idle(SOURCE);
    }));

  it('does not prepare for a migration that is over (a message that comes late)', () =>
    withCloud({}, async (test) => {
      const uuid = await test.bootActive();
      const instance = await test.cloud.records.instances.get(uuid);
      const wishes = { blockMigration: null, diskOverCommit: null };
      const migrateData = await test.virt(DEST).checkCanLiveMigrateDestination(instance, wishes);
      const args = { instance, disk: null, migrate_data: migrateData };
      const error: unknown = await test.cloud.computeApi
        .call({}, 'pre_live_migration', DEST, args)
        .catch((thrown: unknown) => thrown);
      expect(error).to.have.property('code', 'ERR_UNEXPECTED_STATE');
      expect(test.virt(DEST).expected).to.deep.equal([]);
      await test.idle(DEST);
    }));

  it('takes nothing from an instance on the host that is asked about it (a message that goes astray) (GS-76)', () =>
    withCloud({}, async (test) => {
      const instance = await test.cloud.records.instances.get(await test.bootActive());
      const uuid = instance.get('uuid');
      const held = test.virt(SOURCE).steps.hold('check-destination');
      const question = { instance, block_migration: null, disk_over_commit: null, limits: null };
      const migration = Migration.create({ instance_uuid: uuid, source_compute: SOURCE });
      const { computeApi } = test.cloud;
      const asked = computeApi.call({}, 'check_can_live_migrate_destination', SOURCE, {
        ...question,
        migration,
      });
      await held.reached;
      await computeApi.call({}, 'drop_move_claim_at_destination', SOURCE, { instance });
      held.release();
      await asked.catch(() => undefined);
      expect(await test.allocatedOn(uuid)).to.deep.equal([SOURCE]);
    }));

  it('is refused for an instance that has something else done to it', () =>
    withCloud({}, async (test) => {
      const uuid = await test.bootActive();
      await test.cloud.records.instances.update(uuid, { task_state: 'migrating' });
      const error: unknown = await test.migrate(uuid).catch((thrown: unknown) => thrown);
      expect(error).to.have.property('code', 'ERR_UNEXPECTED_STATE');
    }));

  it('gives callers the error that a host threw, as what it is', () =>
    withCloud({}, async (test) => {
      const uuid = await test.bootActive();
      const instance = await test.cloud.records.instances.get(uuid);
      test.virt(DEST).steps.failNext('post-at-destination', new HypervisorError('broken'));
      const error: unknown = await test.cloud.computeApi
        .call({}, 'post_live_migration_at_destination', DEST, { instance, block_migration: null })
        .catch((thrown: unknown) => thrown);
      expect(error).to.be.instanceOf(HypervisorError).with.property('message', 'broken');
    }));
});
