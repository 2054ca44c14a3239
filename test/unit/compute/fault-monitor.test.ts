import { expect } from 'chai';
import { describe, it } from 'mocha';
import { turn } from '../../support/deferred.js';
import type { HttpBed } from './http-bed.js';
import { DEST, SOURCE, withHttpCloud } from './http-cloud.js';
import type { TestCloud } from './test-cloud.js';

const OURS = { 'openstack-api-version': 'compute 2.53, ebbgate 1.2' };
/** Hosts learn within this time what was said of them. */
const SOON = { host: { reportIntervalMs: 5 } };

/** Where in the story the machine is switched on again, by somebody who does not know better. */
const RETURNS = [
  'when it was fenced',
  'when it was forced down',
  'in the middle',
  'when all is elsewhere',
] as const;
type Return = (typeof RETURNS)[number];

/** A fault monitor, and the machine that it watches. */
class Story {
  readonly #test: TestCloud;
  readonly #bed: HttpBed;
  readonly #path: string;
  #isOn = true;

  constructor(test: TestCloud, bed: HttpBed, uuid: string) {
    this.#test = test;
    this.#bed = bed;
    this.#path = `/v2.1/os-services/${uuid}`;
  }

  /** Power is cut: neither the daemon nor a guest goes on. */
  async fence(): Promise<void> {
    const { process } = this.#test.cloud.host(SOURCE);
    process.terminate('SIGTERM');
    process.terminate('SIGINT');
    await process.done;
    const store = this.#test.cloud.hypervisors.storeOf(SOURCE);
    for (const uuid of [...store.guests().keys()]) store.set(uuid, 'shutdown');
    this.#isOn = false;
  }

  /** The machine is switched on, unless it is. */
  async powerOn(): Promise<void> {
    if (this.#isOn) return;
    this.#isOn = true;
    await this.#test.cloud.host(SOURCE).start();
  }

  async put(forced_down: boolean): Promise<number> {
    return (await this.#bed.send('PUT', this.#path, { headers: OURS, body: { forced_down } })).status;
  }

  async state(): Promise<unknown> {
    const { body } = await this.#bed.send('GET', `/v2.1/os-services?host=${SOURCE}`, { headers: OURS });
    return body.services[0]?.['state'];
  }

  async evacuate(): Promise<number> {
    return (await this.#bed.send('POST', `${this.#path}/evacuate`, { headers: OURS })).status;
  }

  /** Looks again and again until nothing waits or is under way; never do two copies of an instance run. */
  async whenEvacuated(uuids: readonly string[]): Promise<unknown> {
    for (;;) {
      for (const uuid of uuids) expect((await this.running(uuid)).length, 'running copies').to.be.below(2);
      const { body } = await this.#bed.send('GET', `${this.#path}/evacuate`, { headers: OURS });
      const { evacuation } = body as unknown as { readonly evacuation: Readonly<Record<string, number>> };
      const { waiting, under_way: moving, evacuated } = evacuation;
      if (waiting === 0 && moving === 0) return evacuated;
      await turn();
    }
  }

  /** Clears as soon as that is not refused. */
  async clear(): Promise<void> {
    while ((await this.put(false)) !== 200) {
      expect(await this.state()).to.equal('down');
      await turn();
    }
  }

  /** Where a copy of an instance runs. */
  async running(uuid: string): Promise<readonly string[]> {
    const states = await Promise.all(
      [...this.#test.cloud.virts].map(async ([name, virt]) => [name, await virt.guestState(uuid)] as const),
    );
    return states.flatMap(([name, state]) => (state === 'running' ? [name] : []));
  }
}

/** Which hosts have the ports of an instance: with two, its addresses would be used twice. */
function boundTo({ cloud: { networking } }: TestCloud, uuid: string): readonly (string | null)[] {
  return [networking.boundTo(uuid), ...networking.alsoBoundTo(uuid)];
}

function withStory(
  work: (story: Story, test: TestCloud, uuids: readonly string[]) => Promise<void>,
): Promise<void> {
  return withHttpCloud(
    async ({ cloud, bed }) => {
      const uuids = [await cloud.bootActive(), await cloud.bootActive()];
      const { uuid } = await cloud.cloud.records.services.get('compute', SOURCE);
      await work(new Story(cloud, bed, uuid), cloud, uuids);
    },
    { evacuationLookMs: 1, rateLimit: 0 },
    SOON,
  );
}

describe('the story of a fault monitor', () => {
  for (const returns of RETURNS) {
    it(`fences, forces down, evacuates, repairs and clears, and the host that comes back ${returns} never runs a second copy, nor has its ports (FD-6, FD-10, FD-11, FD-12, FD-23, FD-37)`, () =>
      withStory(async (story, test, uuids) => {
        const at = async (point: Return): Promise<void> => {
          if (point === returns) await story.powerOn();
        };
        await story.fence();
        await at('when it was fenced');
        expect(await story.put(true)).to.equal(200);
        expect(await story.state()).to.equal('down');
        await at('when it was forced down');
        const held = test.virt(DEST).steps.hold('create-disks');
        expect(await story.evacuate()).to.equal(202);
        await held.reached;
        await at('in the middle');
        held.release();
        expect(await story.whenEvacuated(uuids)).to.equal(2);
        if (returns === 'when all is elsewhere') {
          expect(await story.put(false)).to.equal(400); // it would have two owners
          expect(await story.state()).to.equal('down');
        }
        await at('when all is elsewhere');
        await story.powerOn();
        await story.clear();
        await test.cloud.host(SOURCE).process.service.start();
        expect(await story.state()).to.equal('up');
        for (const uuid of uuids) {
          expect(test.cloud.hypervisors.locate(uuid)).to.deep.equal([DEST]);
          expect(await story.running(uuid)).to.deep.equal([DEST]);
          expect(await test.stateOf(uuid)).to.equal(`active/-@${DEST}`);
          expect(await test.allocatedOn(uuid)).to.deep.equal([DEST]);
          expect(boundTo(test, uuid)).to.deep.equal([DEST]);
        }
      }));
  }

  it('is the same for a host that drained when it failed: the drain is over, and is not gone on with (FD-6, FD-33)', () =>
    withStory(async (story, test, uuids) => {
      const [busy = ''] = uuids;
      const held = test.virt(SOURCE).steps.hold('power-off');
      await test.cloud.actions.stop({}, busy);
      await held.reached;
      await test.terminate(SOURCE);
      expect(await story.put(true)).to.equal(200);
      await story.fence();
      held.release();
      expect(await story.evacuate()).to.equal(202);
      expect(await story.whenEvacuated(uuids)).to.equal(2);
      await story.powerOn();
      await story.clear();
      await test.cloud.host(SOURCE).process.service.start();
      expect(await story.state()).to.equal('up');
      for (const uuid of uuids) {
        expect(test.cloud.hypervisors.locate(uuid)).to.deep.equal([DEST]);
        expect(boundTo(test, uuid)).to.deep.equal([DEST]);
      }
      expect(await test.stateOf(busy)).to.equal(`active/-@${DEST}`);
    }));
});
