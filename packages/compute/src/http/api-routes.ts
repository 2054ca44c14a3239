import type { RequestContext } from '@ebbgate/core';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import { novaContext } from '../rpc/nova-context.js';
import type { Caller } from './auth.js';
import { badRequest, HttpError } from './http-error.js';
import type { ApiVersion } from './microversion.js';
import { ADMIN_RULE, type Policy } from './policy.js';
import { readInput } from './read-input.js';

/** What is read from a request, from which minor version on; by version, the oldest first. */
export type Versioned<T> = readonly { readonly since: number; readonly schema: z.ZodType<T> }[];

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
}

/** What is asked and answered at a path. Read in this order: query and body, `check`, policy, and only then `handle`. */
export interface Route<Body = undefined, Query = undefined> {
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE';
  /** Under `/v2.1`, with or without a project: `/os-services/{service_id}`. */
  readonly path: string;
  /** For the description. */
  readonly summary: string;
  /** Upstream's name of the rule. */
  readonly policy: string;
  /** The minor version of requests that ask for none; default 1. */
  readonly unasked?: number;
  /** Default: none is read. */
  readonly query?: Versioned<Query>;
  /** Default: none is read. */
  readonly body?: Versioned<Body>;
  /** Further checks of what was sent, before the policy. Throws an HttpError. */
  readonly check?: (input: RouteInput<Body, Query>) => void;
  /** Of the answer. */
  readonly status: number;
  /** What the answer is like, for the description; default: it has no body. */
  readonly answer?: z.ZodType;
  /** Statuses of errors besides those that every route has. */
  readonly errors: readonly number[];
  readonly handle: (input: RouteInput<Body, Query>) => Promise<unknown>;
}

/** A route, whatever it reads: what a description needs to know. */
export type AnyRoute = Pick<
  Route,
  'method' | 'path' | 'summary' | 'policy' | 'unasked' | 'status' | 'answer' | 'errors'
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

const METHODS = ['GET', 'HEAD', 'PUT', 'POST', 'DELETE', 'PATCH', 'OPTIONS'];
const PREFIXES = ['/v2.1', '/v2.1/:project_id'] as const;

/** The paths under `/v2.1`: each is there with and without the id of a project. */
export class ApiRoutes {
  /** All that were added, for the description. */
  readonly all: AnyRoute[] = [];
  readonly #app: FastifyInstance;
  readonly #policy: Policy;

  constructor(app: FastifyInstance, policy: Policy) {
    this.#app = app;
    this.#policy = policy;
  }

  add<Body = undefined, Query = undefined>(route: Route<Body, Query>): void {
    this.all.push(route);
    const path = pattern(route.path);
    for (const prefix of PREFIXES) {
      this.#app.route({
        method: route.method,
        url: `${prefix}${path}`,
        config: { unasked: route.unasked ?? 1 },
        handler: async (request, reply) => {
          const answer = await this.#answer(route, request);
          return reply.code(route.status).send(answer);
        },
      });
    }
  }

  /** Other methods at the paths that there are get 405. To be called once all routes were added. */
  refuseOtherMethods(): void {
    for (const path of new Set(this.all.map((route) => route.path))) {
      const there = this.all.filter((route) => route.path === path).map(({ method }): string => method);
      const allowed = there.includes('GET') ? [...there, 'HEAD'] : there;
      const method = METHODS.filter((one) => !allowed.includes(one));
      const handler = (): never => {
        throw new HttpError(405, 'The method is not allowed here.', { Allow: allowed.join(', ') });
      };
      for (const prefix of PREFIXES) this.#app.route({ method, url: `${prefix}${pattern(path)}`, handler });
    }
  }

  #answer<Body, Query>(route: Route<Body, Query>, request: FastifyRequest): Promise<unknown> {
    const input = this.#inputOf(route, request);
    route.check?.(input);
    this.#policy.enforce(route.policy, input.caller);
    return route.handle(input);
  }

  #inputOf<Body, Query>(route: Route<Body, Query>, request: FastifyRequest): RouteInput<Body, Query> {
    const { api } = request;
    if (!api) throw new TypeError('A request was not let in');
    const params = new Map(Object.entries(request.params as Readonly<Record<string, string>>)); // by fastify
    const { minor } = api.version;
    return {
      ...api,
      query: readInput('query', route.query, minor, request.query),
      body: readInput('body', route.body, minor, request.body),
      param: (name) => params.get(name) ?? '',
      context: this.#contextOf(api, params.get('project_id')),
    };
  }

  /** @throws HttpError 400 when the project in the path is not that of the token, as upstream */
  #contextOf({ id, caller }: ApiRequest, project: string | undefined): RequestContext {
    const { userId, roles } = caller;
    if (project !== undefined && caller.projectId !== null && project !== caller.projectId) {
      throw badRequest("Malformed request URL: URL's project_id doesn't match the project of the token");
    }
    const projectId = caller.projectId ?? project ?? null;
    const isAdmin = this.#policy.allows(ADMIN_RULE, caller);
    return novaContext({ userId, projectId, roles, isAdmin, requestId: id });
  }
}

/** A path as the router has it. */
function pattern(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ':$1');
}
