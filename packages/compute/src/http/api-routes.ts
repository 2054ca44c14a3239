import type { RequestContext } from '@ebbgate/core';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import { novaContext } from '../rpc/nova-context.js';
import type { Caller } from './auth.js';
import { type AnswerHeaders, badRequest, HttpError, notFound } from './http-error.js';
import { sendJson } from './json-answer.js';
import { Links } from './links.js';
import { type ApiVersion, NEWEST_MINOR } from './microversion.js';
import { ADMIN_RULE, type Policy } from './policy.js';
import { readInput, shown } from './read-input.js';
import { nameText } from './server-schemas.js';

/** What is read from a request, from which minor version on, and of ours; by version, the oldest first. */
export type Versioned<T> = readonly {
  readonly since: number;
  /** N of `ebbgate 1.N`; default: all requests. */
  readonly ebbgate?: number;
  readonly schema: z.ZodType<T>;
}[];

/** A request that has been let in. */
export interface ApiRequest {
  /** `req-` and a uuid. */
  readonly id: string;
  readonly caller: Caller;
  readonly version: ApiVersion;
}

/** A request that has been read. */
export interface RouteInput<Body, Query> extends ApiRequest {
  readonly body: Body;
  readonly query: Query;
  /** A part of the path. */
  readonly param: (name: string) => string;
  /** For what the request makes others do. */
  readonly context: RequestContext;
  /** Where clients reach this API: what links begin with. */
  readonly links: Links;
  /** Gives the answer these headers: once all has gone well. */
  readonly addHeaders: (headers: AnswerHeaders) => void;
}

/** What is asked and answered at a path. Read in this order: query and body, `check`, policy, and only then `handle`. */
export interface Route<Body = undefined, Query = undefined> {
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE';
  /** Under `/v2.1`, with or without a project: `/os-services/{service_id}`. */
  readonly path: string;
  /**
   * The one member that the body must have for this to be meant, for paths at which several things can be asked for; `body`
   * reads what that member is. Default: the path has but one.
   */
  readonly action?: string;
  /** For the description. */
  readonly summary: string;
  /** Upstream's name of the rule. */
  readonly policy: string;
  /** The minor version of requests that ask for none; default 1. */
  readonly unasked?: number;
  /** The first minor version that has it; default 1. */
  readonly since?: number;
  /** The last minor version that has it; default: the newest. */
  readonly until?: number;
  /** N of the first `ebbgate 1.N` that has it; default: all requests have it. */
  readonly ebbgate?: number;
  /** Default: none is read. */
  readonly query?: Versioned<Query>;
  /** Default: none is read. */
  readonly body?: Versioned<Body>;
  /** Further checks of what was sent, before the policy. Throws an HttpError. */
  readonly check?: (input: RouteInput<Body, Query>) => void;
  /** Of the answer. */
  readonly status: number;
  /** Is it the answer of a request that was done in part? Then its status is 207. Default: none is. */
  readonly isPartial?: (answer: unknown) => boolean;
  /** What the answer is like, for the description; default: it has no body. */
  readonly answer?: z.ZodType;
  /** Statuses of errors besides those that every route has. */
  readonly errors: readonly number[];
  readonly handle: (input: RouteInput<Body, Query>) => Promise<unknown>;
}

/** A route, whatever it reads: what a description needs to know. */
export type AnyRoute = Pick<
  Route,
  | 'method'
  | 'path'
  | 'action'
  | 'summary'
  | 'policy'
  | 'unasked'
  | 'since'
  | 'until'
  | 'ebbgate'
  | 'status'
  | 'isPartial'
  | 'answer'
  | 'errors'
> & { readonly query?: Versioned<unknown>; readonly body?: Versioned<unknown> };

declare module 'fastify' {
  interface FastifyRequest {
    /** Set when the request was let in. */
    api: ApiRequest | null;
  }
  interface FastifyContextConfig {
    /** Minor version of requests that ask for none. */
    unasked?: number;
    /** Needs no token. */
    isPublic?: boolean;
  }
}

type Handle = (request: FastifyRequest, reply: FastifyReply, body: unknown) => Promise<unknown>;

