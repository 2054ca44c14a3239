import { expect } from 'chai';
import { describe, it } from 'mocha';
import { MemoryJournal } from '#compute/compute/request-journal.js';
import { eventually } from '../../support/rigs/deadline.js';
import { allIdle, kill } from './resize-words.js';
import { DEST, SOURCE, type TestCloud, withCloud } from './test-cloud.js';

/** The process of a host is killed when a request has been accepted, and before anything is done with it. */
function killedAt(test: TestCloud, host: string, method: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const leave = test.cloud.host(host).events.on('request', (request) => {
      if (request.method !== method) return;
      leave();
      kill(test, host).then(resolve, reject);
    });
  });
}

describe('a request that was accepted by a host that was then killed (decision 5)', () => {
  it('is taken up by the next run, once (GS-76)', () =>
    withCloud({}, async (test) => {
      const killed = killedAt(test, SOURCE, 'build_and_run_instance');
      const uuid = await test.boot();
      await killed;
      expect(await test.stateOf(uuid)).to.equal('building/scheduling@null');
      await test.cloud.host(SOURCE).start();
      await test.becomes(uuid, 'active/-');
      await allIdle(test);
      expect(test.states.filter((state) => state === 'building/spawning')).to.have.length(1);
      expect(await test.virt(SOURCE).guestState(uuid)).to.equal('running');
    }));

  it('is taken up when it is a live migration that is only accepted', () =>
    withCloud({}, async (test) => {
      const uuid = await test.bootActive();
      const killed = killedAt(test, SOURCE, 'live_migration');
      await test.migrate(uuid);
      await killed;
      expect(test.statuses.at(-1)).to.equal('accepted');
      await test.cloud.host(SOURCE).start();
      await test.migrationBecomes(uuid, 'completed');
      expect(await test.stateOf(uuid)).to.equal(`active/-@${DEST}`);
    }));

  it('is taken up at the next start when it could not be handed on by the end of a drain (GS-1, GS-64, decision 24)', () => {
    let isBroken = false;
    const tried: string[] = [];
    const onSend = ({ topic, method }: { readonly topic: string; readonly method: string }): void => {
      if (!isBroken || topic !== 'compute') return;
      tried.push(method);
      throw new Error('the broker does not take it, as ordered');
    };
    return withCloud({ onSend }, async (test) => {
      const [uuid, busy] = [await test.bootActive(), await test.bootActive()];
      const held = test.virt(SOURCE).steps.hold('upload-image');
      await test.cloud.actions.snapshot({}, busy);
      await held.reached;
      await test.terminate(SOURCE);
      isBroken = true;
      await test.cloud.rebuilds.rebuild({}, uuid);
      await eventually('the try to hand it on', 3000, () => tried.includes('rebuild_instance'));
      const { process } = test.cloud.host(SOURCE);
      process.terminate('SIGINT'); // at once
      await process.done;
      isBroken = false;
      expect(await test.stateOf(uuid)).to.equal(`active/rebuilding@${SOURCE}`);
      await test.cloud.host(SOURCE).start();
      await test.becomes(uuid, 'active/-');
      await allIdle(test);
      expect(test.states).to.include('active/rebuild_spawning');
    });
  });

  it('is not done when it is not wanted any more', () =>
    withCloud({}, async (test) => {
      const uuid = await test.bootActive();
      const killed = killedAt(test, SOURCE, 'snapshot_instance');
      await test.cloud.actions.snapshot({}, uuid);
      await killed;
      await test.cloud.records.instances.update(uuid, { task_state: null }); // an operator has reset it
      await test.cloud.host(SOURCE).start();
      await allIdle(test);
      expect(test.states).to.not.include('active/image_snapshot');
      expect(await test.stateOf(uuid)).to.equal(`active/-@${SOURCE}`);
    }));

  it('is given up when run after run ends in the middle of it', () => {
    const journal = new MemoryJournal();
    return withCloud({ host: { journal } }, async (test) => {
      const entry = { id: 'poison', method: 'start_instance', args: {}, context: {}, tries: 5 };
      await kill(test, SOURCE);
      journal.write([{ accepted: entry }]);
      await test.cloud.host(SOURCE).start();
      await allIdle(test);
      expect(journal.entries()).to.deep.equal([]);
    });
  });
});
