import { expect } from 'chai';
import { describe, it } from 'mocha';
import { SERVER_ANSWER, SERVERS_ANSWER, SERVERS_DETAIL_ANSWER } from '#compute/http/server-answers.js';
import { Policy } from '#compute/http/policy.js';
import { HypervisorError, Instance } from '@ebbgate/compute';
import { faultOf } from '#compute/objects/instance-fault.js';
import { CIRROS, DEST, type HttpCloud, refusal, SOURCE, withHttpCloud } from './http-cloud.js';
import { type HttpBed, withHttp } from './http-bed.js';
import { instanceOf } from './http-instances.js';

const UNKNOWN = '00000000-0000-4000-8000-000000000000';

describe('compute: servers over HTTP, made', () => {
  it('answers 202 with the id, its links and a password, and builds it with what was said (HTTP-05)', () =>
    withHttpCloud(async (http) => {
      const answer = await http.create({ description: 'words', metadata: { role: 'web' }, adminPass: 'x' });
      const { id, ...server } = answer.body.server;
      expect(answer.status).to.equal(202);
      const self = `http://localhost:80/v2.1/servers/${String(id)}`;
      expect(server).to.deep.equal({
        links: [
          { rel: 'self', href: self },
          { rel: 'bookmark', href: self.replace('/v2.1', '') },
        ],
        'OS-DCF:diskConfig': 'MANUAL',
        security_groups: [{ name: 'default' }],
        adminPass: 'x',
      });
      expect(answer.headers['location']).to.equal(self);
      await http.cloud.becomes(String(id), 'active/-');
      const shown = await http.shown(String(id));
      expect(shown).to.deep.include({ name: 'vm', description: 'words', metadata: { role: 'web' } });
      expect(shown).to.deep.include({ tenant_id: 'operator', user_id: 'operator', status: 'ACTIVE' });
    }));

  it('belongs to the project of the path, and makes a password when none is given', () =>
    withHttpCloud(async (http) => {
      const body = { server: { ...CIRROS, networks: undefined } };
      const made = await http.bed.send('POST', '/v2.1/p7/servers', { body });
      const { id, adminPass } = made.body.server;
      expect(adminPass).to.match(/^\w{12}$/);
      expect(made.headers['location']).to.contain('/v2.1/p7/servers/');
      await http.cloud.becomes(String(id), 'active/-');
      expect((await http.shown(String(id)))['tenant_id']).to.equal('p7');
      expect(await http.names()).to.deep.equal(['vm']);
      const listed = async (project: string): Promise<number> =>
        (await http.bed.send('GET', `/v2.1/${project}/servers`)).body.servers.length;
      expect([await listed('p7'), await listed('p8')]).to.deep.equal([1, 0]);
    }));

  it('goes to the host or the zone that is named, by zone:host, host and zone', () =>
    withHttpCloud(
      async (http) => {
        const hostOf = async (server: object): Promise<unknown> => {
          const shown = await http.shown(await http.boot(server));
          return [shown['OS-EXT-SRV-ATTR:host'], shown['OS-EXT-AZ:availability_zone']];
        };
        expect(await hostOf({ availability_zone: `nova:${DEST}` })).to.deep.equal([DEST, 'east']);
        expect(await hostOf({ availability_zone: 'nova' })).to.deep.equal([SOURCE, 'nova']);
        expect(await hostOf({ availability_zone: 'east' })).to.deep.equal([DEST, 'east']);
        expect(await hostOf({ availability_zone: undefined, host: DEST })).to.deep.equal([DEST, 'east']);
        const refused = async (server: object): Promise<unknown> => {
          const answer = await http.create(server);
          return [answer.status, refusal(answer)];
        };
        expect(await refused({ availability_zone: 'west' })).to.deep.equal([
          400,
          'The requested availability zone is not available',
        ]);
        expect(await refused({ availability_zone: 'nova:nobody' })).to.deep.equal([
          400,
          'Compute host nobody could not be found.',
        ]);
        expect((await refused({ host: DEST }))?.toString()).to.contain('mutually exclusive');
      },
      {},
      { zoneOf: (host) => (host === DEST ? 'east' : undefined) },
    ));

  it('is refused with what is wrong, and leaves nothing behind (HTTP-03)', () =>
    withHttp(async (bed) => {
      await bed.service('h1');
      const of = async (server: object, version = '2.90'): Promise<string> => {
        const answer = await bed.send('POST', '/v2.1/servers', {
          body: { server: { ...CIRROS, ...server } },
          version,
        });
        return `${answer.status} ${String(refusal(answer))}`;
      };
      expect(await of({ imageRef: undefined })).to.equal('400 Missing imageRef attribute');
      expect(await of({ imageRef: '' })).to.equal('400 Missing imageRef attribute');
      expect(await of({ flavorRef: 'm9' })).to.match(/^400 The flavor .* could not be found/);
      expect(await of({ name: ' x' })).to.match(/^400 Invalid input for field\/attribute server.name/);
      expect(await of({ name: 'a\u0000' })).to.match(/^400 .*control characters/);
      expect(await of({ networks: undefined })).to.match(/^400 .*networks/);
      expect(await of({ networks: [{}] })).to.equal("400 Bad network format: missing 'uuid'");
      expect(await of({ networks: 'auto' }, '2.36')).to.match(/^400 .*networks/);
      expect(await of({ description: 'x', networks: undefined }, '2.18')).to.match(
        /'description' was unexpected/,
      );
      expect(await of({ host: 'h1' }, '2.73')).to.match(/'host' was unexpected/);
      expect(await of({ hostname: 'x' }, '2.89')).to.match(/'hostname' was unexpected/);
      expect(await of({ max_count: 2 })).to.match(/^400 .*Only one server/);
      expect(await of({ metadata: { 'a/b': 'x' } })).to.match(/^400/);
      expect(await of({ block_device_mapping_v2: [] })).to.match(/was unexpected/);
      expect(await bed.records.instances.find({})).to.deep.equal([]);
    }));
});

