import type { VirtStep } from '@ebbgate/compute';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { BIGGER, outcomeOf } from './resize-words.js';
import { DEST, SOURCE, type TestCloud, withCloud } from './test-cloud.js';

const ALLOWED = { allowResizeToSameHost: true };

/** Resizes where the instance is: nothing else takes it. */
async function resize(test: TestCloud): Promise<string> {
  const uuid = await test.bootActive();
  await test.cloud.records.services.update('compute', DEST, { disabled: true });
  await test.cloud.moves.resize({}, uuid, BIGGER);
  return uuid;
}

async function resized(test: TestCloud): Promise<string> {
  const uuid = await resize(test);
  await test.migrationBecomes(uuid, 'finished');
  await test.becomes(uuid, 'resized/-');
  await test.idle(SOURCE);
  return uuid;
}

describe('a resize on the host where the instance is', () => {
  it('is refused unless it is allowed', () =>
    withCloud({}, async (test) => {
      const uuid = await resize(test);
      await test.migrationBecomes(uuid, 'error');
      await test.becomes(uuid, 'active/-');
    }));

  it('has both sizes there until it is confirmed', () =>
    withCloud(ALLOWED, async (test) => {
      const uuid = await resized(test);
      expect(await outcomeOf(test, uuid)).to.deep.include({
        host: SOURCE,
        guests: [`${SOURCE}:running`],
        kept: [SOURCE],
        disks: [],
        allocations: [`instance@${SOURCE}:1024`, `migration@${SOURCE}:512`],
      });
      await test.cloud.moves.confirmResize({}, uuid);
      await test.migrationBecomes(uuid, 'confirmed');
      await test.becomes(uuid, 'active/-');
      await test.idle(SOURCE);
      expect(await outcomeOf(test, uuid)).to.deep.include({
        guests: [`${SOURCE}:running`],
        kept: [],
        allocations: [`instance@${SOURCE}:1024`],
        size: 1024,
      });
    }));

  it('can be reverted', () =>
    withCloud(ALLOWED, async (test) => {
      const uuid = await resized(test);
      await test.cloud.moves.revertResize({}, uuid);
      await test.becomes(uuid, 'active/-');
      await test.idle(SOURCE);
      expect(await outcomeOf(test, uuid)).to.deep.include({
        status: 'reverted',
        guests: [`${SOURCE}:running`],
        kept: [],
        allocations: [`instance@${SOURCE}:512`],
        size: 512,
      });
    }));

  it('leaves nothing when the instance is deleted', () =>
    withCloud(ALLOWED, async (test) => {
      const uuid = await resized(test);
      await test.cloud.actions.delete({}, uuid);
      await test.becomes(uuid, 'deleted/-');
      await test.idle(SOURCE);
      expect(await outcomeOf(test, uuid)).to.deep.include({
        guests: [],
        kept: [],
        disks: [],
        allocations: [],
      });
    }));

  it('is taken back when the copying fails', () =>
    withCloud(ALLOWED, async (test) => {
      test.virt(SOURCE).steps.failNext('copy-disks');
      const uuid = await resize(test);
      await test.migrationBecomes(uuid, 'error');
      await test.idle(SOURCE);
      expect(await outcomeOf(test, uuid)).to.deep.include({
        kept: [],
        disks: [],
        allocations: [`instance@${SOURCE}:512`],
        size: 512,
      });
    }));

  const cutOff: readonly (readonly [VirtStep, string])[] = [
    ['copy-disks', 'error'],
    ['finish-migration', 'finished'],
  ];
  for (const [step, status] of cutOff) {
    it(`that is cut off in ${step} has ended in ${status} after the next start (COMP-07)`, () =>
      withCloud(ALLOWED, async (test) => {
        const held = test.virt(SOURCE).steps.hold(step);
        const uuid = await resize(test);
        await held.reached;
        await test.crash(SOURCE);
        held.release();
        await test.revive(SOURCE);
        await test.migrationBecomes(uuid, status === 'error' ? 'error' : 'finished');
        await test.watch.instance(uuid, (one) => one.get('task_state') === null, { timeoutMs: 4000 });
        await test.idle(SOURCE);
        const { guests, disks, allocations } = await outcomeOf(test, uuid);
        expect(guests).to.have.length(1);
        expect(disks).to.deep.equal([]);
        expect(allocations).to.deep.equal(
          status === 'error'
            ? [`instance@${SOURCE}:512`]
            : [`instance@${SOURCE}:1024`, `migration@${SOURCE}:512`],
        );
      }));
  }
});
