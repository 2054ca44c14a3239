import type { FakeOrder } from '@ebbgate/compute';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { deferred, turn } from '../../support/deferred.js';
import { HALTS } from './live-migration-halts.js';
import { arrived, liveOutcomeOf, stayed } from './live-migration-words.js';
import { type SimulatedTime, withSlowCloud } from './simulated-time.js';
import { BIGGER } from './resize-words.js';
import { codeOf, DEST, SOURCE, type TestCloud, type Termination, withCloud } from './test-cloud.js';

/** So little time that what cannot tell how long it needs is put back at once. */
const LITTLE = { tasksMs: 5_000, recheckMs: 600_000, host: { abortBeforeDeadline: true } } as const;
/** Enough to look at estimates; a minute of it passes in no time. */
const MINUTE = { ...LITTLE, tasksMs: 60_000 } as const;

/** How a drain ended: its exit code, and what was put back, failed, and was left of its tasks. */
async function endOf({ ended }: Termination) {
  const { code, report } = await ended;
  const names = (tasks: readonly { readonly name: string }[]): readonly string[] =>
    tasks.map(({ name }) => name).sort();
  return { code, aborted: names(report.aborted), failed: report.failed, left: names(report.unfinished) };
}

const putBack = (...aborted: readonly string[]) => ({ code: 0, aborted, failed: 0, left: [] });

/** Starts the hosts again that have ended, and ends the test with nothing that runs. */
async function restarted(test: TestCloud, ...hosts: readonly string[]): Promise<void> {
  for (const host of hosts) await test.cloud.host(host).start();
}

