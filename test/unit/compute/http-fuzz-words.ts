import fc from 'fast-check';
import { z } from 'zod';
import type { HttpBed } from './http-bed.js';

/** A request as nobody should send it, or as somebody might. */
export interface Hostile {
  readonly method: Method;
  readonly path: string;
  readonly query: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

/** A request of the description. */
export interface Operation {
  readonly method: Method;
  /** `/servers/{server_id}`. */
  readonly path: string;
  /** Names of its parameters. */
  readonly query: readonly string[];
  readonly body: JsonSchema | undefined;
  /** What answers are like, by their status; those that are missing have no body. */
  readonly answers: ReadonlyMap<number, z.ZodType>;
  /** Of its answers, good and bad. */
  readonly statuses: readonly number[];
}

const METHODS = ['GET', 'PUT', 'POST', 'DELETE'] as const;
type Method = (typeof METHODS)[number];

/** What is read here of a schema. */
interface JsonSchema {
  readonly anyOf?: readonly JsonSchema[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly type?: string;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly items?: JsonSchema;
}
interface Content {
  readonly content?: { readonly 'application/json': { readonly schema: JsonSchema } };
}
type Described = Readonly<
  Record<
    string,
    {
      readonly parameters: readonly { readonly name?: string; readonly in?: string }[];
      readonly requestBody?: Content;
      readonly responses: Readonly<Record<string, Content>>;
    }
  >
>;

const HOSTILE = [
  ...['', ' ', '0', '-1', '1', '999999999999999', 'null', 'undefined', '__proto__', 'constructor'],
  ...['toString', '../..', '%00', '%ff', '%2e%2e', "' or 1=1 --", '${1}', '\u0000', '\ud800', 'ü'],
  'x'.repeat(300),
];
const UUIDS = ['00000000-0000-4000-8000-000000000000', 'ABCDEF00-0000-4000-8000-00000000000g'];
const WORDS = [
  ...['h1', 'h2', 'nova-compute', 'nova-conductor', 'compute', 'yes', 'Off', 'true', 'vm1', '1:64:1'],
  ...['force-down', 'enable', 'disable', 'disable-log-reason', 'running', 'network-changed', 'uptime'],
];

/** All that the API says that it can be asked. */
export async function operationsOf(bed: HttpBed): Promise<readonly Operation[]> {
  const { body } = await bed.send('GET', '/openapi.json');
  const { paths } = body as unknown as { readonly paths: Readonly<Record<string, Described>> };
  return Object.entries(paths).flatMap(([path, described]) =>
    Object.entries(described).map(([method, { parameters, requestBody, responses }]) => {
      const answers = new Map<number, z.ZodType>();
      for (const [status, content] of Object.entries(responses)) {
        const schema = schemaIn(content);
        if (schema)
          answers.set(Number(status), z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0]));
      }
      return {
        method: method.toUpperCase() as Method,
        path,
        query: parameters.flatMap(({ name, in: where }) => (where === 'query' && name ? [name] : [])),
        body: schemaIn(requestBody),
        statuses: Object.keys(responses).map(Number),
        answers,
      };
    }),
  );
}

function schemaIn(content: Content | undefined): JsonSchema | undefined {
  return content?.content?.['application/json'].schema;
}

/** Requests for these operations, and others; @param ids - of what there is */
export function requestsFor(operations: readonly Operation[], ids: readonly string[]): fc.Arbitrary<Hostile> {
  const word = fc.oneof(
    often(fc.constantFrom(...WORDS, ...ids)),
    fc.constantFrom(...HOSTILE, ...UUIDS),
    fc.string({ maxLength: 20 }),
  );
  const part = fc.oneof(often(fc.constantFrom('1', '2', ...ids)), word);
  const described = fc.constantFrom(...operations).chain((operation) => requestFor(operation, word, part));
  const others = fc.record({
    method: fc.constantFrom(...METHODS),
    path: fc.oneof(
      fc.constantFrom('/v2.1', '/', '/openapi.json', '*', '/v2.1//os-services'),
      fc.string({ maxLength: 30 }).map((text) => pathOf(`/${text}`)),
    ),
    query: fc.constant(''),
    headers,
    body: bodies(word, undefined),
  });
  return fc.oneof(often(described), others);
}

