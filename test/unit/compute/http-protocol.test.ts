import { DatabaseError, Liveness } from '@ebbgate/compute';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { CapturedLog } from '../../support/captured-log.js';
import type { HttpBed } from './http-bed.js';
import { withHttp } from './http-bed.js';

const LIST = '/v2.1/os-services';

async function versionsOf(
  bed: HttpBed,
  headers: Readonly<Record<string, string>>,
): Promise<readonly unknown[]> {
  const answer = await bed.send('GET', LIST, { headers });
  return [
    answer.status,
    answer.headers['openstack-api-version'],
    answer.headers['x-openstack-nova-api-version'],
  ];
}

describe('compute: versions of the HTTP API', () => {
  it('are negotiated by both headers, the common one first, and told in each answer (FD-18, FD-21)', () =>
    withHttp(async (bed) => {
      const told = (version: string, more = ''): unknown[] => [200, `compute ${version}${more}`, version];
      const nova = 'x-openstack-nova-api-version';
      const common = 'openstack-api-version';
      expect(await versionsOf(bed, {})).to.deep.equal(told('2.11'));
      expect(await versionsOf(bed, { [nova]: '2.1' })).to.deep.equal(told('2.1'));
      expect(await versionsOf(bed, { [common]: 'compute 2.53' })).to.deep.equal(told('2.53'));
      expect(await versionsOf(bed, { [common]: 'compute 2.53', [nova]: '2.1' })).to.deep.equal(told('2.53'));
      expect(await versionsOf(bed, { [common]: 'identity 3.1', [nova]: '2.2' })).to.deep.equal(told('2.2'));
      expect(await versionsOf(bed, { [common]: 'identity 3.1, compute latest' })).to.deep.equal(told('2.96'));
      expect(await versionsOf(bed, { [nova]: 'latest' })).to.deep.equal(told('2.96'));
      expect(await versionsOf(bed, { [common]: 'compute 2.96, ebbgate 1.1' })).to.deep.equal(
        told('2.96', ', ebbgate 1.1'),
      );
      const { headers } = await bed.send('GET', LIST);
      expect(headers['vary']).to.equal('OpenStack-API-Version, X-OpenStack-Nova-API-Version');
    }));

  it('answer 406 out of their range, and 400 to what is none', () =>
    withHttp(async (bed) => {
      const of = async (version: string): Promise<readonly unknown[]> => {
        const { status, body } = await bed.send('GET', LIST, { version });
        return [status, (body.computeFault ?? body.badRequest)?.message];
      };
      for (const version of ['2.0', '2.97', '3.1', '1.1', '20.1']) {
        expect(await of(version)).to.deep.equal([
          406,
          `Version ${version} is not supported by the API. Minimum is 2.1 and maximum is 2.96.`,
        ]);
      }
      for (const version of ['2', 'two', '2.01', '2.1.1', '-2.1', '2.1e1', '0x2.1', '2.9999999999999']) {
        expect((await of(version))[0], version).to.equal(400);
      }
      const ours = await bed.send('GET', LIST, { headers: { 'openstack-api-version': 'ebbgate 1.3' } });
      expect(ours.status).to.equal(406);
    }));

  it('are told at / and /v2.1, with a link to themselves, to everybody (FD-21)', () =>
    withHttp(
      async (bed) => {
        for (const path of ['/v2.1', '/v2.1/']) {
          const { status, body } = await bed.send('GET', path, { headers: { host: 'localhost:8774' } });
          expect(status).to.equal(200);
          expect(body.version).to.deep.include({
            id: 'v2.1',
            status: 'CURRENT',
            version: '2.96',
            min_version: '2.1',
            links: [{ rel: 'self', href: 'http://localhost:8774/v2.1/' }],
          });
        }
        const { body } = await bed.send('GET', '/');
        expect(body.versions.map(({ id }) => id)).to.deep.equal(['v2.1']);
      },
      { validator: { isOpen: false, validate: () => undefined } },
    ));

  it('show who drains, and what it still does, when `ebbgate 1.1` is asked for, and only then (GS-87)', () =>
    withHttp(async (bed) => {
      const tasks = [
        { name: 'live_migration', kind: 'background', subject: 'vm1', ageMs: 10, progress: 0.5 },
      ] as const;
      const drain = { reason: 'SIGTERM', step: 'tasks', budgetLeftMs: 5000, taskCount: 1, tasks };
      await bed.service('a', { state: 'draining', drain });
      await bed.service('b');
      const ours = await bed.send('GET', LIST, {
        headers: { 'openstack-api-version': 'compute latest, ebbgate 1.1' },
      });
      const [a, b] = ours.body.services;
      expect([a?.['draining'], a?.['state'], b?.['draining'], b?.['drain']]).to.deep.equal([
        true,
        'up',
        false,
        null,
      ]);
      expect(a?.['drain']).to.deep.equal({
        reason: 'SIGTERM',
        step: 'tasks',
        budget_left_ms: 5000,
        task_count: 1,
        tasks: [{ name: 'live_migration', kind: 'background', subject: 'vm1', age_ms: 10, progress: 0.5 }],
      });
      for (const one of await bed.listed('latest')) expect(one).to.not.have.any.keys('draining', 'drain');
    }));
});

