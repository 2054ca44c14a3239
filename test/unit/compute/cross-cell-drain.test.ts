import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { VirtStep } from '@ebbgate/compute';
import { DrainingError } from '@ebbgate/rpc';
import { preferring, THIRD, waitsForItsPart } from './resize-words.js';
import { DEST, SOURCE, type TestCloud, type Termination } from './test-cloud.js';
import { asBefore, MOVED, type TwoCells, withTwoCells } from './two-cells.js';

async function expectClean({ ended }: Termination): Promise<void> {
  const { code, report } = await ended;
  expect([code, report.outcome, report.problems]).to.deep.equal([0, 'clean', []]);
}

/** Keeps a host busy until its order, so that it drains no faster than the test wants. */
function busy(test: TestCloud, host: string): () => void {
  const { registry } = test.cloud.host(host).process.service;
  const task = registry.open({ name: 'busy', kind: 'operation' });
  return () => {
    task.end();
  };
}

function terminate({ first, second }: TwoCells, host: string): Promise<Termination> {
  return (host === SOURCE ? first : second).terminate(host);
}

function start({ first, second }: TwoCells, host: string): Promise<void> {
  return (host === SOURCE ? first : second).cloud.host(host).start();
}

/** Where the move is when the hosts are terminated. */
const POINTS: readonly (readonly [string, string, VirtStep])[] = [
  ['while the source uploads the image (step 4)', SOURCE, 'upload-image'],
  ['while the destination makes the guest (step 5)', DEST, 'start-guest'],
];