describe('compute: servers over HTTP, not made', () => {
  it('is 503, and nothing is left, when there is no conductor to ask (HTTP-03)', () =>
    withHttp(async (bed) => {
      const answer = await bed.send('POST', '/v2.1/servers', { body: { server: CIRROS }, version: 'latest' });
      expect(answer.status).to.equal(503);
      expect(await bed.records.instances.find({})).to.deep.equal([]);
    }));
});

describe('compute: servers over HTTP, shown', () => {
  it('has, version by version, the members that upstream has (FD-27)', () =>
    withHttp(async (bed) => {
      await bed.service('h1');
      const id = await instanceOf(bed.records, { host: 'h1', node: 'h1', display_description: 'words' });
      const at = async (version: string): Promise<Readonly<Record<string, unknown>>> => {
        const { status, body } = await bed.send('GET', `/v2.1/servers/${id}`, { version });
        expect(status).to.equal(200);
        expect(SERVER_ANSWER.safeParse(body).error, version).to.equal(undefined);
        return body.server;
      };
      const steps: readonly (readonly [member: string, since: number])[] = [
        ['OS-EXT-SRV-ATTR:hostname', 3],
        ['locked', 9],
        ['host_status', 16],
        ['description', 19],
        ['tags', 26],
        ['trusted_image_certificates', 63],
        ['server_groups', 71],
        ['locked_reason', 73],
        ['pinned_availability_zone', 96],
      ];
      for (const [member, since] of steps) {
        expect(await at(`2.${since - 1}`), member).not.to.have.property(member);
        expect(await at(`2.${since}`), member).to.have.property(member);
      }
      expect((await at('2.46'))['flavor']).to.deep.include({ id: '1' });
      expect((await at('2.47'))['flavor']).to.deep.equal({
        vcpus: 1,
        ram: 512,
        disk: 1,
        ephemeral: 0,
        swap: 0,
        original_name: 'm1.tiny',
        extra_specs: {},
      });
      const shown = await at('latest');
      expect(shown).to.deep.include({ addresses: {}, progress: 0, 'OS-EXT-STS:vm_state': 'active' });
      expect(shown['created']).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
      expect(shown['OS-EXT-SRV-ATTR:instance_name']).to.equal('instance-00000001');
    }));

  it('tells how its host is: forced down, disabled, up, silent, or none (FD-27)', () =>
    withHttp(async (bed) => {
      await bed.service('h1');
      const id = await instanceOf(bed.records, { host: 'h1' });
      const nowhere = await instanceOf(bed.records, { host: null });
      const status = async (uuid = id): Promise<unknown> =>
        (await bed.send('GET', `/v2.1/servers/${uuid}`, { version: '2.16' })).body.server['host_status'];
      expect(await status()).to.equal('UP');
      expect(await status(nowhere)).to.equal('');
      bed.nowMs += 100_000;
      expect(await status()).to.equal('UNKNOWN');
      await bed.records.services.update('compute', 'h1', { disabled: true });
      expect(await status()).to.equal('MAINTENANCE');
      await bed.records.services.update('compute', 'h1', { forcedDown: true });
      expect(await status()).to.equal('DOWN');
    }));

  it('tells why it is in ERROR: details to administrators alone', () =>
    withHttp(
      async (bed) => {
        const fault = faultOf(new HypervisorError('no room for the disk'), 'h1');
        const id = await instanceOf(bed.records, { vm_state: 'error', fault });
        const faultAs = async (token: string): Promise<object> => {
          const { created, ...told } = (
            await bed.send('GET', `/v2.1/servers/${id}`, { version: 'latest', token })
          ).body.server['fault'] as Readonly<Record<string, unknown>>;
          expect(created).to.match(/Z$/);
          return told;
        };
        const told = { code: 500, message: 'no room for the disk' };
        expect(await faultAs('user')).to.deep.equal(told);
        expect(await faultAs('admin')).to.deep.equal({
          ...told,
          details: 'HypervisorError (ERR_HYPERVISOR)',
        });
        await bed.records.instances.update(id, { vm_state: 'active' });
        const { body } = await bed.send('GET', `/v2.1/servers/${id}`, { token: 'admin' });
        expect(body.server).not.to.have.property('fault');
      },
      {
        policy: new Policy(new Map([['os_compute_api:servers:show', '@']])),
        validator: {
          isOpen: false,
          validate: (token) => ({ userId: 'u', projectId: 'p1', roles: [token ?? ''] }),
        },
      },
    ));

  it('is not found when it is deleted, a hidden copy, unknown, or no uuid', () =>
    withHttp(async (bed) => {
      const gone = await instanceOf(bed.records, { vm_state: 'deleted', deleted: true });
      const hidden = await instanceOf(bed.records, { hidden: true });
      for (const id of [gone, hidden, UNKNOWN, 'vm1']) {
        for (const method of ['GET', 'DELETE'] as const)
          expect((await bed.send(method, `/v2.1/servers/${id}`)).status, id).to.equal(404);
        const stop = await bed.send('POST', `/v2.1/servers/${id}/action`, { body: { 'os-stop': null } });
        expect(stop.status, id).to.equal(404);
      }
      const answer = await bed.send('GET', `/v2.1/servers/${UNKNOWN}`);
      expect(refusal(answer)).to.equal(`Instance ${UNKNOWN} could not be found.`);
    }));

  it('shows users what is of their project alone, and not where it is', () =>
    withHttp(
      async (bed) => {
        const mine = await instanceOf(bed.records, { project_id: 'p1', host: 'h1' });
        const other = await instanceOf(bed.records, { project_id: 'p2', host: 'h1' });
        const get = (path: string) => bed.send('GET', path, { version: 'latest', token: 'user' });
        const shown = (await get(`/v2.1/servers/${mine}`)).body.server;
        expect(shown).not.to.have.any.keys('OS-EXT-SRV-ATTR:host', 'host_status');
        expect(shown).to.have.property('OS-EXT-SRV-ATTR:hostname');
        expect((await get(`/v2.1/servers/${other}`)).status).to.equal(404);
        expect((await get('/v2.1/servers')).body.servers.map((one) => one['id'])).to.deep.equal([mine]);
        expect((await get('/v2.1/servers?all_tenants=1')).status).to.equal(403);
        expect((await get('/v2.1/servers?status=deleted')).status).to.equal(403);
        expect((await get('/v2.1/servers?host=h2')).body.servers.length).to.equal(1);
        const nobody = await bed.send('GET', '/v2.1/servers', { token: 'of no project' });
        expect(nobody.body.servers).to.deep.equal([]);
      },
      {
        policy: new Policy(
          new Map(
            ['index', 'detail', 'show'].map((what) => [`os_compute_api:servers:${what}`, '@'] as const),
          ),
        ),
        validator: {
          isOpen: false,
          validate: (token) => ({
            userId: 'u',
            projectId: token === 'user' ? 'p1' : null,
            roles: ['member'],
          }),
        },
      },
    ));
});

