import { ConductorApi } from '@ebbgate/compute';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { EVACUATION_ANSWER } from '#compute/http/evacuation-view.js';
import { turn } from '../../support/deferred.js';
import { type Answered, type HttpBed, type Sent, withHttp } from './http-bed.js';
import { DEST, SOURCE, withHttpCloud } from './http-cloud.js';
import type { TestCloud } from './test-cloud.js';
import { withTwoCells } from './two-cells.js';

const OURS = { headers: { 'openstack-api-version': 'compute 2.53, ebbgate 1.2' } };
const FORCE_DOWN = { binary: 'nova-compute', host: SOURCE, forced_down: true };
const UNKNOWN = '00000000-0000-4000-8000-000000000000';

interface Shown {
  readonly driven: boolean;
  readonly waiting: number;
  readonly under_way: number;
  readonly evacuated: number;
  readonly failed: number;
  readonly instances: readonly Readonly<Record<string, unknown>>[];
}

/** The API of a cloud with two hosts. */
function withApi(work: (test: TestCloud, bed: HttpBed, path: string) => Promise<void>): Promise<void> {
  return withHttpCloud(
    async ({ cloud, bed }) => {
      const { uuid } = await cloud.cloud.records.services.get('compute', SOURCE);
      await work(cloud, bed, `/v2.1/os-services/${uuid}/evacuate`);
    },
    { evacuationLookMs: 1 },
  );
}

function shownIn({ status, body }: Answered): Shown {
  expect(status, JSON.stringify(body)).to.be.within(200, 202);
  expect(EVACUATION_ANSWER.safeParse(body).error).to.equal(undefined);
  return (body as unknown as { readonly evacuation: Shown }).evacuation;
}

async function finished(bed: HttpBed, path: string): Promise<Shown> {
  for (;;) {
    const shown = shownIn(await bed.send('GET', path, OURS));
    if (!shown.driven) return shown;
    await turn();
  }
}

describe('compute: a whole host is evacuated over HTTP', () => {
  it('only when it is down, at once after it was forced down, and shows how each instance does (FD-2, FD-6)', () =>
    withApi(async (test, bed, path) => {
      const uuids = [await test.bootActive(), await test.bootActive()];
      const early = await bed.send('POST', path, OURS);
      expect([early.status, early.body.badRequest?.message]).to.deep.equal([
        400,
        `Compute service of ${SOURCE} is still in use`,
      ]);
      await bed.send('PUT', '/v2.1/os-services/force-down', { body: FORCE_DOWN });
      const held = test.virt(DEST).steps.hold('create-disks');
      const begun = await bed.send('POST', path, { ...OURS, body: { parallel: 1, host: DEST } });
      expect([begun.status, shownIn(begun).driven]).to.deep.equal([202, true]);
      await held.reached;
      const during = shownIn(await bed.send('GET', path, OURS));
      expect([during.under_way, during.waiting, during.evacuated]).to.deep.equal([1, 1, 0]);
      expect(during.instances.find(({ state }) => state === 'under_way')).to.include({
        status: 'pre-migrating',
        host: DEST,
        reason: null,
      });
      expect((await bed.send('POST', path, OURS)).status).to.equal(202); // goes on as it did
      held.release();
      const after = await finished(bed, path);
      expect([after.evacuated, after.waiting, after.under_way]).to.deep.equal([2, 0, 0]);
      for (const uuid of uuids) expect(await test.stateOf(uuid)).to.equal(`active/-@${DEST}`);
      expect((await test.cloud.records.migrations.find({})).length).to.equal(2);
    }));

  it('shows why one could not be, and goes on with it when it is asked again', () =>
    withApi(async (test, bed, path) => {
      const uuid = await test.bootActive();
      await test.crash(SOURCE);
      test.virt(DEST).steps.failNext('create-disks');
      await bed.send('POST', path, OURS);
      const failed = await finished(bed, path);
      expect(failed.failed).to.equal(1);
      expect(failed.instances[0]).to.include({ id: uuid, state: 'failed', status: 'failed' });
      expect(failed.instances[0]?.['reason']).to.be.a('string');
      await bed.send('POST', path, OURS);
      expect((await finished(bed, path)).evacuated).to.equal(1);
    }));

  it('is not there unless our own version is asked for, and refuses what is wrong, without a change (HTTP-03)', () =>
    withApi(async (test, bed, path) => {
      await test.bootActive();
      await test.crash(SOURCE);
      const { uuid: other } = await test.cloud.records.services.get('conductor', 'conductor-1');
      const status = async (sent: Sent, to = path): Promise<number> =>
        (await bed.send('POST', to, { ...OURS, ...sent })).status;
      for (const version of ['2.53', 'latest']) {
        for (const method of ['GET', 'POST'] as const)
          expect((await bed.send(method, path, { version })).status).to.equal(404);
      }
      for (const body of [{ parallel: 0 }, { parallel: 101 }, { host: '' }, { x: 1 }, [], { host: SOURCE }])
        expect(await status({ body }), JSON.stringify(body)).to.equal(400);
      expect(await status({ body: { host: 'nowhere' } })).to.equal(404);
      expect(await status({}, path.replace(/[^/]+\/evacuate/, 'x/evacuate'))).to.equal(400);
      expect(await status({}, path.replace(/[^/]+\/evacuate/, `${UNKNOWN}/evacuate`))).to.equal(404);
      expect(await status({}, path.replace(/[^/]+\/evacuate/, `${other}/evacuate`))).to.equal(400);
      expect(await test.cloud.records.migrations.find({})).to.deep.equal([]);
    }));

  it('begins no more when the API drains', () =>
    withApi(async (test, bed, path) => {
      const uuids = [await test.bootActive(), await test.bootActive()];
      await test.crash(SOURCE);
      const held = test.virt(DEST).steps.hold('create-disks');
      await bed.send('POST', path, { ...OURS, body: { parallel: 1 } });
      await held.reached;
      bed.app.refuseNewWork();
      await bed.tasks.whenIdle();
      held.release();
      expect((await test.cloud.records.migrations.find({})).length).to.equal(1);
      const states = await Promise.all(uuids.map((uuid) => test.stateOf(uuid)));
      expect(states).to.include(`active/-@${SOURCE}`);
    }));

  it('in the cell that it is in', () =>
    withTwoCells({}, async ({ first, second, registry }) => {
      const { records, computeApi, networking } = first.cloud;
      const conductor = new ConductorApi(computeApi.transport);
      const parts = { records, computeApi, networking, conductor, cells: registry, evacuationLookMs: 1 };
      const uuid = await second.bootActive(DEST);
      await second.crash(DEST);
      const service = await second.cloud.records.services.get('compute', DEST);
      await withHttp(async (bed) => {
        const path = `/v2.1/os-services/${service.uuid}/evacuate`;
        await bed.send('POST', path, OURS);
        const { instances } = await finished(bed, path);
        expect(instances).to.have.length(1);
        expect(instances[0]).to.include({ id: uuid, state: 'failed', status: 'error' });
        expect(instances[0]?.['reason']).to.match(/^No host can take instance/); // that cell has no other
      }, parts);
      expect(await records.migrations.find({})).to.deep.equal([]);
      expect(await second.cloud.records.migrations.find({})).to.have.length(1);
    }));
});
