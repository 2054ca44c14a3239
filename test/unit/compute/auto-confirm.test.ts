import { expect } from 'chai';
import { describe, it } from 'mocha';
import { until } from '../../support/deferred.js';
import { BIGGER, outcomeOf } from './resize-words.js';
import { DEST, SOURCE, type TestCloud, withCloud } from './test-cloud.js';

const WINDOW = { host: { resizeConfirmWindowMs: 30 } };

async function resized(test: TestCloud): Promise<string> {
  const uuid = await test.bootActive();
  await test.cloud.moves.resize({}, uuid, BIGGER);
  await test.migrationBecomes(uuid, 'finished');
  return uuid;
}

describe('a resize that nobody confirms', () => {
  it('is confirmed by its destination after the window, as its user would', () =>
    withCloud(WINDOW, async (test) => {
      const uuid = await resized(test);
      await test.migrationBecomes(uuid, 'confirmed');
      await test.becomes(uuid, 'active/-');
      await test.idle(SOURCE);
      expect(await outcomeOf(test, uuid)).to.deep.include({
        host: DEST,
        status: 'confirmed',
        guests: [`${DEST}:running`],
        kept: [],
        size: 1024,
      });
      expect(test.arrived.filter((one) => one.startsWith('confirm_resize'))).to.deep.equal([
        `confirm_resize @ compute.${SOURCE}`,
      ]);
    }));

  it('waits for its user without a window', () =>
    withCloud({}, async (test) => {
      await resized(test);
      const { registry } = test.cloud.host(DEST).process.service;
      const began: string[] = [];
      registry.events.on('opened', ({ name }) => began.push(name));
      // What is done again and again is done at the same intervals: the other one would have had its turn, too.
      await until(() => began.filter((name) => name === 'periodic:evacuated-guests').length > 2);
      expect(began).to.not.include('periodic:unconfirmed-resizes');
      expect(test.statuses.at(-1)).to.equal('finished');
    }));

  it('is tried again when its source is down', () =>
    withCloud(WINDOW, async (test) => {
      const uuid = await test.bootActive();
      const held = test.virt(DEST).steps.hold('finish-migration');
      await test.cloud.moves.resize({}, uuid, BIGGER);
      await held.reached;
      await test.cloud.records.services.update('compute', SOURCE, { forcedDown: true });
      const tried = new Promise<void>((resolve) => {
        test.cloud.host(DEST).process.service.registry.events.on('ended', ({ task }) => {
          if (task.name === 'periodic:unconfirmed-resizes') resolve();
        });
      });
      held.release();
      await test.migrationBecomes(uuid, 'finished');
      await tried;
      expect(test.statuses).to.not.include('confirming');
      await test.callUp(SOURCE);
      await test.migrationBecomes(uuid, 'confirmed');
    }));

  it('is not confirmed by a host that drains (COMP-06)', () =>
    withCloud(WINDOW, async (test) => {
      const other = await test.bootActive(DEST);
      const busy = test.virt(DEST).steps.hold('power-off');
      await test.cloud.actions.stop({}, other);
      await busy.reached;
      const uuid = await test.bootActive();
      const held = test.virt(DEST).steps.hold('finish-migration');
      await test.cloud.moves.resize({}, uuid, BIGGER);
      await held.reached;
      const { ended } = await test.terminate(DEST);
      const began: string[] = [];
      test.cloud.host(DEST).process.service.registry.events.on('opened', ({ name }) => began.push(name));
      held.release();
      await test.migrationBecomes(uuid, 'finished');
      busy.release();
      expect((await ended).code).to.equal(0);
      expect(began.filter((name) => name.startsWith('periodic:'))).to.deep.equal([]);
      expect(test.statuses.at(-1)).to.equal('finished');
      await test.cloud.host(DEST).start();
      await test.migrationBecomes(uuid, 'confirmed');
    }));
});
