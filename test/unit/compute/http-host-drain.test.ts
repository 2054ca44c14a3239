import { expect } from 'chai';
import { describe, it } from 'mocha';
import { type HttpBed, withHttp } from './http-bed.js';
import { SOURCE, type TestCloud, withCloud } from './test-cloud.js';

const OURS = { 'openstack-api-version': 'compute 2.53, ebbgate 1.1' };

function path(uuid: string): string {
  return `/v2.1/os-services/${uuid}/drain`;
}

/** The API of a cloud whose hosts run. */
async function withDrained(
  work: (bed: HttpBed, cloud: TestCloud, uuid: string) => Promise<void>,
  migrationMs = 0,
): Promise<void> {
  await withCloud({ migrationMs }, async (test) => {
    const { records, computeApi } = test.cloud;
    const { uuid } = await records.services.get('compute', SOURCE);
    await withHttp((bed) => work(bed, test, uuid), { records, computeApi });
  });
}

describe('compute: drain of a host by the API', () => {
  it('is what SIGTERM does: what has begun is finished, then the host ends (GS-1, GS-6)', () =>
    withDrained(async (bed, test, uuid) => {
      const vm = await test.bootActive();
      await test.migrate(vm);
      await test.migrationBecomes(vm, 'running');
      const ended = new Promise<number>((resolve) => {
        test.cloud.host(SOURCE).events.on('exited', ({ code }) => resolve(code));
      });
      const told = await bed.send('POST', path(uuid), { headers: OURS, body: { reason: 'a new kernel' } });
      expect(told.status).to.equal(202);
      const again = await bed.send('POST', path(uuid), { headers: OURS, body: {} });
      expect(again.status).to.equal(202);
      const { services } = (await bed.send('GET', '/v2.1/os-services', { headers: OURS })).body;
      const shown = services.find(({ id }) => id === uuid);
      expect(shown).to.have.property('draining', true);
      expect(shown).to.have.nested.property('drain.reason', 'a new kernel');
      expect(await ended).to.equal(0);
      expect(await test.stateOf(vm)).to.match(/^active\/-@compute-b$/);
      expect((await bed.send('POST', path(uuid), { headers: OURS, body: {} })).status).to.equal(409);
    }, 60));

  it('is ours alone: without our version, without a body, for others than hosts, and for hosts that are down it is refused (FD-33)', () =>
    withDrained(async (bed, test, uuid) => {
      const send = async (
        headers: Readonly<Record<string, string>>,
        body: unknown,
        id = uuid,
      ): Promise<number> => (await bed.send('POST', path(id), { headers, body })).status;
      expect(await send({ 'openstack-api-version': 'compute latest' }, {})).to.equal(404);
      expect(await send({ 'openstack-api-version': 'compute 2.11, ebbgate 1.1' }, {})).to.equal(404);
      expect(await send(OURS, undefined)).to.equal(400);
      expect(await send(OURS, { force: true })).to.equal(400);
      expect(await send(OURS, {}, 'no-uuid')).to.equal(400);
      expect(await send(OURS, {}, '00000000-0000-4000-8000-000000000000')).to.equal(404);
      const { services } = test.cloud.records;
      const conductor = await services.register({
        ...{ binary: 'conductor', host: 'c', state: 'running', reportedAtMs: Date.now() },
      });
      expect(await send(OURS, {}, conductor.uuid)).to.equal(400);
      const silent = await services.register({
        ...{ binary: 'compute', host: 'of-nova', state: 'running', reportedAtMs: 1 },
      });
      expect(await send(OURS, {}, silent.uuid)).to.equal(409);
      expect(test.cloud.host(SOURCE).process.service.state).to.equal('running');
    }));

  it('of a host of Nova is refused, in words: it does not know what is ours', () =>
    withHttp(async (bed) => {
      await bed.host('of-nova');
      const uuid = await bed.service('of-nova');
      const { status, body } = await bed.send('POST', path(uuid), { headers: OURS, body: {} });
      expect([
        status,
        (body as { conflictingRequest?: { message: string } }).conflictingRequest?.message,
      ]).to.deep.equal([409, 'Host of-nova cannot be told to drain: its process needs a signal']);
    }));
});
