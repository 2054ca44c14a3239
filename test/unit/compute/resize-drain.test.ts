import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { VirtStep } from '@ebbgate/compute';
import { eventually } from '../../support/rigs/deadline.js';
import {
  allIdle,
  BIGGER,
  bootResized,
  outcomeOf,
  resized,
  stateOf,
  untouched,
  waitsForItsPart,
} from './resize-words.js';
import { DEST, SOURCE, type TestCloud, withCloud } from './test-cloud.js';

/** Keeps a host busy until its order, so that it drains no faster than the test wants. */
async function busy(test: TestCloud, host: string): Promise<() => Promise<void>> {
  const uuid = await test.boot(host, (one) => {
    test.cloud.networking.hold(one);
  });
  await test.becomes(uuid, 'building/spawning');
  return () => test.cloud.networking.release(uuid);
}

async function expectClean({ ended }: Awaited<ReturnType<TestCloud['terminate']>>): Promise<void> {
  const { code, report } = await ended;
  expect([code, report.outcome, report.problems]).to.deep.equal([0, 'clean', []]);
}

/** Where a resize is when the hosts are terminated, and which of them still have something to do with it then. */
const POINTS: readonly (readonly [string, string, VirtStep, readonly string[], readonly string[]])[] = [
  ['while the source copies the disks', SOURCE, 'copy-disks', ['resize_instance'], ['prep_resize_at_dest']],
  [
    'while the destination makes the guest',
    DEST,
    'start-guest',
    [],
    ['prep_resize_at_dest', 'finish_resize'],
  ],
];

