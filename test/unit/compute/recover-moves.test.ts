import { expect } from 'chai';
import { describe, it } from 'mocha';
import { CapturedLog } from '../../support/captured-log.js';
import {
  allIdle,
  BIGGER,
  bootResized,
  kill,
  migrationOf,
  outcomeOf,
  resized,
  stateOf,
  untouched,
} from './resize-words.js';
import { DEST, SOURCE, type TestCloud, withCloud } from './test-cloud.js';

/** Starts a host that was killed, and once more, which must change nothing (COMP-07). */
async function startTwice(test: TestCloud, host: string): Promise<void> {
  await test.cloud.host(host).start();
  await allIdle(test);
  await kill(test, host);
  await test.cloud.host(host).start();
  await allIdle(test);
}

describe('a host that starts after it was cut off', () => {
  describe('in a resize', () => {
    it('takes back what the source was copying, and nothing stays at the destination (COMP-07, GS-102)', () =>
      withCloud({}, async (test) => {
        const uuid = await test.bootActive();
        const held = test.virt(SOURCE).steps.hold('copy-disks');
        await test.cloud.moves.resize(test.recorded.context, uuid, BIGGER);
        await held.reached;
        await kill(test, SOURCE);
        expect(stateOf(await test.cloud.records.instances.get(uuid))).to.equal('active/resize_migrating');
        await startTwice(test, SOURCE);
        expect(await outcomeOf(test, uuid)).to.deep.equal(untouched(SOURCE, 'error'));
      }));

    it('abandons at the source what waits for a destination that does not answer (COMP-07)', () =>
      withCloud({}, async (test) => {
        const uuid = await test.bootActive();
        const held = test.virt(DEST).steps.hold('check-cold-destination');
        await test.cloud.moves.resize(test.recorded.context, uuid, BIGGER);
        await held.reached;
        await kill(test, SOURCE);
        await test.cloud.host(SOURCE).start();
        await test.becomes(uuid, 'active/-');
        expect((await migrationOf(test, uuid)).get('status')).to.equal('error');
        held.release();
        await allIdle(test);
        expect(await outcomeOf(test, uuid)).to.deep.equal(untouched(SOURCE, 'error'));
      }));

    it('tells a destination that had asked it meanwhile that nothing comes (B1)', () => {
      let tell = (): void => undefined;
      const sent = new Promise<void>((resolve) => {
        tell = resolve;
      });
      const onSend = ({ method }: { readonly method: string }): void => {
        if (method === 'resize_instance') tell();
      };
      return withCloud({ recheckMs: 600_000, onSend }, async (test) => {
        const uuid = await test.bootActive();
        const held = test.virt(DEST).steps.hold('check-cold-destination');
        await test.cloud.moves.resize(test.recorded.context, uuid, BIGGER);
        await held.reached;
        await kill(test, SOURCE);
        held.release();
        await sent;
        await test.cloud.host(SOURCE).start();
        await allIdle(test);
        expect(await outcomeOf(test, uuid)).to.deep.equal(untouched(SOURCE, 'error'));
        expect(test.arrived).to.include(`drop_move_claim_at_destination @ compute-ops.${DEST}`);
      });
    });

    it('abandons at the destination what it had not yet asked the source for (COMP-07)', () =>
      withCloud({}, async (test) => {
        const uuid = await test.bootActive();
        const held = test.virt(DEST).steps.hold('check-cold-destination');
        await test.cloud.moves.resize(test.recorded.context, uuid, BIGGER);
        await held.reached;
        await kill(test, DEST);
        held.release();
        await startTwice(test, DEST);
        expect(await outcomeOf(test, uuid)).to.deep.equal(untouched(SOURCE, 'error'));
      }));

    it('finishes at the destination what it was making (COMP-07, GS-102)', () =>
      withCloud({}, async (test) => {
        const uuid = await test.bootActive();
        const held = test.virt(DEST).steps.hold('start-guest');
        await test.cloud.moves.resize(test.recorded.context, uuid, BIGGER);
        await held.reached;
        await kill(test, DEST);
        expect(stateOf(await test.cloud.records.instances.get(uuid))).to.equal('active/resize_finish');
        await startTwice(test, DEST);
        expect(await outcomeOf(test, uuid)).to.deep.equal(resized(SOURCE, DEST));
      }));

    it('waits at the destination for disks that are still being copied (GS-100)', () =>
      withCloud({}, async (test) => {
        const uuid = await test.bootActive();
        const held = test.virt(SOURCE).steps.hold('copy-disks');
        await test.cloud.moves.resize(test.recorded.context, uuid, BIGGER);
        await held.reached;
        await kill(test, DEST);
        await test.cloud.host(DEST).start();
        expect(test.tasks(DEST)).to.deep.equal(['prep_resize_at_dest']);
        held.release();
        await test.becomes(uuid, 'resized/-');
        await allIdle(test);
        expect(await outcomeOf(test, uuid)).to.deep.equal(resized(SOURCE, DEST));
      }));

    for (const who of [SOURCE, DEST]) {
      it(`finishes what nobody was told to finish, on the start of either host: ${who} (COMP-07)`, () =>
        withCloud({}, async (test) => {
          const uuid = await test.bootActive();
          const held = test.virt(SOURCE).steps.hold('copy-disks');
          await test.cloud.moves.resize(test.recorded.context, uuid, BIGGER);
          await held.reached;
          await kill(test, SOURCE);
          // It died when all was recorded, and nothing was sent.
          test.virt(SOURCE).machine.keep(uuid);
          test.virt(DEST).machine.expect(uuid);
          const { instances, migrations } = test.cloud.records;
          await instances.update(uuid, { host: DEST, node: DEST, task_state: 'resize_migrated' });
          await migrations.update((await migrationOf(test, uuid)).get('uuid'), { status: 'post-migrating' });
          if (who === DEST) await kill(test, DEST);
          await test.cloud.host(who).start();
          await test.becomes(uuid, 'resized/-');
          if (who === DEST) await test.cloud.host(SOURCE).start();
          await allIdle(test);
          expect({ ...(await outcomeOf(test, uuid)), guests: [] }).to.deep.equal({
            ...resized(SOURCE, DEST),
            guests: [],
          });
        }));
    }
  });

  it('confirms at the source what was to be confirmed (COMP-07)', () =>
    withCloud({}, async (test) => {
      const uuid = await bootResized(test);
      const held = test.virt(SOURCE).steps.hold('confirm-migration');
      await test.cloud.moves.confirmResize(test.recorded.context, uuid);
      await held.reached;
      await kill(test, SOURCE);
      await startTwice(test, SOURCE);
      const { state, status, kept } = await outcomeOf(test, uuid);
      expect({ state, status, kept }).to.deep.equal({ state: 'active/-', status: 'confirmed', kept: [] });
    }));

  it('reverts at the destination what was to be reverted (COMP-07)', () =>
    withCloud({}, async (test) => {
      const uuid = await bootResized(test);
      const held = test.virt(SOURCE).steps.hold('check-shared-storage');
      await test.cloud.moves.revertResize(test.recorded.context, uuid);
      await held.reached;
      await kill(test, DEST);
      held.release();
      await test.idle(SOURCE);
      await startTwice(test, DEST);
      expect(await outcomeOf(test, uuid)).to.deep.equal(untouched(SOURCE, 'reverted'));
    }));

  it('makes the guest again at the source that was being made again (COMP-07)', () =>
    withCloud({}, async (test) => {
      const uuid = await bootResized(test);
      const held = test.virt(SOURCE).steps.hold('start-guest');
      await test.cloud.moves.revertResize(test.recorded.context, uuid);
      await held.reached;
      await kill(test, SOURCE);
      await startTwice(test, SOURCE);
      expect(await outcomeOf(test, uuid)).to.deep.equal(untouched(SOURCE, 'reverted'));
    }));

  describe('in a live migration', () => {
    for (const [what, step] of [
      ['was being copied', 'copy-memory'],
      ['was about to leave', 'switch-over'],
    ] as const) {
      it(`takes back a guest that ${what} (COMP-07)`, () =>
        withCloud({}, async (test) => {
          const uuid = await test.bootActive();
          const held = test.virt(SOURCE).steps.hold(step);
          await test.migrate(uuid);
          await held.reached;
          await kill(test, SOURCE);
          expect((await migrationOf(test, uuid)).get('status')).to.equal('running');
          await startTwice(test, SOURCE);
          expect(await outcomeOf(test, uuid)).to.deep.equal(untouched(SOURCE, 'error'));
        }));
    }

    it('completes one whose guest has left (COMP-07)', () =>
      withCloud({}, async (test) => {
        const uuid = await test.bootActive();
        const held = test.virt(SOURCE).steps.hold('switch-over');
        await test.migrate(uuid);
        await held.reached;
        await kill(test, SOURCE);
        test.virt(SOURCE).machine.move(uuid, DEST); // the hypervisor goes on alone
        await startTwice(test, SOURCE);
        expect(await outcomeOf(test, uuid)).to.deep.equal(untouched(DEST, 'completed'));
      }));

    it('takes back those that waited for their turn (B8, B9)', () =>
      withCloud({}, async (test) => {
        const [first, second] = [await test.bootActive(), await test.bootActive()];
        const held = test.virt(SOURCE).steps.hold('copy-memory');
        await test.migrate(first);
        await held.reached;
        await test.migrate(second);
        await test.migrationBecomes(second, 'queued');
        await kill(test, SOURCE);
        await startTwice(test, SOURCE);
        for (const uuid of [first, second]) {
          expect(await outcomeOf(test, uuid)).to.deep.equal(untouched(SOURCE, 'error'));
        }
      }));
  });

  it('ends a build that was under way in ERROR, and builds one that waited, without passing through it (B10, GS-75)', () =>
    withCloud({}, async (test) => {
      const building = await test.boot(SOURCE, (one) => {
        test.cloud.networking.hold(one);
      });
      await test.becomes(building, 'building/spawning');
      await kill(test, SOURCE);
      const waiting = await test.boot(SOURCE);
      await test.watch.instance(waiting, (one) => one.get('task_state') === 'scheduling', {
        timeoutMs: 4000,
      });
      const seen: string[] = [];
      test.cloud.records.events.on('instance', (one) => {
        if (one.get('uuid') === waiting) seen.push(one.get('vm_state'));
      });
      await test.cloud.host(SOURCE).start();
      await test.becomes(waiting, 'active/-');
      expect(seen).to.not.include('error');
      await allIdle(test);
      const { state, guests, allocations } = await outcomeOf(test, building);
      expect({ state, guests, allocations }).to.deep.equal({ state: 'error/-', guests: [], allocations: [] });
    }));

  it('says what it was cut off in, once (GS-102)', async () => {
    const logger = new CapturedLog();
    const said = (): string[] => logger.at('info').map(({ message }) => message);
    await withCloud({ logger }, async (test) => {
      const [moving, resizing] = [await test.bootActive(), await test.bootActive()];
      const holds = (['copy-memory', 'copy-disks'] as const).map((step) =>
        test.virt(SOURCE).steps.hold(step),
      );
      await test.migrate(moving);
      await test.cloud.moves.resize(test.recorded.context, resizing, BIGGER);
      for (const { reached } of holds) await reached;
      const building = await test.boot(SOURCE, (one) => {
        test.cloud.networking.hold(one);
      });
      await test.becomes(building, 'building/spawning');
      await kill(test, SOURCE);
      await startTwice(test, SOURCE);
      const all = ['A build was cut off', 'A live migration was cut off', 'A move was cut off'];
      expect(
        said()
          .filter((line) => all.includes(line))
          .sort(),
      ).to.deep.equal(all);
    });
  });

  it('sees to each move for itself (COMP-15)', () =>
    withCloud({}, async (test) => {
      const [first, second] = [await test.bootActive(), await test.bootActive()];
      const holds = [first, second].map(() => test.virt(SOURCE).steps.hold('copy-disks'));
      for (const uuid of [first, second]) await test.cloud.moves.resize(test.recorded.context, uuid, BIGGER);
      for (const { reached } of holds) await reached;
      await kill(test, SOURCE);
      test.virt(SOURCE).steps.failNext('finish-revert');
      await test.cloud.host(SOURCE).start();
      await allIdle(test);
      const states = [(await outcomeOf(test, first)).state, (await outcomeOf(test, second)).state];
      expect(states.sort()).to.deep.equal(['active/-', 'error/-']);
    }));
});
