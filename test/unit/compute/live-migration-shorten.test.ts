import type { FakeOrder, MigrationStatus } from '@ebbgate/compute';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { HALTS, haltedAt } from './live-migration-halts.js';
import { arrived, liveOutcomeOf, stayed } from './live-migration-words.js';
import { migrationOf } from './resize-words.js';
import { codeOf, SOURCE, type TestCloud, withCloud } from './test-cloud.js';

/** So long that no test sees it happen: what ends, ends because it was told. */
const NO_RECHECK = { recheckMs: 600_000 } as const;

/** What an operator's words do to it in each status: `refused`: nothing, and the operator is told. */
const TABLE: readonly {
  readonly halt: string;
  readonly status: MigrationStatus;
  readonly abort: 'cancelled' | 'refused';
  readonly force: 'completed' | 'refused';
}[] = [
  { halt: 'queued', status: 'queued', abort: 'cancelled', force: 'refused' },
  { halt: 'preparing', status: 'preparing', abort: 'cancelled', force: 'refused' },
  { halt: 'preparing, without its event', status: 'preparing', abort: 'cancelled', force: 'refused' },
  { halt: 'running', status: 'running', abort: 'cancelled', force: 'completed' },
  { halt: 'running, all copied', status: 'running', abort: 'cancelled', force: 'completed' },
  { halt: 'running (post-copy)', status: 'running (post-copy)', abort: 'refused', force: 'refused' },
];

/** A cast that comes all the same, past the API: resolves when the host has looked at it. */
async function castPastApi(
  test: TestCloud,
  method: 'live_migration_abort' | 'live_migration_force_complete',
  uuid: string,
): Promise<void> {
  const { computeApi, records } = test.cloud;
  const instance = await records.instances.get(uuid);
  const migrationId = (await migrationOf(test, uuid)).get('id');
  if (method === 'live_migration_abort')
    await computeApi.cast({}, method, SOURCE, { instance, migration_id: migrationId });
  else await computeApi.cast({}, method, SOURCE, { instance });
  await computeApi.call({}, 'check_instance_shared_storage', SOURCE, { data: {} }); // comes after it
}

describe('a live migration that an operator shortens in each of its steps (decision 25)', () => {
  for (const { halt, status, abort, force } of TABLE) {
    const haltIt = HALTS[halt];
    if (!haltIt) throw new RangeError(halt);

    it(`${halt}: abort is ${abort}`, () =>
      withCloud(NO_RECHECK, async (test) => {
        const { uuid, goOn } = await haltIt(test);
        expect((await migrationOf(test, uuid)).get('status')).to.equal(status);
        const asked = codeOf(test.cloud.actions.abortLiveMigration({}, uuid));
        if (abort === 'cancelled') {
          expect(await asked).to.equal(undefined);
          await test.migrationBecomes(uuid, 'cancelled');
          await goOn();
          expect(await liveOutcomeOf(test, uuid)).to.deep.equal(stayed('cancelled'));
          expect(test.statuses).to.not.include('error');
          return;
        }
        expect(await asked).to.equal('ERR_UNEXPECTED_STATE');
        await castPastApi(test, 'live_migration_abort', uuid);
        await goOn();
        await test.migrationBecomes(uuid, 'completed');
        expect(await liveOutcomeOf(test, uuid)).to.deep.equal(arrived('completed'));
      }));

    it(`${halt}: force-complete is ${force}`, () =>
      withCloud(NO_RECHECK, async (test) => {
        const { uuid, goOn } = await haltIt(test);
        const asked = codeOf(test.cloud.actions.forceCompleteLiveMigration({}, uuid));
        expect(await asked).to.equal(force === 'completed' ? undefined : 'ERR_UNEXPECTED_STATE');
        if (force === 'refused') {
          await castPastApi(test, 'live_migration_force_complete', uuid);
          expect((await migrationOf(test, uuid)).get('status')).to.equal(status);
        }
        await goOn();
        await test.migrationBecomes(uuid, 'completed');
        expect(await liveOutcomeOf(test, uuid)).to.deep.equal(arrived('completed'));
      }));
  }

  it('that was forced is taken back when the hypervisor fails in the rest', () =>
    withCloud(NO_RECHECK, async (test) => {
      const { uuid } = await haltedAt(test, SOURCE, 'copy-memory');
      test.virt(SOURCE).steps.failNext('post-copy');
      await test.cloud.actions.forceCompleteLiveMigration({}, uuid);
      await test.migrationBecomes(uuid, 'failed');
      expect(await liveOutcomeOf(test, uuid)).to.deep.equal(stayed('failed'));
      expect(test.statuses.slice(-3)).to.deep.equal(['running (post-copy)', 'error', 'failed']);
    }));

  it('that was forced is waited for by a delete, which follows the guest', () =>
    withCloud(NO_RECHECK, async (test) => {
      const { uuid, goOn } = await (HALTS['running (post-copy)'] ?? expect.fail('no such halt'))(test);
      await test.cloud.actions.delete({}, uuid);
      await castPastApi(test, 'live_migration_abort', uuid);
      await goOn();
      await test.becomes(uuid, 'deleted/-');
      const { guests, disks, allocations, status } = await liveOutcomeOf(test, uuid);
      expect({ guests, disks, allocations }).to.deep.equal({ guests: [], disks: [], allocations: [] });
      expect(status).to.equal('completed');
    }));

  it('whose source dies after it was forced is taken back at its next start (COMP-07)', () =>
    withCloud({}, async (test) => {
      const { uuid } = await (HALTS['running (post-copy)'] ?? expect.fail('no such halt'))(test);
      await test.crash(SOURCE);
      await test.cloud.records.services.update('compute', SOURCE, { forcedDown: false });
      await test.cloud.host(SOURCE).start();
      await test.migrationBecomes(uuid, 'error');
      expect(await liveOutcomeOf(test, uuid)).to.deep.equal(stayed('error'));
    }));

  const DIRTY: FakeOrder = { bandwidthMibS: 100_000, dirtyMibS: 200_000 };

  for (const [what, end] of [
    ['force-complete', 'completed'],
    ['abort', 'cancelled'],
  ] as const) {
    it(`that dirties its memory faster than it is copied never ends, until ${what}`, () =>
      withCloud({ ...NO_RECHECK, orders: { of: () => DIRTY } }, async (test) => {
        const uuid = await test.bootActive();
        await test.migrate(uuid);
        const { memory_total: total } = await watched(test, uuid, 3);
        if (what === 'abort') await test.cloud.actions.abortLiveMigration({}, uuid);
        else await test.cloud.actions.forceCompleteLiveMigration({}, uuid);
        const migration = await test.migrationBecomes(uuid, end);
        expect(await liveOutcomeOf(test, uuid)).to.deep.equal(
          end === 'completed' ? arrived(end) : stayed(end),
        );
        expect(migration.get('memory_processed')).to.be.above(total);
        if (end === 'completed') expect(migration.get('memory_remaining')).to.equal(0);
        else expect(migration.get('memory_remaining')).to.equal(total);
      }));
  }
});

/** Resolves when so many times its memory has been copied; it is still all to be copied then. */
async function watched(
  test: TestCloud,
  uuid: string,
  times: number,
): Promise<{ readonly memory_total: number }> {
  const isSo = await test.watch.migration(
    uuid,
    (one) => (one.find('memory_processed') ?? 0) > times * (one.find('memory_total') ?? Infinity),
    { timeoutMs: 4000 },
  );
  const total = isSo.get('memory_total') ?? 0;
  expect(isSo.get('memory_remaining')).to.equal(total);
  return { memory_total: total };
}