describe('a resize and a host that drains', () => {
  for (const [when, host, step, atSource, atDest] of POINTS) {
    for (const [ends, hosts] of [
      ['source', [SOURCE]],
      ['destination', [DEST]],
      ['source and destination', [SOURCE, DEST]],
    ] as const) {
      it(`complete it ${when}: TERM on the ${ends} (GS-2, GS-5, GS-68, GS-76, GS-100)`, () =>
        withCloud({}, async (test) => {
          const uuid = await test.bootActive();
          const held = test.virt(host).steps.hold(step);
          await test.cloud.moves.resize(test.recorded.context, uuid, BIGGER);
          await held.reached;
          expect([test.tasks(SOURCE), test.tasks(DEST)]).to.deep.equal([atSource, atDest]);
          const drains = await Promise.all(hosts.map((one) => test.terminate(one)));
          held.release();
          await test.becomes(uuid, 'resized/-');
          for (const drain of drains) await expectClean(drain);
          expect(await outcomeOf(test, uuid)).to.deep.equal(resized(SOURCE, DEST));
          for (const one of hosts) await test.cloud.host(one).start();
        }));
    }
  }

  it('complete it when the source has not begun yet: TERM on the source before step 4 (GS-2, GS-5, GS-54, GS-68)', () =>
    withCloud({}, async (test) => {
      const uuid = await test.bootActive();
      const check = test.virt(DEST).steps.hold('check-cold-destination');
      await test.cloud.moves.resize(test.recorded.context, uuid, BIGGER);
      await check.reached;
      expect(test.tasks(SOURCE)).to.deep.equal([]);
      const drain = await test.terminate(SOURCE);
      await waitsForItsPart(test, SOURCE);
      check.release();
      await test.becomes(uuid, 'resized/-');
      await expectClean(drain);
      expect(await outcomeOf(test, uuid)).to.deep.equal(resized(SOURCE, DEST));
      expect(test.arrived).to.include(`resize_instance @ compute-ops.${SOURCE}`);
      await test.cloud.host(SOURCE).start();
    }));

  it('leave prep_resize in the queue of a destination that drains, and do it after the restart (GS-1, GS-101)', () =>
    withCloud({}, async (test) => {
      const uuid = await test.bootActive();
      const free = await busy(test, DEST);
      const drain = await test.terminate(DEST);
      // As if it had been chosen before that.
      await test.cloud.records.services.register({
        binary: 'compute',
        host: DEST,
        state: 'running',
        reportedAtMs: Date.now(),
      });
      await test.cloud.moves.resize(test.recorded.context, uuid, BIGGER);
      await test.migrationBecomes(uuid, 'pre-migrating');
      await free();
      await expectClean(drain);
      expect(stateOf(await test.cloud.records.instances.get(uuid))).to.equal('active/resize_prep');
      await test.cloud.host(DEST).start();
      await test.becomes(uuid, 'resized/-');
      await allIdle(test);
      expect(await outcomeOf(test, uuid)).to.deep.equal(resized(SOURCE, DEST));
    }));

  it('do not begin one that is asked for afterwards, and say so at once (GS-44)', () =>
    withCloud({}, async (test) => {
      const uuid = await test.bootActive();
      for (const host of [SOURCE, DEST]) {
        const free = await busy(test, host);
        const drain = await test.terminate(host);
        await test.cloud.moves.resize(test.recorded.context, uuid, BIGGER);
        await test.migrationBecomes(uuid, 'error');
        await test.becomes(uuid, 'active/-');
        await free();
        await expectClean(drain);
        expect(await outcomeOf(test, uuid)).to.deep.equal(untouched(SOURCE, 'error'));
        await test.cloud.host(host).start();
      }
    }));

  it('complete a confirmation that is under way, and leave one in the queue until the restart (GS-76, GS-101)', () =>
    withCloud({}, async (test) => {
      const [first, second] = [await bootResized(test), await bootResized(test)];
      const held = test.virt(SOURCE).steps.hold('confirm-migration');
      await test.cloud.moves.confirmResize(test.recorded.context, first);
      await held.reached;
      expect(test.tasks(SOURCE)).to.deep.equal(['confirm_resize']);
      const drain = await test.terminate(SOURCE);
      await test.cloud.moves.confirmResize(test.recorded.context, second);
      held.release();
      await test.becomes(first, 'active/-');
      await expectClean(drain);
      expect((await outcomeOf(test, second)).status).to.equal('confirming');
      await test.cloud.host(SOURCE).start();
      await test.becomes(second, 'active/-');
      await allIdle(test);
      expect((await outcomeOf(test, second)).status).to.equal('confirmed');
    }));

  for (const [ends, hosts] of [
    ['destination', [DEST]],
    ['source, which answers while it drains', [SOURCE]],
    ['source and destination', [SOURCE, DEST]],
  ] as const) {
    it(`complete a revert that is under way: TERM on the ${ends} (GS-59, GS-60, GS-68)`, () =>
      withCloud({}, async (test) => {
        const uuid = await bootResized(test);
        const held = test.virt(SOURCE).steps.hold('check-shared-storage');
        await test.cloud.moves.revertResize(test.recorded.context, uuid);
        await held.reached;
        const drains = await Promise.all(hosts.map((host) => test.terminate(host)));
        held.release();
        await test.becomes(uuid, 'active/-');
        for (const drain of drains) await expectClean(drain);
        expect(await outcomeOf(test, uuid)).to.deep.equal(untouched(SOURCE, 'reverted'));
        for (const host of hosts) await test.cloud.host(host).start();
      }));
  }

  it('complete a revert whose destination removes the guest: TERM on the source (GS-2, GS-5, GS-60, GS-68)', () =>
    withCloud({}, async (test) => {
      const uuid = await bootResized(test);
      const held = test.virt(DEST).steps.hold('destroy');
      await test.cloud.moves.revertResize(test.recorded.context, uuid);
      await held.reached;
      expect(test.tasks(SOURCE)).to.deep.equal([]);
      const drain = await test.terminate(SOURCE);
      await waitsForItsPart(test, SOURCE);
      held.release();
      await test.becomes(uuid, 'active/-');
      await expectClean(drain);
      expect(await outcomeOf(test, uuid)).to.deep.equal(untouched(SOURCE, 'reverted'));
      await test.cloud.host(SOURCE).start();
    }));

  it('complete a revert that is asked for when the source drains already, and has looked (GS-5, GS-60, GS-68)', () =>
    withCloud({}, async (test) => {
      const uuid = await bootResized(test);
      const release = await busy(test, SOURCE);
      const drain = await test.terminate(SOURCE);
      const { registry } = test.cloud.host(SOURCE).process.service;
      const looks = (): boolean => registry.snapshot().some(({ name }) => name === 'moves_from_here');
      await eventually('the end of its looks at the records', 2000, () => !looks());
      const held = test.virt(DEST).steps.hold('destroy');
      await test.cloud.moves.revertResize(test.recorded.context, uuid);
      await held.reached; // its destination has asked the source by now
      await release();
      await waitsForItsPart(test, SOURCE);
      expect(drain.hasEnded()).to.equal(false);
      held.release();
      await test.becomes(uuid, 'active/-');
      await expectClean(drain);
      expect(await outcomeOf(test, uuid)).to.deep.equal(untouched(SOURCE, 'reverted'));
      await test.cloud.host(SOURCE).start();
    }));

  it('is waited for by its source no longer than its destination lives (B1, B5)', () =>
    withCloud({}, async (test) => {
      const uuid = await test.bootActive();
      const check = test.virt(DEST).steps.hold('check-cold-destination');
      await test.cloud.moves.resize(test.recorded.context, uuid, BIGGER);
      await check.reached;
      const drain = await test.terminate(SOURCE);
      await waitsForItsPart(test, SOURCE);
      await test.crash(DEST);
      await expectClean(drain);
      expect(stateOf(await test.cloud.records.instances.get(uuid))).to.equal('active/resize_prep');
      await test.cloud.host(SOURCE).start();
      await test.becomes(uuid, 'active/-');
      await test.revive(DEST);
    }));

  it('leave the second half of a revert in the queue of a source that has ended, which does it when it starts (GS-60, GS-101)', () =>
    withCloud({ rpcTimeoutMs: 200 }, async (test) => {
      const uuid = await bootResized(test);
      await expectClean(await test.terminate(SOURCE));
      await test.cloud.moves.revertResize(test.recorded.context, uuid);
      await test.migrationBecomes(uuid, 'reverted');
      await test.idle(DEST);
      expect([...test.virt(DEST).keptDisks]).to.deep.equal([uuid]); // the source could not be asked
      expect((await outcomeOf(test, uuid)).allocations).to.deep.equal([`migration@${SOURCE}:512`]);
      await test.cloud.host(SOURCE).start();
      await test.becomes(uuid, 'active/-');
      await allIdle(test);
      expect(await outcomeOf(test, uuid)).to.deep.equal(untouched(SOURCE, 'reverted'));
    }));

  it('leave a revert in the queue of a destination that drains, and do it after the restart (GS-1, GS-101)', () =>
    withCloud({}, async (test) => {
      const uuid = await bootResized(test);
      const free = await busy(test, DEST);
      const drain = await test.terminate(DEST);
      await test.cloud.moves.revertResize(test.recorded.context, uuid);
      await free();
      await expectClean(drain);
      expect((await outcomeOf(test, uuid)).state).to.equal('resized/resize_reverting');
      await test.cloud.host(DEST).start();
      await test.becomes(uuid, 'active/-');
      await allIdle(test);
      expect(await outcomeOf(test, uuid)).to.deep.equal(untouched(SOURCE, 'reverted'));
    }));
});