describe('compute: servers over HTTP, listed', () => {
  /** Servers a, b, c, made in this order. */
  const withThree = (work: (bed: HttpBed, ids: readonly string[]) => Promise<void>): Promise<void> =>
    withHttp(async (bed) => {
      await bed.service('h1');
      const made = [
        await instanceOf(bed.records, { display_name: 'a', host: 'h1' }),
        await instanceOf(bed.records, { display_name: 'b', vm_state: 'stopped', project_id: 'p2' }),
        await instanceOf(bed.records, { display_name: 'c', task_state: 'migrating', progress: 40 }),
      ];
      await instanceOf(bed.records, { display_name: 'copy', hidden: true });
      await instanceOf(bed.records, { display_name: 'X', vm_state: 'deleted', deleted: true });
      await work(bed, made);
    });

  const namesAt = async (bed: HttpBed, path: string, version = 'latest'): Promise<string> => {
    const { status, body } = await bed.send('GET', `/v2.1${path}`, { version });
    if (status !== 200) return String(status);
    const schema = path.startsWith('/servers/detail') ? SERVERS_DETAIL_ANSWER : SERVERS_ANSWER;
    expect(schema.safeParse(body).error, path).to.equal(undefined);
    return body.servers.map((one) => one['name']).join('');
  };

  it('has the newest first, in brief and in detail, and no hidden copies', () =>
    withThree(async (bed) => {
      expect(await namesAt(bed, '/servers')).to.equal('cba');
      expect(await namesAt(bed, '/servers/detail')).to.equal('cba');
      expect(await namesAt(bed, '/servers?sort_key=display_name&sort_dir=asc')).to.equal('abc');
      expect(await namesAt(bed, '/servers?sort_key=vm_state&sort_dir=asc&sort_key=display_name')).to.equal(
        'acb',
      );
    }));

  it('is narrowed by name, status, host, project, states and times', () =>
    withThree(async (bed, [first]) => {
      const cases: readonly (readonly [query: string, names: string])[] = [
        ['name=a', 'a'],
        ['name=%5E.%24', 'cba'],
        ['status=ACTIVE', 'ca'],
        ['status=migrating', 'c'],
        ['status=shutoff&status=migrating', 'cba'],
        ['status=verify_resize', ''],
        ['status=DELETED', 'X'],
        ['deleted=true', 'X'],
        ['deleted=false', 'cba'],
        ['host=h1', 'a'],
        ['all_tenants=True&project_id=p2', 'b'],
        ['vm_state=stopped', 'b'],
        [`uuid=${String(first)}`, 'a'],
        ['image=cirros&flavor=1', 'cba'],
        ['ip=10.0.0.1', ''],
        ['changes-since=2001-01-01T00:00:00Z', 'Xcba'],
        ['changes-before=2001-01-01', ''],
        ['locked=False', 'cba'],
      ];
      for (const [query, names] of cases)
        expect(await namesAt(bed, `/servers?${query}`), query).to.equal(names);
    }));

  it('refuses filters that are none, each in the versions in which upstream does', () =>
    withThree(async (bed) => {
      expect(await namesAt(bed, '/servers?status=odd', '2.37')).to.equal('');
      expect(await namesAt(bed, '/servers?status=odd', '2.38')).to.equal('400');
      expect(await namesAt(bed, '/servers?odd=1', '2.74')).to.equal('cba');
      expect(await namesAt(bed, '/servers?odd=1', '2.75')).to.equal('400');
      for (const query of [
        'name=(',
        'sort_key=odd',
        'limit=-1',
        'limit=x',
        'changes-since=x',
        'all_tenants=x',
      ])
        expect(await namesAt(bed, `/servers?${query}`), query).to.equal('400');
      expect(await namesAt(bed, `/servers?marker=${UNKNOWN}`)).to.equal('400');
      expect(
        await namesAt(bed, '/servers?changes-since=2002-01-01T00:00:00Z&changes-before=2001-01-01T00:00:00Z'),
      ).to.equal('400');
    }));

  it('comes in pages, each with a link to the next', () =>
    withThree(async (bed) => {
      const seen: string[] = [];
      let path: string | undefined = '/v2.1/servers/detail?limit=2';
      while (path !== undefined) {
        const { body } = await bed.send('GET', path, { version: 'latest' });
        seen.push(body.servers.map((one) => one['name']).join(''));
        path = body.servers_links?.[0]?.href.replace(/^http:\/\/[^/]+/, '');
      }
      expect(seen).to.deep.equal(['cb', 'a']);
    }));
});

