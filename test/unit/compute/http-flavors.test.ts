import { expect } from 'chai';
import { describe, it } from 'mocha';
import {
  EXTRA_SPECS_ANSWER,
  FLAVOR_ANSWER,
  FLAVORS_ANSWER,
  FLAVORS_DETAIL_ANSWER,
} from '#compute/http/flavor-schemas.js';
import { Policy } from '#compute/http/policy.js';
import { type HttpBed, withHttp } from './http-bed.js';
import { refused, shown, type Shown } from './http-asked.js';

interface List {
  readonly flavors: readonly Shown[];
  readonly flavors_links?: readonly { readonly rel: string; readonly href: string }[];
}

const reader = {
  isOpen: false,
  validate: () => ({ userId: 'bob', projectId: 'p1', roles: ['reader'] }),
};

async function ids(bed: HttpBed, query = '', version?: string): Promise<string> {
  const { flavors } = await shown<List>(bed, `/flavors${query}`, FLAVORS_ANSWER, version);
  return flavors.map(({ id }) => String(id)).join(' ');
}

describe('compute: flavors over HTTP', () => {
  it('lists them in brief, with links that lead back to where the request came to (decision 34)', () =>
    withHttp(async (bed) => {
      const { flavors } = await shown<List>(bed, '/flavors', FLAVORS_ANSWER, '2.54');
      expect(flavors.map(({ id, name }) => `${String(id)} ${String(name)}`)).to.deep.equal([
        '1 m1.tiny',
        '2 m1.small',
        '3 m1.medium',
        '4 m1.large',
        '5 m1.xlarge',
      ]);
      expect(flavors[0]).to.deep.equal({
        id: '1',
        name: 'm1.tiny',
        links: [
          { rel: 'self', href: 'http://localhost:80/v2.1/flavors/1' },
          { rel: 'bookmark', href: 'http://localhost:80/flavors/1' },
        ],
      });
      const { flavors: ofProject } = await shown<List>(bed, '/p1/flavors', FLAVORS_ANSWER, '2.55');
      expect(ofProject[0]).to.deep.include({ description: null });
      expect(JSON.stringify(ofProject[0])).to.include('/v2.1/p1/flavors/1');
    }));

  it('shows one with its sizes; members come and change with the versions 2.55, 2.61 and 2.75 (decision 34)', () =>
    withHttp(async (bed) => {
      const at = async (version: string): Promise<Shown> => {
        const { flavor } = await shown<{ readonly flavor: Shown }>(bed, '/flavors/2', FLAVOR_ANSWER, version);
        return flavor;
      };
      expect(await at('2.1')).to.deep.include({
        name: 'm1.small',
        ram: 2048,
        disk: 20,
        vcpus: 1,
        swap: '',
        'OS-FLV-EXT-DATA:ephemeral': 0,
        'OS-FLV-DISABLED:disabled': false,
        'os-flavor-access:is_public': true,
        rxtx_factor: 1,
      });
      const members = async (version: string): Promise<unknown> => {
        const flavor = await at(version);
        return [flavor['description'], flavor['extra_specs'], flavor['swap']];
      };
      expect(await members('2.54')).to.deep.equal([undefined, undefined, '']);
      expect(await members('2.55')).to.deep.equal([null, undefined, '']);
      expect(await members('2.61')).to.deep.equal([null, {}, '']);
      expect(await members('latest')).to.deep.equal([null, {}, 0]);
      const { flavors } = await shown<List>(bed, '/flavors/detail', FLAVORS_DETAIL_ANSWER, 'latest');
      expect(flavors[1]).to.deep.equal(await at('latest'));
      expect(await shown(bed, '/flavors/2/os-extra_specs', EXTRA_SPECS_ANSWER)).to.deep.equal({
        extra_specs: {},
      });
    }));

  it('knows a size that is spelt out as a flavor of that id, and no other (decision 34)', () =>
    withHttp(async (bed) => {
      const spelt = await shown<{ readonly flavor: Shown }>(bed, '/flavors/2:4096:40', FLAVOR_ANSWER);
      expect(spelt.flavor).to.deep.include({
        id: '2:4096:40',
        name: '2:4096:40',
        vcpus: 2,
        ram: 4096,
        disk: 40,
      });
      for (const id of ['m1.small', '6', '0:1:1', '2:4096', 'detai', '__proto__']) {
        const missing = `404 itemNotFound: Flavor ${id} could not be found.`;
        expect(await refused(bed, 'GET', `/flavors/${id}`)).to.equal(missing);
        expect(await refused(bed, 'GET', `/flavors/${id}/os-extra_specs`)).to.equal(missing);
      }
    }));

  it('gives pages, each with a link to the next', () =>
    withHttp(async (bed) => {
      const page = await shown<List>(bed, '/flavors?limit=2&sort_dir=asc', FLAVORS_ANSWER);
      const href = 'http://localhost:80/v2.1/flavors?limit=2&marker=2&sort_dir=asc';
      expect(page.flavors_links).to.deep.equal([{ rel: 'next', href }]);
      const next = new URL(href);
      expect(await ids(bed, next.search)).to.equal('3 4');
      expect(await ids(bed, '?limit=2&marker=4')).to.equal('5');
      expect(await ids(bed, '?limit=0')).to.equal('1 2 3 4 5');
      expect(await refused(bed, 'GET', '/flavors?marker=9')).to.equal('400 badRequest: marker not found');
      for (const limit of ['-1', 'x', '1.5', ''])
        expect(await refused(bed, 'GET', `/flavors?limit=${limit}`), limit).to.match(/^400 .* limit/);
    }));

  it('narrows and sorts them as upstream; of a parameter that comes twice the last counts', () =>
    withHttp(async (bed) => {
      expect(await ids(bed, '?minRam=4096')).to.equal('3 4 5');
      expect(await ids(bed, '?minRam=1&minRam=8192')).to.equal('4 5');
      expect(await ids(bed, '?minDisk=80')).to.equal('4 5');
      expect(await ids(bed, '?is_public=None')).to.equal('1 2 3 4 5');
      expect(await ids(bed, '?is_public=no')).to.equal('');
      expect(await ids(bed, '?sort_key=vcpus&sort_dir=desc')).to.equal('5 4 3 1 2');
      expect(await ids(bed, '?sort_key=name')).to.equal('4 3 2 1 5');
      expect(await refused(bed, 'GET', '/flavors?is_public=maybe')).to.equal(
        '400 badRequest: Invalid is_public filter',
      );
      expect(await refused(bed, 'GET', '/flavors?minRam=x')).to.equal(
        '400 badRequest: Invalid minRam filter',
      );
      expect(await refused(bed, 'GET', '/flavors?minDisk=x')).to.equal(
        '400 badRequest: Invalid minDisk filter',
      );
      expect(await refused(bed, 'GET', '/flavors?sort_key=__proto__')).to.match(/^400 .* sort_key/);
      expect(await ids(bed, '?x=1', '2.74')).to.equal('1 2 3 4 5');
      expect(await refused(bed, 'GET', '/flavors?x=1', { version: '2.75' })).to.match(/^400 .*'x'/);
    }));

  it('is for those whom the policy lets through; extra specs have a rule of their own', async () => {
    await withHttp(
      async (bed) => {
        const refusal = "403 forbidden: Policy doesn't allow os_compute_api:flavors to be performed.";
        expect(await refused(bed, 'GET', '/flavors')).to.equal(refusal);
        expect(await refused(bed, 'GET', '/flavors/1')).to.equal(refusal);
      },
      { validator: reader },
    );
    const policy = new Policy(new Map([['os_compute_api:flavors', 'role:reader']]));
    await withHttp(
      async (bed) => {
        expect(await ids(bed, '?is_public=no')).to.equal('1 2 3 4 5'); // not theirs to ask
        const { flavor } = await shown<{ readonly flavor: Shown }>(
          bed,
          '/flavors/1',
          FLAVOR_ANSWER,
          'latest',
        );
        expect(flavor).not.to.have.property('extra_specs');
        expect(await refused(bed, 'GET', '/flavors/1/os-extra_specs')).to.match(/^403 /);
      },
      { validator: reader, policy },
    );
  });
});