describe('a resize to another cell and a host that drains', () => {
  for (const [when, host, step] of POINTS) {
    for (const [ends, hosts] of [
      ['source', [SOURCE]],
      ['destination, engaged since step 3', [DEST]],
      ['source and destination', [SOURCE, DEST]],
    ] as const) {
      it(`complete it ${when}: TERM on the ${ends} (GS-2, GS-52, GS-66, GS-76, GS-100)`, () =>
        withTwoCells({}, async (cells) => {
          const uuid = await cells.first.bootActive(SOURCE);
          const test = host === SOURCE ? cells.first : cells.second;
          const held = test.virt(host).steps.hold(step);
          await cells.resize(uuid);
          await held.reached;
          expect(cells.second.tasks(DEST)).to.deep.equal(['snapshot_based_resize_at_dest']);
          const drains = await Promise.all(hosts.map((one) => terminate(cells, one)));
          held.release();
          await cells.second.becomes(uuid, 'resized/-');
          for (const drain of drains) await expectClean(drain);
          await cells.first.migrationBecomes(uuid, 'finished');
          expect(await cells.outcome(uuid)).to.deep.equal(MOVED);
          for (const one of hosts) await start(cells, one);
        }));
    }
  }

  it('take another destination: TERM on the first before step 3 (GS-44, GS-51)', () =>
    withTwoCells({ hostsThere: [DEST, THIRD], resourcesOf: preferring(DEST) }, async (cells) => {
      const uuid = await cells.first.bootActive(SOURCE);
      const free = busy(cells.second, DEST);
      const drain = await cells.second.terminate(DEST);
      await cells.resize(uuid);
      await cells.second.becomes(uuid, 'resized/-');
      expect((await cells.outcome(uuid)).guests).to.deep.equal([`${THIRD}:running`]);
      free();
      await expectClean(drain);
      await cells.second.cloud.host(DEST).start();
    }));

  it('do not run a pre-check that nobody waits for after a restart, nor keep a claim of it (B11)', () =>
    withTwoCells({ rpcTimeoutMs: 300 }, async (cells) => {
      const uuid = await cells.first.bootActive(SOURCE);
      const free = busy(cells.second, DEST);
      const drain = await cells.second.terminate(DEST);
      const { services, allocations } = cells.second.cloud.records;
      // As if it had been chosen before that.
      await services.register({ binary: 'compute', host: DEST, state: 'running', reportedAtMs: Date.now() });
      await cells.resize(uuid);
      await cells.first.migrationBecomes(uuid, 'error');
      free();
      await expectClean(drain);
      await cells.second.cloud.host(DEST).start();
      await cells.settled();
      expect(await allocations.find({ consumer: uuid })).to.deep.equal([]);
      expect((await cells.outcome(uuid)).guests).to.deep.equal([`${SOURCE}:running`]);
      expect(cells.second.tasks(DEST)).to.deep.equal([]);
    }));

  it('do not wait for a conductor that is gone (B1, B5)', () =>
    withTwoCells({ beatMs: 600_000 }, async (cells) => {
      const uuid = await cells.first.bootActive(SOURCE);
      const held = cells.first.virt(SOURCE).steps.hold('upload-image');
      await cells.resize(uuid);
      await held.reached;
      const drain = await cells.second.terminate(DEST);
      expect((await drain.ended).report.outcome).to.equal('clean');
      await cells.second.cloud.host(DEST).start();
      held.release();
      await cells.second.becomes(uuid, 'resized/-'); // this one was only silent
      await cells.settled();
    }));

  it('take it back when the source has died, and the source does so with its guest at its next start (B5)', () =>
    withTwoCells({ rpcTimeoutMs: 300 }, async (cells) => {
      const uuid = await cells.first.bootActive(SOURCE);
      const held = cells.first.virt(SOURCE).steps.hold('upload-image');
      await cells.resize(uuid);
      await held.reached;
      await cells.first.crash(SOURCE);
      await cells.first.migrationBecomes(uuid, 'error');
      await cells.settled();
      expect(await cells.second.allocatedOn(uuid)).to.deep.equal([]);
      expect(cells.second.tasks(DEST)).to.deep.equal([]);
      expect(await cells.first.stateOf(uuid)).to.equal(`error/-@${SOURCE}`);
      await cells.first.revive(SOURCE);
      await cells.first.cloud.actions.reboot(cells.first.recorded.context, uuid, 'hard');
      await cells.first.becomes(uuid, 'active/-');
    }));

  it('complete it before the conductor ends: TERM on the conductor (GS-2)', () =>
    withTwoCells({}, async (cells) => {
      const uuid = await cells.first.bootActive(SOURCE);
      const held = cells.second.virt(DEST).steps.hold('start-guest');
      await cells.resize(uuid);
      await held.reached;
      const [conductor] = cells.first.cloud.conductors;
      const drained = conductor?.drain('TERM');
      held.release();
      expect((await drained)?.outcome).to.equal('clean');
      expect(await cells.outcome(uuid)).to.deep.equal(MOVED);
    }));

  it('complete a revert at the source: TERM on it at the end (GS-62)', () =>
    withTwoCells({}, async (cells) => {
      const uuid = await cells.bootMoved();
      const held = cells.first.virt(SOURCE).steps.hold('finish-revert');
      await cells.revert(uuid);
      await held.reached;
      const drain = await cells.first.terminate(SOURCE);
      held.release();
      await cells.first.becomes(uuid, 'active/-');
      await expectClean(drain);
      expect((await cells.outcome(uuid)).guests).to.deep.equal(asBefore().guests);
      await cells.first.cloud.host(SOURCE).start();
    }));

  it('complete it while the destination looks whether it can (step 3): TERM on the source (GS-2, GS-5, GS-52)', () =>
    withTwoCells({}, async (cells) => {
      const uuid = await cells.first.bootActive(SOURCE);
      const held = cells.second.virt(DEST).steps.hold('check-cold-destination');
      await cells.resize(uuid);
      await held.reached;
      const drain = await cells.first.terminate(SOURCE);
      await waitsForItsPart(cells.first, SOURCE);
      held.release();
      await cells.second.becomes(uuid, 'resized/-');
      await expectClean(drain);
      await cells.first.migrationBecomes(uuid, 'finished');
      expect(await cells.outcome(uuid)).to.deep.equal(MOVED);
      await cells.first.cloud.host(SOURCE).start();
    }));

  it('complete a revert while the destination removes the guest: TERM on the source (GS-2, GS-5, GS-62)', () =>
    withTwoCells({}, async (cells) => {
      const uuid = await cells.bootMoved();
      const held = cells.second.virt(DEST).steps.hold('destroy');
      await cells.revert(uuid);
      await held.reached;
      const drain = await cells.first.terminate(SOURCE);
      await waitsForItsPart(cells.first, SOURCE);
      held.release();
      await cells.first.becomes(uuid, 'active/-');
      await expectClean(drain);
      expect((await cells.outcome(uuid)).guests).to.deep.equal(asBefore().guests);
      await cells.first.cloud.host(SOURCE).start();
    }));

  it('do not begin a revert to a source that has ended, which can be asked for again (GS-61)', () =>
    withTwoCells({}, async (cells) => {
      const uuid = await cells.bootMoved();
      await expectClean(await cells.first.terminate(SOURCE));
      await cells.revert(uuid);
      await cells.second.becomes(uuid, 'resized/-');
      await cells.settled();
      expect(await cells.outcome(uuid)).to.deep.equal(MOVED);
      await cells.first.cloud.host(SOURCE).start();
      await cells.revert(uuid);
      await cells.first.becomes(uuid, 'active/-');
    }));

  it('refuse an end of it that needs them, which can be asked for again (GS-57, GS-61)', () =>
    withTwoCells({}, async (cells) => {
      const uuid = await cells.bootMoved();
      for (const [test, host, ask] of [
        [cells.first, SOURCE, (): Promise<unknown> => cells.confirm(uuid)],
        [cells.second, DEST, (): Promise<unknown> => cells.revert(uuid)],
      ] as const) {
        const free = busy(test, host);
        const drain = await test.terminate(host);
        await ask();
        await cells.second.becomes(uuid, 'resized/-');
        await cells.second.migrationBecomes(uuid, 'finished');
        expect((await cells.outcome(uuid)).instance).to.deep.equal(MOVED.instance);
        free();
        await expectClean(drain);
        await test.cloud.host(host).start();
      }
    }));

  it('refuse a confirm that they get when they have just begun to drain, which can be asked for again (GS-57)', () => {
    let refuses = true;
    const onSend = ({ method }: { readonly method: string }): void => {
      if (refuses && method === 'confirm_snapshot_based_resize_at_source')
        throw new DrainingError('It drains, as ordered');
    };
    return withTwoCells({ onSend }, async (cells) => {
      const uuid = await cells.bootMoved();
      await cells.confirm(uuid);
      await cells.second.migrationBecomes(uuid, 'finished');
      await cells.settled();
      expect(await cells.outcome(uuid)).to.deep.equal(MOVED);
      refuses = false;
      await cells.confirm(uuid);
      await cells.second.becomes(uuid, 'active/-');
    });
  });
});