describe('a host that drains with abort_before_deadline: live migrations', () => {
  for (const [halt, aborted] of [
    ['queued', ['live_migration', 'live_migration']],
    ['preparing', ['live_migration']],
    ['preparing, without its event', ['live_migration']],
    ['running', ['live_migration']],
    ['running, all copied', ['live_migration']],
  ] as const) {
    it(`puts back one that is ${halt}, on both hosts, and ends with 0 (GS-103, COMP-01)`, () =>
      withCloud(LITTLE, async (test) => {
        const { uuid, goOn } = await (HALTS[halt] ?? expect.fail('no such halt'))(test);
        const drain = await test.terminate(SOURCE);
        expect(await endOf(drain)).to.deep.equal(putBack(...aborted));
        expect(await liveOutcomeOf(test, uuid)).to.deep.equal(stayed('cancelled')); // nor is the destination engaged
        await goOn();
        await restarted(test, SOURCE);
        expect(await liveOutcomeOf(test, uuid)).to.deep.equal(stayed('cancelled'));
      }));

    it(`has one put back that is ${halt} when it is the destination, and ends with 0 (GS-100, GS-103)`, () =>
      withCloud(LITTLE, async (test) => {
        const { uuid, goOn } = await (HALTS[halt] ?? expect.fail('no such halt'))(test);
        const drain = await test.terminate(DEST);
        await test.migrationBecomes(uuid, 'cancelled');
        await goOn();
        expect(await endOf(drain)).to.deep.equal(putBack(...aborted.map((name) => `${name}_at_dest`)));
        expect(await liveOutcomeOf(test, uuid)).to.deep.equal(stayed('cancelled'));
        await restarted(test, DEST);
      }));
  }

  for (const host of [SOURCE, DEST]) {
    it(`completes one that is in post-copy: there is no way back (${host}; GS-72, GS-76, GS-103)`, () =>
      withCloud(LITTLE, async (test) => {
        const { uuid, goOn } = await (HALTS['running (post-copy)'] ?? expect.fail('no such halt'))(test);
        const drain = await test.terminate(host);
        await test.cloud.computeApi.call({}, 'check_instance_shared_storage', SOURCE, { data: {} }); // after the abort
        expect(drain.hasEnded()).to.equal(false);
        await goOn();
        expect(await endOf(drain)).to.deep.equal(putBack());
        expect(await liveOutcomeOf(test, uuid)).to.deep.equal(arrived('completed'));
        await restarted(test, host);
      }));
  }

  it('leaves one that cannot be put back either to the next start, and ends with 3 (GS-86, GS-102, GS-103)', () =>
    withCloud({ ...LITTLE, tasksMs: 300 }, async (test) => {
      const { uuid } = await (HALTS['running'] ?? expect.fail('no such halt'))(test);
      const { networking } = test.cloud;
      const activate = networking.activateBinding.bind(networking);
      networking.activateBinding = () => new Promise(() => undefined);
      const drain = await test.terminate(SOURCE);
      const left = { code: 3, aborted: [], failed: 0, left: ['live_migration'] };
      expect(await endOf(drain)).to.deep.equal(left);
      networking.activateBinding = activate;
      await restarted(test, SOURCE);
      expect(await liveOutcomeOf(test, uuid)).to.deep.equal(stayed('error'));
    }));

  describe('by what they tell of their progress', function () {
    this.timeout(20_000);
    /** A migration of which a tenth is copied when the drain begins. */
    async function drained(test: TestCloud, time: SimulatedTime, copyMs: number) {
      const uuid = await test.bootActive();
      await test.migrate(uuid);
      await test.migrationBecomes(uuid, 'running');
      await time.pass(copyMs / 10 + 1);
      return { uuid, drain: await test.terminate(SOURCE) };
    }

    it('without it one that does not fit is waited for until the deadline, and left (GS-72, GS-103)', () =>
      withSlowCloud({ ...MINUTE, host: {}, migrationMs: 100_000 }, async (test, time) => {
        const { uuid, drain } = await drained(test, time, 100_000);
        const left = { code: 3, aborted: [], failed: 0, left: ['live_migration'] };
        expect(await time.until(endOf(drain))).to.deep.equal(left);
        expect(await test.stateOf(uuid)).to.equal(`active/migrating@${SOURCE}`);
        await time.until(restarted(test, SOURCE));
      }));

    it('one that fits is completed (GS-103)', () =>
      withSlowCloud({ ...MINUTE, migrationMs: 60_000 }, async (test, time) => {
        const { uuid, drain } = await drained(test, time, 60_000);
        expect(await time.until(endOf(drain))).to.deep.equal(putBack());
        expect(await liveOutcomeOf(test, uuid)).to.deep.equal(arrived('completed'));
        await time.until(restarted(test, SOURCE));
      }));

    it('one that does not fit is put back at once, long before the deadline (GS-103)', () =>
      withSlowCloud({ ...MINUTE, migrationMs: 100_000 }, async (test, time) => {
        const { uuid, drain } = await drained(test, time, 100_000);
        const { report } = await time.until(drain.ended);
        expect(report.durationMs).to.be.below(10_000); // simulated
        expect(await time.until(endOf(drain))).to.deep.equal(putBack('live_migration'));
        expect(await liveOutcomeOf(test, uuid)).to.deep.equal(stayed('cancelled'));
        await time.until(restarted(test, SOURCE));
      }));

    it('one that gets slower is put back as soon as it does not fit any more (GS-103)', () => {
      let order: FakeOrder = {};
      return withSlowCloud(
        { ...MINUTE, migrationMs: 60_000, orders: { of: () => order } },
        async (test, time) => {
          const { uuid, drain } = await drained(test, time, 60_000);
          await time.pass(10_000);
          expect(drain.hasEnded()).to.equal(false);
          order = { durationsMs: new Map([['copy-memory', 6_000]]) };
          const { report } = await time.until(drain.ended);
          expect(report.durationMs).to.be.within(10_000, 49_000); // simulated
          expect(await time.until(endOf(drain))).to.deep.equal(putBack('live_migration'));
          expect(await liveOutcomeOf(test, uuid)).to.deep.equal(stayed('cancelled'));
          order = {};
          await time.until(restarted(test, SOURCE));
        },
      );
    });

    it('one whose guest writes faster than it is copied is put back when only the reserve is left (GS-103)', () =>
      withSlowCloud(
        { ...MINUTE, orders: { of: () => ({ bandwidthMibS: 100, dirtyMibS: 200 }) } },
        async (test, time) => {
          const { uuid, drain } = await drained(test, time, 10_000);
          const { report } = await time.until(drain.ended);
          expect(report.durationMs).to.be.within(50_000, 60_000); // simulated
          expect(await time.until(endOf(drain))).to.deep.equal(putBack('live_migration'));
          expect(await liveOutcomeOf(test, uuid)).to.deep.equal(stayed('cancelled'));
          await time.until(restarted(test, SOURCE));
        },
      ));
  });
});

