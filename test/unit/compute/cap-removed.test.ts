import { expect } from 'chai';
import { describe, it } from 'mocha';
import { DEST, SOURCE, type TestCloud, type Termination, withCloud } from './test-cloud.js';

/** A boot that waits for its event on a host that drains, when the event is sent. */
async function drainWithBoot(test: TestCloud): Promise<{ readonly uuid: string } & Termination> {
  const isPlugged = new Promise<void>((resolve) => {
    const { networking } = test.cloud;
    const plug = networking.plug.bind(networking);
    networking.plug = async (uuid, host) => {
      await plug(uuid, host);
      networking.plug = plug;
      resolve();
    };
  });
  const uuid = await test.boot(SOURCE, (booted) => {
    test.cloud.networking.hold(booted);
  });
  await isPlugged;
  const drain = await test.terminate(SOURCE);
  await test.cloud.networking.release(uuid);
  return { uuid, ...drain };
}

/** Where requests to hosts of a method went. */
function topicsOf(test: TestCloud, method: string): readonly string[] {
  return test.arrived.filter((one) => one.startsWith(`${method} @`)).map((one) => one.split(' @ ')[1] ?? '');
}

describe('a version cap that is removed under hosts that stay as they are (GS-91, GS-92)', () => {
  it('lets a host that drains hear what it waits for, once its clients have read their configuration again', () => {
    let cap: string | undefined = '6.4';
    return withCloud({ clientCap: () => cap, tasksMs: 300 }, async (test) => {
      const moved = await test.bootActive();
      await test.migrate(moved);
      await test.migrationBecomes(moved, 'completed');
      expect(topicsOf(test, 'live_migration')).to.deep.equal([`compute.${SOURCE}`]);

      const capped = await drainWithBoot(test);
      const { report } = await capped.ended;
      expect(report.outcome).to.not.equal('clean'); // its event is in the queue that is not read any more
      expect(await test.stateOf(capped.uuid)).to.equal(`building/spawning@${SOURCE}`);
      await test.cloud.host(SOURCE).start();
      const hosts = [SOURCE, DEST].map((host) => test.cloud.host(host));
      const runs = hosts.map((host) => host.runs);

      test.arrived.length = 0;
      cap = undefined;
      await test.bootActive(); // nobody has read the configuration yet
      expect(topicsOf(test, 'external_instance_event')).to.deep.equal([`compute.${SOURCE}`]);
      await test.cloud.reload();

      const back = await test.bootActive();
      await test.migrate(back);
      await test.migrationBecomes(back, 'completed');
      await test.idle(DEST);
      const freed = await drainWithBoot(test);
      const { code, report: clean } = await freed.ended;
      expect([code, clean.outcome]).to.deep.equal([0, 'clean']);
      expect(await test.stateOf(freed.uuid)).to.equal(`active/-@${SOURCE}`);
      expect(topicsOf(test, 'live_migration')).to.deep.equal([`compute-ops.${SOURCE}`]);
      const [before, ...after] = topicsOf(test, 'external_instance_event');
      expect(before).to.equal(`compute.${SOURCE}`);
      expect(new Set(after)).to.deep.equal(new Set([`compute-ops.${SOURCE}`, `compute-ops.${DEST}`]));
      expect(hosts.map((host) => host.runs)).to.deep.equal(runs); // all of it in the runs that saw the cap
      await test.cloud.host(SOURCE).start();
    });
  });
});