describe('compute: errors and limits of the HTTP API', () => {
  it('give each answer the id of its request, another each time', () =>
    withHttp(async (bed) => {
      const ids = new Set<unknown>();
      for (const path of [LIST, '/v2.1/unknown', '/v2.1/%ff', '/v2.1']) {
        const { headers } = await bed.send('GET', path);
        expect(headers['x-openstack-request-id']).to.match(/^req-[0-9a-f-]{36}$/);
        expect(headers['x-compute-request-id']).to.equal(headers['x-openstack-request-id']);
        ids.add(headers['x-compute-request-id']);
      }
      expect(ids.size).to.equal(4);
    }));

  it('are in the form of OpenStack, and show no stack (HTTP-03)', () =>
    withHttp(async (bed) => {
      const json = { 'content-type': 'application/json' };
      const raw = (payload: string, headers: Readonly<Record<string, string>> = json) =>
        bed.send('PUT', `${LIST}/force-down`, { body: payload, headers });
      const answers = [
        await raw('{'),
        await raw(''),
        await raw('{"__proto__": {"host": "x"}}'),
        await raw('{"constructor": {"prototype": {}}}'),
        await raw('"text"'),
        await raw('binary=nova-compute', { 'content-type': 'application/x-www-form-urlencoded' }),
        await raw(JSON.stringify({ host: 'host1', binary: 'nova-compute' }), {
          'content-type': 'text/plain',
        }),
        await raw(JSON.stringify({ host: 'x'.repeat(200_000) })),
        await bed.send('GET', '/v2.1/nothing'),
        await bed.send('POST', LIST, { body: {} }),
        await bed.send('GET', '/v2.1/%ff'),
      ];
      const expected = [400, 400, 400, 400, 400, 415, 415, 413, 404, 405, 400];
      expect(answers.map(({ status }) => status)).to.deep.equal(expected);
      expect(answers.at(-1)?.body.badRequest?.message).to.equal('Malformed request URL');
      for (const { status, body } of answers) {
        const [fault] = Object.values(body) as readonly { code: number; message: string }[];
        expect(fault?.code).to.equal(status);
        expect(fault?.message).to.not.match(/ at |node_modules|\.js/);
      }
    }));

  it('are not given for a body that is empty where none is read, whatever its type', () =>
    withHttp(async (bed) => {
      const headers = { 'content-type': 'application/json' };
      const uuid = await bed.service('host1', { binary: 'conductor' });
      const sent = { version: '2.53', headers };
      expect((await bed.send('DELETE', `${LIST}/${uuid}`, sent)).status).to.equal(204);
    }));

  it('tell nothing of a fault of ours outside, and its cause in the log (HTTP-03, SEC-04)', async () => {
    const log = new CapturedLog();
    let thrown: Error = new TypeError('inner secret');
    const liveness = new Liveness();
    liveness.isUp = () => {
      throw thrown;
    };
    await withHttp(
      async (bed) => {
        await bed.service('host1');
        const { status, body } = await bed.send('GET', LIST);
        expect([status, body.computeFault?.code]).to.deep.equal([500, 500]);
        expect(JSON.stringify(body)).to.not.contain('inner secret');
        expect(log.ordinaryText()).to.contain('inner secret');
        thrown = new DatabaseError('away: file:///x');
        const away = await bed.send('GET', LIST);
        expect([away.status, Object.keys(away.body)]).to.deep.equal([503, ['serviceUnavailable']]);
        expect(JSON.stringify(away.body)).to.not.contain('file:');
      },
      { liveness },
      log,
    );
  });

  it('refuse new work with 503 from the first moment of a drain, and close the connection (HTTP-02)', () =>
    withHttp(async (bed) => {
      await bed.service('host1');
      bed.app.refuseNewWork();
      const body = { binary: 'nova-compute', host: 'host1', forced_down: true };
      for (const path of [`${LIST}/force-down`, '/v2.1/unknown']) {
        const answer = await bed.send('PUT', path, { body });
        expect([answer.status, answer.headers['connection']]).to.deep.equal([503, 'close']);
        expect(answer.body.serviceUnavailable?.code).to.equal(503);
      }
      expect((await bed.records.services.get('compute', 'host1')).forcedDown).to.equal(false);
    }));

  it('let each caller ask so often, and tell when to come back', async () => {
    let nowMs = 0;
    await withHttp(
      async (bed) => {
        const statuses = async (times: number): Promise<readonly number[]> => {
          const found: number[] = [];
          for (let at = 0; at < times; at += 1) found.push((await bed.send('GET', LIST)).status);
          return found;
        };
        expect(await statuses(5)).to.deep.equal([200, 200, 200, 200, 429]);
        const refused = await bed.send('GET', LIST);
        expect([refused.headers['retry-after'], Object.keys(refused.body)]).to.deep.equal([
          '1',
          ['overLimit'],
        ]);
        nowMs += 1000;
        expect(await statuses(3)).to.deep.equal([200, 200, 429]);
      },
      { rateLimit: 2, now: () => nowMs },
    );
  });
});