/** What is to come more often than what stands beside it. */
function often<T>(arbitrary: fc.Arbitrary<T>): fc.WeightedArbitrary<T> {
  return { weight: 9, arbitrary };
}

const headers = fc
  .record({
    version: fc.oneof(
      often(fc.constantFrom('2.1', '2.11', '2.23', '2.33', '2.53', '2.59', '2.75', '2.88')),
      often(fc.constant('latest')),
      fc.constantFrom('2.97', '9.9', 'x'),
      fc.stringMatching(/^[ -~]{0,12}$/),
    ),
    ours: fc.oneof(
      often(fc.constantFrom('', ', ebbgate 1.1', ', ebbgate 1.latest')),
      fc.constant(', ebbgate 9'),
    ),
    type: fc.oneof(often(fc.constant('application/json')), fc.constantFrom('text/plain', 'x')),
  })
  .map(({ version, ours, type }) => ({
    'openstack-api-version': `compute ${version}${ours}`,
    'content-type': type,
  }));

function requestFor(
  { method, path, query, body }: Operation,
  word: fc.Arbitrary<string>,
  part: fc.Arbitrary<string>,
): fc.Arbitrary<Hostile> {
  const parts = path.split('/').map((name) => (name.startsWith('{') ? part : fc.constant(name)));
  return fc.record({
    method: fc.oneof(often(fc.constant(method)), fc.constantFrom(...METHODS)),
    path: fc
      .tuple(fc.constantFrom('/v2.1', '/v2.1/p1', '/v2.1/__proto__', '/v2.1/%00'), fc.tuple(...parts))
      .map(([prefix, filled]) => pathOf(`${prefix}${filled.join('/')}`)),
    query: fc.oneof(
      often(fc.constant('')),
      often(queryOf(query, word)),
      fc.constantFrom('?%', '?host=%ff', '?host&host&host[a]=1', '?&&=&'),
    ),
    headers,
    body: bodies(word, body),
  });
}

function queryOf(names: readonly string[], word: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const name = fc.oneof(often(fc.constantFrom('x', ...names)), word);
  const pairs = fc.array(fc.tuple(name, word), { maxLength: 3 });
  return pairs.map((all) => `?${all.map((pair) => pair.map(encode).join('=')).join('&')}`);
}

function bodies(
  word: fc.Arbitrary<string>,
  schema: JsonSchema | undefined,
): fc.Arbitrary<string | undefined> {
  const value = fc.oneof(word, fc.boolean(), fc.jsonValue({ maxDepth: 2 }));
  const object = fc.array(fc.tuple(word, value), { maxLength: 5 }).map((pairs) => {
    // By text: a member named __proto__ is one there.
    return `{${pairs.map(([name, member]) => `${JSON.stringify(name)}: ${JSON.stringify(member)}`).join(',')}}`;
  });
  const others = fc.oneof(fc.constant(undefined), object, fc.string({ maxLength: 40 }));
  const likely = schema ? valueOf(schema, word).map((body) => JSON.stringify(body)) : fc.constant(undefined);
  return fc.oneof(often(likely), others);
}

/** A value that fits the kinds of a schema, and not always its limits. */
function valueOf(schema: JsonSchema, word: fc.Arbitrary<string>): fc.Arbitrary<unknown> {
  const { anyOf, enum: some, type, properties = {}, required = [], items } = schema;
  if (anyOf) return fc.oneof(...anyOf.map((one) => valueOf(one, word)));
  if ('const' in schema) return fc.constant(schema.const);
  if (some) return fc.constantFrom(...some);
  if (type === 'string') return word;
  if (type === 'boolean') return fc.boolean();
  if (type === 'null') return fc.constant(null);
  if (type === 'integer' || type === 'number') return fc.integer({ min: -1, max: 9 });
  if (type === 'array') return fc.array(valueOf(items ?? {}, word), { maxLength: 3 });
  if (type !== 'object') return fc.jsonValue({ maxDepth: 1 });
  const members = Object.entries(properties).map(([name, one]) => [name, valueOf(one, word)] as const);
  return fc.record(Object.fromEntries(members), { requiredKeys: [...required] });
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