describe('compute: servers over HTTP, changed', () => {
  it('changes exactly what is named, and shows it whole from 2.75 (HTTP-05)', () =>
    withHttp(async (bed) => {
      const id = await instanceOf(bed.records, { display_name: 'a', display_description: 'words' });
      const put = (server: object, version: string) =>
        bed.send('PUT', `/v2.1/servers/${id}`, { body: { server }, version });
      const { body } = await put({ name: 'b' }, '2.74');
      expect(body.server).to.include({ name: 'b', description: 'words' });
      expect(body.server).not.to.have.any.keys('OS-EXT-STS:vm_state', 'key_name', 'host_status');
      const whole = await put({ description: null, hostname: 'web' }, '2.90');
      expect(whole.body.server).to.include({ name: 'b', description: null, 'OS-EXT-STS:vm_state': 'active' });
      expect(whole.body.server['OS-EXT-SRV-ATTR:hostname']).to.equal('web');
      expect((await put({}, 'latest')).status).to.equal(200);
      expect((await put({ description: 'x' }, '2.18')).status).to.equal(400);
      expect((await put({ hostname: 'x' }, '2.89')).status).to.equal(400);
      expect((await put({ name: '' }, 'latest')).status).to.equal(400);
      const none = await bed.send('PUT', `/v2.1/servers/${UNKNOWN}`, { body: { server: { name: 'b' } } });
      expect(none.status).to.equal(404);
    }));

  it('deletes nothing when the network service is away, and all is as it was (HTTP-03)', () =>
    withHttp(async (bed) => {
      const id = await instanceOf(bed.records, { task_state: 'migrating', progress: 40 });
      expect((await bed.send('DELETE', `/v2.1/servers/${id}`)).status).to.equal(503);
      const left = await bed.records.instances.get(id);
      expect([left.get('vm_state'), left.get('task_state')]).to.deep.equal(['active', 'migrating']);
      expect(left.get('progress')).to.equal(40);
    }));

  it('deletes one whose host is down by itself (COMP-16)', () =>
    withHttpCloud(async (http: HttpCloud) => {
      const id = await http.boot();
      await http.cloud.crash(SOURCE);
      expect((await http.bed.send('DELETE', `/v2.1/servers/${id}`)).status).to.equal(204);
      const left = await http.cloud.cloud.records.instances.get(id);
      expect(Instance.is(left) && left.get('vm_state')).to.equal('deleted');
    }));
});
