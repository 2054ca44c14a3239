import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { type AnyRoute, type ApiRoutes, PARTIAL, type Versioned } from './api-routes.js';
import { NEWEST_MINOR } from './microversion.js';

type Json = Readonly<Record<string, unknown>>;

const ALWAYS: ReadonlyMap<number, string> = new Map([
  [400, 'The request is none; the message names the field'],
  [401, 'No valid token'],
  [403, 'The policy does not allow it'],
  [406, 'A version that is not understood'],
  [413, 'The body is too large'],
  [414, 'The path is too long'],
  [415, 'The body is not application/json'],
  [429, 'Too many requests'],
  [503, 'The records cannot be reached now, or the API is shutting down'],
]);
const OTHERS: ReadonlyMap<number, string> = new Map([
  [404, 'There is no such thing'],
  [409, 'Not now, as things are'],
]);

const HEADERS: Json = {
  version: {
    name: 'OpenStack-API-Version',
    in: 'header',
    schema: { type: 'string' },
    description: '`compute 2.N` or `compute latest`; beside it `ebbgate 1.N` for what is ours',
  },
  novaVersion: {
    name: 'X-OpenStack-Nova-API-Version',
    in: 'header',
    schema: { type: 'string' },
    description: '`2.N` or `latest`; the other header goes before it',
  },
};
/** Of an error: one member, named by its kind. Of 401, `error`. */
const FAULT: Json = {
  type: 'object',
  additionalProperties: {
    type: 'object',
    properties: { code: { type: 'integer' }, message: { type: 'string' } },
    required: ['code', 'message'],
  },
};

/** Serves the description at `/openapi.json`, open to everybody. */
export function registerOpenApi(app: FastifyInstance, routes: ApiRoutes): void {
  let document: Json | undefined;
  app.get('/openapi.json', { config: { isPublic: true } }, () => (document ??= openApiOf(routes.all)));
}

/** The description of all routes, from the schemas by which they read. */
function openApiOf(routes: readonly AnyRoute[]): Json {
  const paths = new Map<string, Map<string, Json>>();
  for (const route of routes) {
    const operations = paths.get(route.path) ?? new Map<string, Json>();
    const method = route.method.toLowerCase();
    if (operations.has(method)) continue; // all actions of a path are described together
    const actions = routes.filter(({ path, action }) => path === route.path && action !== undefined);
    const operation = route.action === undefined ? operationOf(route) : actionsOf(actions);
    paths.set(route.path, operations.set(method, operation));
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Ebbgate compute API',
      version: `2.${NEWEST_MINOR}`,
      description:
        'After OpenStack Compute. Every path is also there under /v2.1/{project_id}. Schemas that differ between versions are in the order of the versions, each with its first.',
    },
    servers: [{ url: '/v2.1' }],
    paths: Object.fromEntries([...paths].map(([path, of]) => [path, Object.fromEntries(of)])),
    components: {
      securitySchemes: { token: { type: 'apiKey', in: 'header', name: 'X-Auth-Token' } },
      parameters: HEADERS,
      responses: Object.fromEntries([...ALWAYS, ...OTHERS].map(responseOf)),
    },
    security: [{ token: [] }],
  };
}

function operationOf(route: AnyRoute): Json {
  const { summary, policy, unasked = 1, since = 1, until = NEWEST_MINOR, body } = route;
  const ours = route.ebbgate === undefined ? '' : ` Only with ebbgate 1.${route.ebbgate}.`;
  return {
    summary,
    description: `Policy ${policy}. Versions 2.${since} to 2.${until}. A request that asks for no version is answered as at 2.${unasked}.${ours}`,
    parameters: [
      ...Object.keys(HEADERS).map((name) => refTo('parameters', name)),
      ...pathParameters(route.path),
      ...queryParameters(route.query),
    ],
    ...(body && {
      requestBody: { required: true, content: { 'application/json': { schema: byVersion(body) } } },
    }),
    responses: responsesOf([route]),
  };
}

/** All that can be asked for at one path, by the one member of the body. */
function actionsOf(routes: readonly AnyRoute[]): Json {
  const operations = routes.map((route) => ({ route, operation: operationOf(route) }));
  return {
    summary: `What the one member of the body names: ${routes.map(({ action }) => action).join(', ')}`,
    parameters: operations[0]?.operation['parameters'],
    requestBody: {
      required: true,
      content: { 'application/json': { schema: { anyOf: operations.map(actionOf) } } },
    },
    responses: responsesOf(routes),
  };
}

interface Operation {
  readonly route: AnyRoute;
  readonly operation: Json;
}

function actionOf({ route: { action = '', body, summary }, operation }: Operation): Json {
  return {
    type: 'object',
    description: `${summary}. ${String(operation['description'])}`,
    properties: { [action]: body ? byVersion(body) : {} },
    required: [action],
    additionalProperties: false,
  };
}

function responsesOf(routes: readonly AnyRoute[]): Json {
  const partial = routes.filter(({ isPartial }) => isPartial);
  const errors = new Set([...ALWAYS.keys(), ...routes.flatMap((route) => route.errors)]);
  return {
    ...Object.fromEntries(
      routes.map(({ status }) => [status, doneOf(routes.filter((one) => one.status === status))]),
    ),
    ...(partial.length > 0 && { [PARTIAL]: { ...doneOf(partial), description: 'Done in part' } }),
    ...Object.fromEntries([...errors].map((code) => [code, refTo('responses', `fault${code}`)])),
  };
}

function doneOf(routes: readonly AnyRoute[]): Json {
  const schemas = routes.flatMap(({ answer }) => (answer ? [schemaOf(answer, 'output')] : []));
  const schema = schemas.length > 1 ? { anyOf: schemas } : schemas[0];
  return { description: 'Done', ...(schema && { content: { 'application/json': { schema } } }) };
}

function pathParameters(path: string): readonly Json[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));
}

function queryParameters(query: Versioned<unknown> | undefined): readonly Json[] {
  const newest = query?.at(-1)?.schema;
  const properties = newest ? schemaOf(newest, 'input')['properties'] : {};
  return Object.entries(properties ?? {}).map(([name, schema]) => ({
    name,
    in: 'query',
    schema: schema as Json,
  }));
}

function byVersion(versions: Versioned<unknown>): Json {
  return {
    anyOf: versions.map(({ since, ebbgate, schema }) => ({
      description: `From 2.${since}${ebbgate === undefined ? '' : `, ebbgate 1.${ebbgate}`}`,
      ...schemaOf(schema, 'input'),
    })),
  };
}

/** What has a format needs no pattern besides. */
function withoutPattern({ jsonSchema }: { readonly jsonSchema: z.core.JSONSchema.BaseSchema }): void {
  if (jsonSchema.format !== undefined) delete jsonSchema.pattern;
}

function schemaOf(schema: z.ZodType, io: 'input' | 'output'): Json {
  return Object.fromEntries(
    Object.entries(z.toJSONSchema(schema, { io, override: withoutPattern })).filter(
      ([name]) => name !== '$schema',
    ),
  );
}

function responseOf([code, description]: readonly [number, string]): readonly [string, Json] {
  return [`fault${code}`, { description, content: { 'application/json': { schema: FAULT } } }];
}

function refTo(kind: string, name: string): Json {
  return { $ref: `#/components/${kind}/${name}` };
}