describe('a host that drains with abort_before_deadline: other operations', () => {
  for (const step of ['copy-disk', 'upload-image'] as const) {
    it(`puts back a snapshot (${step}): no image, and the instance as it was (GS-103)`, () =>
      withCloud(LITTLE, async (test) => {
        const uuid = await test.bootActive();
        const hold = test.virt(SOURCE).steps.hold(step);
        await test.cloud.actions.snapshot({}, uuid);
        await hold.reached;
        expect(await endOf(await test.terminate(SOURCE))).to.deep.equal(putBack('snapshot_instance'));
        expect(await test.stateOf(uuid)).to.equal(`active/-@${SOURCE}`);
        expect(test.cloud.hypervisors.images.list()).to.deep.equal([]);
        await restarted(test, SOURCE);
      }));
  }

  it('puts back a snapshot that has not had its turn, while what it waits for completes (GS-76, GS-103)', () =>
    withCloud(LITTLE, async (test) => {
      const uuid = await test.bootActive();
      const dump = test.virt(SOURCE).steps.hold('inject-nmi');
      await test.cloud.controls.crashDump({}, uuid);
      await dump.reached;
      await test.cloud.actions.snapshot({}, uuid);
      await test.becomes(uuid, 'active/image_snapshot_pending');
      const drain = await test.terminate(SOURCE);
      await test.becomes(uuid, 'active/-');
      expect(drain.hasEnded()).to.equal(false);
      dump.release();
      expect(await endOf(drain)).to.deep.equal(putBack('snapshot_instance'));
      await restarted(test, SOURCE);
    }));

  /** An instance that is shelved, stays on its host, and is about to be offloaded. */
  async function leaving(test: TestCloud, step: 'power-off' | 'destroy') {
    const uuid = await test.bootActive();
    await test.cloud.controls.shelve({}, uuid);
    await test.becomes(uuid, 'shelved/-');
    test.virt(SOURCE).machine.set(uuid, 'running'); // somebody has started its guest
    const hold = test.virt(SOURCE).steps.hold(step, uuid);
    await test.cloud.controls.shelveOffload({}, uuid);
    await hold.reached;
    return { uuid, hold };
  }
  const STAYS = { ...LITTLE, host: { ...LITTLE.host, shelvedOffloadMs: null } };

  it('leaves an instance shelved that is about to be offloaded (GS-103)', () =>
    withCloud(STAYS, async (test) => {
      const { uuid } = await leaving(test, 'power-off');
      expect(await endOf(await test.terminate(SOURCE))).to.deep.equal(putBack('shelve_offload_instance'));
      expect(await test.stateOf(uuid)).to.equal(`shelved/-@${SOURCE}`);
      expect(test.cloud.hypervisors.locate(uuid)).to.deep.equal([SOURCE]);
      await restarted(test, SOURCE);
    }));

  it('leaves it shelved, too, when its guest is not running, as long as that is not removed (GS-103)', () =>
    withCloud(STAYS, async (test) => {
      const uuid = await test.bootActive();
      await test.cloud.controls.shelve({}, uuid);
      await test.becomes(uuid, 'shelved/-');
      const [asked, answer] = [deferred(), deferred<'shutdown'>()];
      test.virt(SOURCE).guestState = () => {
        asked.resolve();
        return answer.promise;
      };
      await test.cloud.controls.shelveOffload({}, uuid);
      await asked.promise;
      const drain = await test.terminate(SOURCE);
      await turn(); // the wait for tasks has begun
      answer.resolve('shutdown');
      expect(await endOf(drain)).to.deep.equal(putBack('shelve_offload_instance'));
      expect(await test.stateOf(uuid)).to.equal(`shelved/-@${SOURCE}`);
      await restarted(test, SOURCE);
    }));

  it('completes an offload whose guest is being removed (GS-76, GS-103)', () =>
    withCloud(STAYS, async (test) => {
      const { uuid, hold } = await leaving(test, 'destroy');
      const drain = await test.terminate(SOURCE);
      hold.release();
      expect(await endOf(drain)).to.deep.equal(putBack());
      expect(await test.stateOf(uuid)).to.equal('shelved_offloaded/-@null');
      await restarted(test, SOURCE);
    }));

  it('stops caching images, and tells its caller (GS-103)', () =>
    withCloud(LITTLE, async (test) => {
      const { steps } = test.virt(SOURCE);
      const asked = codeOf(
        test.cloud.computeApi.call({}, 'cache_images', SOURCE, { image_ids: ['a', 'b', 'c'] }),
      );
      const hold = steps.hold('cache-image');
      await hold.reached;
      expect(await endOf(await test.terminate(SOURCE))).to.deep.equal(putBack('cache_images'));
      expect(await asked).to.equal('ERR_ABORTED');
      await restarted(test, SOURCE);
    }));

  it('completes whatever else has begun (GS-72, GS-76, GS-103)', () =>
    withCloud(LITTLE, async (test) => {
      const [stopped, resized] = [await test.bootActive(), await test.bootActive()];
      const { steps } = test.virt(SOURCE);
      const [off, disks] = [steps.hold('power-off', stopped), steps.hold('copy-disks', resized)];
      const built = await test.boot(SOURCE, (one) => {
        test.cloud.networking.hold(one);
      });
      await test.cloud.actions.stop({}, stopped);
      await test.cloud.moves.resize({}, resized, BIGGER);
      await Promise.all([off.reached, disks.reached, test.becomes(built, 'building/spawning')]);
      const drain = await test.terminate(SOURCE);
      expect(test.tasks(SOURCE)).to.have.members(['stop_instance', 'resize_instance', 'build_instance']);
      off.release();
      disks.release();
      await test.cloud.networking.release(built);
      expect(await endOf(drain)).to.deep.equal(putBack());
      await test.becomes(resized, 'resized/-');
      expect(await test.stateOf(stopped)).to.equal(`stopped/-@${SOURCE}`);
      expect(await test.stateOf(built)).to.equal(`active/-@${SOURCE}`);
      await restarted(test, SOURCE);
    }));
});