/** Status of what was done in part. */
export const PARTIAL = 207;
const METHODS = ['GET', 'HEAD', 'PUT', 'POST', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE'];
const PREFIXES = ['/v2.1', '/v2.1/:project_id'] as const;

/** The paths under `/v2.1`: each is there with and without the id of a project. */
export class ApiRoutes {
  /** All that were added, for the description. */
  readonly all: AnyRoute[] = [];
  readonly #app: FastifyInstance;
  readonly #policy: Policy;
  /** By path, then by the member of the body. */
  readonly #actions = new Map<string, Map<string, Handle>>();

  constructor(app: FastifyInstance, policy: Policy) {
    this.#app = app;
    this.#policy = policy;
  }

  add<Body = undefined, Query = undefined>(route: Route<Body, Query>): void {
    this.all.push(route);
    const handle: Handle = (request, reply, body) => this.#handle(route, request, reply, body);
    if (route.action === undefined) {
      this.#listen(route, (request, reply) => handle(request, reply, request.body));
      return;
    }
    const present = this.#actions.get(route.path);
    const actions = present ?? new Map<string, Handle>();
    actions.set(route.action, handle);
    if (present) return;
    this.#actions.set(route.path, actions);
    this.#listen(route, (request, reply) => {
      const { name, value } = onlyMember(request.body);
      const action = actions.get(name);
      if (!action) throw badRequest(`There is no such action: ${shown(name)}`);
      return action(request, reply, value);
    });
  }

  #listen(
    { method, path, unasked = 1 }: Pick<Route, 'method' | 'path' | 'unasked'>,
    handler: (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>,
  ): void {
    for (const prefix of PREFIXES)
      this.#app.route({ method, url: `${prefix}${pattern(path)}`, config: { unasked }, handler });
  }

  /** Other methods at the paths that there are get 405. To be called once all routes were added. */
  refuseOtherMethods(): void {
    for (const path of new Set(this.all.map((route) => route.path))) {
      const routes = this.all.filter((route) => route.path === path);
      const there = [...new Set(routes.map(({ method }): string => method))];
      const allowed = there.includes('GET') ? [...there, 'HEAD'] : there;
      const method = METHODS.filter((one) => !allowed.includes(one));
      const handler = (): never => {
        throw new HttpError(405, 'The method is not allowed here.', { Allow: allowed.join(', ') });
      };
      for (const prefix of PREFIXES) this.#app.route({ method, url: `${prefix}${pattern(path)}`, handler });
    }
  }

  async #handle<Body, Query>(
    route: Route<Body, Query>,
    request: FastifyRequest,
    reply: FastifyReply,
    body: unknown,
  ): Promise<unknown> {
    const input = this.#inputOf(route, request, reply, body);
    route.check?.(input);
    this.#policy.enforce(route.policy, input.caller);
    const answer = await route.handle(input);
    void reply.code(route.isPartial?.(answer) === true ? PARTIAL : route.status);
    return route.answer ? sendJson(reply, answer) : reply.send();
  }

  #inputOf<Body, Query>(
    route: Route<Body, Query>,
    request: FastifyRequest,
    reply: FastifyReply,
    body: unknown,
  ): RouteInput<Body, Query> {
    const { api } = request;
    if (!api) throw new TypeError('A request was not let in');
    const params = new Map(Object.entries(request.params as Readonly<Record<string, string>>)); // by fastify
    const { version } = api;
    checkRange(route, version);
    return {
      ...api,
      links: new Links(request, params.get('project_id')),
      query: readInput('query', route.query, version, request.query),
      body: readInput('body', route.body, version, body),
      param: (name) => params.get(name) ?? '',
      context: this.#contextOf(api, params.get('project_id')),
      addHeaders: (headers) => {
        reply.headers(headers);
      },
    };
  }

  /** @throws HttpError 400 when the project in the path is no name, or not that of the token, as upstream */
  #contextOf({ id, caller }: ApiRequest, project: string | undefined): RequestContext {
    const { userId, roles } = caller;
    if (project !== undefined && !nameText.safeParse(project).success)
      throw badRequest('Malformed request URL: its project is no name');
    if (project !== undefined && caller.projectId !== null && project !== caller.projectId) {
      throw badRequest("Malformed request URL: URL's project_id doesn't match the project of the token");
    }
    const projectId = caller.projectId ?? project ?? null;
    const isAdmin = this.#policy.allows(ADMIN_RULE, caller);
    return novaContext({ userId, projectId, roles, isAdmin, requestId: id });
  }
}

/** @throws HttpError 400 when it has none, or several */
function onlyMember(body: unknown): { readonly name: string; readonly value: unknown } {
  const members =
    typeof body === 'object' && body !== null && !Array.isArray(body) ? Object.entries(body) : [];
  const [only, ...more] = members;
  if (!only || more.length > 0)
    throw badRequest('Malformed request body: it must have one member, the action');
  return { name: only[0], value: only[1] as unknown };
}

/** @throws HttpError 404 when this version has no such request */
function checkRange(
  { since = 1, until = NEWEST_MINOR, ebbgate = 0 }: Pick<Route, 'since' | 'until' | 'ebbgate'>,
  version: ApiVersion,
): void {
  if (version.minor < since || version.minor > until)
    throw notFound(`API version 2.${version.minor} is not supported on this method.`);
  if (version.ebbgate < ebbgate) throw notFound('The resource could not be found.');
}

/** A path as the router has it. */
function pattern(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ':$1');
}
