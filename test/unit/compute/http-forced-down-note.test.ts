import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { TokenValidator } from '#compute/http/auth.js';
import { type HttpBed, type ServiceShown, withHttp } from './http-bed.js';

const HOST = { binary: 'nova-compute', host: 'host1' };
const OURS = { 'openstack-api-version': 'compute latest, ebbgate 1.2' };
const OLD_OURS = { 'openstack-api-version': 'ebbgate 1.2' };

/** Everybody is an admin, and called as the token is. */
const validator: TokenValidator = {
  isOpen: false,
  validate: (token) => ({ userId: token ?? null, projectId: null, roles: ['admin'] }),
};

async function shown(bed: HttpBed): Promise<ServiceShown | undefined> {
  return (await bed.send('GET', '/v2.1/os-services', { headers: OURS })).body.services[0];
}

function note(one: ServiceShown | undefined): readonly unknown[] {
  return ['forced_down', 'forced_down_by', 'forced_down_reason'].map((name) => one?.[name]);
}

describe('compute: who has forced a service down, why and when', () => {
  it('is shown in our own version only, and gone once it is cleared (FD-24, FD-36)', () =>
    withHttp(
      async (bed) => {
        const uuid = await bed.service('host1');
        const put = (token: string, body: object) =>
          bed.send('PUT', `/v2.1/os-services/${uuid}`, { headers: OURS, token, body });
        expect(note(await shown(bed))).to.deep.equal([false, null, null]);
        const before = Date.now();
        const answer = await put('ann', { forced_down: true, forced_down_reason: 'fan is on fire' });
        expect(note(answer.body.service)).to.deep.equal([true, 'ann', 'fan is on fire']);
        const first = await shown(bed);
        expect(note(first)).to.deep.equal([true, 'ann', 'fan is on fire']);
        const at = Date.parse(`${String(first?.['forced_down_at'])}Z`);
        expect(at).to.be.within(before, Date.now());
        await put('bob', { forced_down: true }); // says nothing new
        expect(await shown(bed)).to.deep.equal(first);
        await put('bob', { forced_down: true, forced_down_reason: 'really' });
        expect(note(await shown(bed))).to.deep.equal([true, 'bob', 'really']);
        for (const version of ['2.11', '2.53', 'latest']) {
          expect((await bed.listed(version))[0]).to.not.have.any.keys(
            'forced_down_by',
            'forced_down_reason',
            'forced_down_at',
          );
        }
        await put('ann', { forced_down: false });
        expect(note(await shown(bed))).to.deep.equal([false, null, null]);
        expect((await shown(bed))?.['forced_down_at']).to.equal(null);
      },
      { validator },
    ));

  it('can be told by the older request too; clients that do not ask for it cannot send it (FD-17)', () =>
    withHttp(
      async (bed) => {
        await bed.service('host1');
        const put = (body: object, headers: Readonly<Record<string, string>> = OLD_OURS) =>
          bed.send('PUT', '/v2.1/os-services/force-down', {
            headers,
            token: 'ann',
            body: { ...HOST, ...body },
          });
        const said = { forced_down: true, forced_down_reason: 'dead' };
        expect((await put(said, {})).status).to.equal(400);
        expect((await put(said, { 'openstack-api-version': 'ebbgate 1.1' })).status).to.equal(400);
        expect((await put({ ...said, forced_down: false })).status).to.equal(400);
        expect((await bed.records.services.get('compute', 'host1')).forcedDown).to.equal(false);
        expect((await put(said)).body).to.deep.equal({ service: { ...HOST, forced_down: true } });
        expect(note(await shown(bed))).to.deep.equal([true, 'ann', 'dead']);
      },
      { validator },
    ));
});
