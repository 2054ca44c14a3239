import { ConductorApi } from '@ebbgate/compute';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { HttpBed } from './http-bed.js';
import { CIRROS } from './http-cloud.js';
import { DEST, SOURCE } from './test-cloud.js';
import { type TwoCells, withTwoCells } from './two-cells.js';

/** An API of one of the cells that knows both. */
async function withBoth(
  work: (cells: TwoCells, bed: HttpBed) => Promise<void>,
  own: 'first' | 'second' = 'first',
): Promise<void> {
  await withTwoCells({}, async (cells) => {
    const { records, computeApi, networking } = cells[own].cloud;
    const conductor = new ConductorApi(computeApi.transport);
    const bed = new HttpBed({ records, computeApi, networking, conductor, cells: cells.registry });
    try {
      await work(cells, bed);
    } finally {
      await bed.close();
    }
  });
}

async function listed(bed: HttpBed): Promise<readonly string[]> {
  const { body } = await bed.send('GET', '/v2.1/servers/detail', { version: 'latest' });
  return body.servers.map((one) => `${String(one['name'])}@${String(one['OS-EXT-SRV-ATTR:host'])}`);
}

async function create(bed: HttpBed, name: string, host: string): Promise<string> {
  const server = { ...CIRROS, name, availability_zone: `nova:${host}` };
  const { body } = await bed.send('POST', '/v2.1/servers', { body: { server }, version: 'latest' });
  return String(body.server['id']);
}

describe('compute: servers of several cells over HTTP', () => {
  it('are made where their host is, listed together, and asked where they are', () =>
    withBoth(async (cells, bed) => {
      const near = await create(bed, 'near', SOURCE);
      await cells.first.becomes(near, 'active/-');
      const far = await create(bed, 'far', DEST);
      await cells.second.becomes(far, 'active/-');
      expect([...(await listed(bed))].sort()).to.deep.equal([`far@${DEST}`, `near@${SOURCE}`]);
      const stop = await bed.send('POST', `/v2.1/servers/${far}/action`, { body: { 'os-stop': null } });
      expect(stop.status).to.equal(202);
      await cells.second.becomes(far, 'stopped/-');
      expect((await bed.send('DELETE', `/v2.1/servers/${far}`)).status).to.equal(204);
      await cells.second.becomes(far, 'deleted/-');
      expect(await listed(bed)).to.deep.equal([`near@${SOURCE}`]);
    }));

  it('are made in the cell of the API when nothing else is asked for', () =>
    withBoth(async (cells, bed) => {
      const sent = { body: { server: CIRROS }, version: 'latest' };
      const { body } = await bed.send('POST', '/v2.1/servers', sent);
      await cells.second.becomes(String(body.server['id']), 'active/-');
      expect(await listed(bed)).to.deep.equal([`vm@${DEST}`]);
    }, 'second'));

  it('that move to another cell are shown once, and confirmed there; their hidden copies never are', () =>
    withBoth(async (cells, bed) => {
      const id = await create(bed, 'vm', SOURCE);
      await cells.first.becomes(id, 'active/-');
      const act = async (body: object): Promise<number> =>
        (await bed.send('POST', `/v2.1/servers/${id}/action`, { body, version: 'latest' })).status;
      expect(await act({ resize: { flavorRef: '2' } })).to.equal(202);
      await cells.moved(id);
      expect(await listed(bed)).to.deep.equal([`vm@${DEST}`]);
      const { body } = await bed.send('GET', `/v2.1/servers/${id}`);
      expect(body.server['status']).to.equal('VERIFY_RESIZE');
      expect(await act({ confirmResize: null })).to.equal(204);
      await cells.second.becomes(id, 'active/-');
      expect(await listed(bed)).to.deep.equal([`vm@${DEST}`]);
    }));
});
