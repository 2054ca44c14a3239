import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import { LIST_ANSWER, UPDATE_ANSWER } from '#compute/http/service-schemas.js';
import type { HttpBed } from './http-bed.js';
import { withHttp } from './http-bed.js';

const METHODS = ['GET', 'PUT', 'POST', 'DELETE'] as const;
const HOSTILE = [
  ...[
    '',
    ' ',
    '0',
    '-1',
    '1',
    '999999999999999',
    'null',
    'undefined',
    '__proto__',
    'constructor',
    'toString',
  ],
  ...['../..', '%00', '%ff', '%2e%2e', "' or 1=1 --", '${1}', '\u0000', '\ud800', 'ü', 'x'.repeat(300)],
];
const UUIDS = ['00000000-0000-4000-8000-000000000000', 'ABCDEF00-0000-4000-8000-00000000000g'];

interface Hostile {
  readonly method: (typeof METHODS)[number];
  readonly path: string;
  readonly query: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

/** A word that is known, or something else. */
const word = (...known: readonly string[]): fc.Arbitrary<string> =>
  fc.oneof(fc.constantFrom(...known), fc.constantFrom(...HOSTILE), fc.string({ maxLength: 20 }));

const fields = fc.constantFrom(
  'host',
  'binary',
  'forced_down',
  'disabled_reason',
  'status',
  '__proto__',
  'x',
);
const value = fc.oneof(
  word('h1', 'h2', 'nova-compute', 'nova-conductor', 'compute', 'enabled', 'disabled', 'yes', 'Off'),
  fc.boolean(),
  fc.jsonValue({ maxDepth: 2 }),
);
const object = fc.array(fc.tuple(fields, value), { maxLength: 5 }).map((pairs) => {
  // By text: a member named __proto__ is one there.
  return `{${pairs.map(([name, member]) => `${JSON.stringify(name)}: ${JSON.stringify(member)}`).join(',')}}`;
});
const likely = fc
  .record({
    host: fc.constantFrom('h1', 'h2'),
    binary: fc.constantFrom('nova-compute', 'nova-conductor'),
    forced_down: value,
  })
  .map((body) => JSON.stringify(body));

function requestsTo(ids: readonly string[]): fc.Arbitrary<Hostile> {
  const id = word('force-down', 'enable', 'disable', 'disable-log-reason', '1', '2', ...ids, ...UUIDS);
  const path = fc.oneof(
    id.map((one) => `/v2.1/os-services/${one}`),
    fc.tuple(word('p1'), id).map(([project, one]) => `/v2.1/${project}/os-services/${one}`),
    fc.constantFrom('/v2.1/os-services', '/v2.1', '/', '/openapi.json', '*', '/v2.1//os-services'),
    fc.string({ maxLength: 30 }).map((text) => `/${text}`),
  );
  const version = fc.oneof(
    fc.constantFrom('2.1', '2.11', '2.53', '2.69', '2.75', 'latest', '2.97', '9.9', 'x'),
    fc.stringMatching(/^[ -~]{0,12}$/),
  );
  const headers = fc
    .record({
      version,
      ours: fc.constantFrom('', ', ebbgate 1.1', ', ebbgate 9'),
      type: fc.constantFrom('application/json', 'text/plain', 'x'),
    })
    .map(({ version: asked, ours, type }) => ({
      'openstack-api-version': `compute ${asked}${ours}`,
      'content-type': type,
    }));
  const query = fc.oneof(
    fc.constant(''),
    fc
      .tuple(word('host', 'binary', 'x'), word('h1', 'nova-compute'))
      .map(([name, of]) => `?${encode(name)}=${encode(of)}`),
    fc.constantFrom('?%', '?host=%ff', '?host&host&host[a]=1', '?&&=&'),
  );
  const body = fc.option(fc.oneof(object, likely, fc.string({ maxLength: 40 })), { nil: undefined });
  return fc.record({ method: fc.constantFrom(...METHODS), path: path.map(pathOf), query, headers, body });
}

/** As a client would put it on the wire, where that is possible. */
function encode(text: string): string {
  try {
    return encodeURIComponent(text);
  } catch {
    return '%ed%a0%80'; // half of a pair
  }
}

function pathOf(text: string): string {
  return text
    .split('/')
    .map((part) => (/^%\w\w$/.test(part) ? part : encode(part)))
    .join('/');
}

async function stateOf({ records }: HttpBed): Promise<string> {
  return JSON.stringify(await records.services.find({}));
}

async function asked(bed: HttpBed, { method, path, query, headers, body }: Hostile): Promise<void> {
  const before = await stateOf(bed);
  const answer = await bed.send(method, `${path}${query}`, { headers, body });
  expect(answer.status).to.be.within(200, 499);
  if (answer.status >= 400) {
    expect(await stateOf(bed)).to.equal(before);
    const [fault] = Object.values(answer.body) as readonly { code: number; message: string }[];
    expect(fault?.code).to.equal(answer.status);
    expect(fault?.message)
      .to.be.a('string')
      .and.not.match(/ at .*\.js/);
  } else if ('services' in answer.body) {
    expect(LIST_ANSWER.safeParse(answer.body).error).to.equal(undefined);
  } else if ('service' in answer.body) {
    expect(UPDATE_ANSWER.safeParse(answer.body).error).to.equal(undefined);
  } else if (method !== 'GET') {
    expect([method, answer.status]).to.deep.equal(['DELETE', 204]);
  }
}

describe('compute: contract of the HTTP API', () => {
  it('never answers 500 to random and hostile requests, and changes nothing on an error (HTTP-03, SEC-06)', () =>
    withHttp(
      async (bed) => {
        const ids = [
          await bed.service('h1'),
          await bed.service('h2'),
          await bed.service('h2', { binary: 'conductor' }),
        ];
        await fc.assert(
          fc.asyncProperty(requestsTo(ids), (hostile) => asked(bed, hostile)),
          { numRuns: Number(process.env['STRESS'] ?? 1) * 150 },
        );
        expect(({} as Record<string, unknown>)['host']).to.equal(undefined);
      },
      { rateLimit: 0 },
    )).timeout(20_000);
});
