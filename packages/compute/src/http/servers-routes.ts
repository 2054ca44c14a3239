import type { CallerContext } from '@ebbgate/rpc';
import { bootRequest } from '../api/boot-request.js';
import type { ServerApi } from '../api/server-api.js';
import type { BootRequest } from '../api/servers.js';
import { deletedNow } from '../objects/deleted.js';
import type { Instance } from '../objects/instance.js';
import { allRecords } from './all-cells.js';
import type { ApiRoutes, RouteInput } from './api-routes.js';
import type { HttpParts } from './app.js';
import { badRequest } from './http-error.js';
import { freshPassword, isAt, newInstance, type Place, placeOf } from './new-server.js';
import { pageOf } from './paging.js';
import { CREATE_ANSWER, SERVER_ANSWER, SERVERS_ANSWER, SERVERS_DETAIL_ANSWER } from './server-answers.js';
import { conflictOf, refuseLocked } from './server-conflicts.js';
import { projectOf, ServerDirectory } from './server-directory.js';
import { isTrue, listServers } from './server-list.js';
import { SERVER_QUERIES, type ServerQuery } from './server-query.js';
import {
  CREATE_BODIES,
  type CreateBody,
  UPDATE_SERVER_BODIES,
  type UpdateServerBody,
} from './server-schemas.js';
import { ServerSight } from './server-sight.js';
import { briefView, changedView, pageView, wholeView } from './server-view.js';

type Input<Body = undefined, Query = undefined> = RouteInput<Body, Query>;

const POLICY = 'os_compute_api:servers';
const ONE = '/servers/{server_id}';

/** `servers`: what is there, and its making, naming and deleting. */
export function registerServers(routes: ApiRoutes, parts: HttpParts): void {
  const servers = new ServersRoutes(parts);
  const list = { method: 'GET', query: SERVER_QUERIES, status: 200, errors: [] } as const;
  routes.add<undefined, ServerQuery>({
    ...list,
    path: '/servers',
    summary: 'Lists servers in brief',
    policy: `${POLICY}:index`,
    answer: SERVERS_ANSWER,
    handle: (input) => servers.list(input, 'index'),
  });
  routes.add<undefined, ServerQuery>({
    ...list,
    path: '/servers/detail',
    summary: 'Lists servers',
    policy: `${POLICY}:detail`,
    answer: SERVERS_DETAIL_ANSWER,
    handle: (input) => servers.list(input, 'detail'),
  });
  routes.add<CreateBody>({
    method: 'POST',
    path: '/servers',
    summary: 'Makes a server',
    policy: `${POLICY}:create`,
    body: CREATE_BODIES,
    status: 202,
    answer: CREATE_ANSWER,
    errors: [],
    handle: (input) => servers.create(input),
  });
  registerOne(routes, servers);
}

function registerOne(routes: ApiRoutes, servers: ServersRoutes): void {
  routes.add({
    method: 'GET',
    path: ONE,
    summary: 'Shows a server',
    policy: `${POLICY}:show`,
    status: 200,
    answer: SERVER_ANSWER,
    errors: [404],
    handle: (input) => servers.show(input),
  });
  routes.add<UpdateServerBody>({
    method: 'PUT',
    path: ONE,
    summary: 'Gives a server another name, description or hostname',
    policy: `${POLICY}:update`,
    body: UPDATE_SERVER_BODIES,
    status: 200,
    answer: SERVER_ANSWER,
    errors: [404],
    handle: (input) => servers.update(input),
  });
  routes.add({
    method: 'DELETE',
    path: ONE,
    summary: 'Deletes a server, whatever is done to it; at once when its host is down',
    policy: `${POLICY}:delete`,
    status: 204,
    errors: [404, 409],
    handle: (input) => servers.delete(input),
  });
}

class ServersRoutes {
  readonly #parts: HttpParts;
  readonly #directory: ServerDirectory;
  readonly #sight: ServerSight;

  constructor(parts: HttpParts) {
    this.#parts = parts;
    this.#directory = new ServerDirectory(parts);
    this.#sight = new ServerSight(parts);
  }

  async list(input: Input<undefined, ServerQuery>, what: 'index' | 'detail'): Promise<unknown> {
    const { query, version, links } = input;
    const records = await allRecords(this.#parts);
    const scope = { isAdmin: this.#directory.isAdmin(input), project: this.#projectOf(input, what) };
    const found = await listServers(records, query, scope, version.minor);
    const path = what === 'index' ? '/servers' : '/servers/detail';
    const page = pageOf(found, query, { links, path, idOf: (one) => one.get('uuid') });
    const next = page.links.length > 0 && { servers_links: page.links };
    if (what === 'index') return { servers: page.items.map((one) => briefView(one, input)), ...next };
    const look = await this.#sight.ofAll(input, records);
    return { servers: page.items.map((one) => wholeView(one, look)), ...next };
  }

  /** Null: the servers of all projects. @throws HttpError 400, 403 */
  #projectOf(input: Input<undefined, ServerQuery>, what: string): string | null {
    const { all_tenants: all } = input.query;
    if (all === undefined || !isTrue(all)) {
      const whenNone = this.#directory.isAdmin(input) ? null : ''; // who is in no project has no servers
      return projectOf(input) ?? whenNone;
    }
    this.#parts.policy.enforce(`${POLICY}:${what}:get_all_tenants`, input.caller);
    return null;
  }

  async create(input: Input<CreateBody>): Promise<unknown> {
    const { body, context, links, addHeaders } = input;
    const place = placeOf(body.server);
    this.#enforcePlace(input, place);
    const adminPassword = body.server.adminPass ?? freshPassword();
    const wanted = newInstance(body, input, { place, adminPassword });
    const api = await this.#directory.where(isAt(place));
    await checkPlace(api, place);
    const instance = await boot(api, context, bootRequest(wanted));
    const { links: own, id } = briefView(instance, { links });
    addHeaders({ Location: links.self(`/servers/${String(id)}`).href });
    const security_groups = body.server.security_groups ?? [{ name: 'default' }];
    return {
      server: { id, links: own, 'OS-DCF:diskConfig': 'MANUAL', security_groups, adminPass: adminPassword },
    };
  }

  #enforcePlace({ caller }: Pick<Input, 'caller'>, { forced, wanted }: Place): void {
    if (forced !== null) this.#parts.policy.enforce(`${POLICY}:create:forced_host`, caller);
    if (wanted !== null) this.#parts.policy.enforce('compute:servers:create:requested_destination', caller);
  }

  async show(input: Input): Promise<unknown> {
    const { instance, api } = await this.#find(input);
    return { server: pageView(instance, await this.#sight.of(input, api.parts.records, instance)) };
  }

  async update(input: Input<UpdateServerBody>): Promise<unknown> {
    const { instance, api } = await this.#find(input);
    const { name, description, hostname } = input.body.server;
    const changes = {
      ...(name !== undefined && { display_name: name }),
      ...(description !== undefined && { display_description: description }),
      ...(hostname !== undefined && { hostname }),
    };
    const { records } = api.parts;
    const isChange = Object.keys(changes).length > 0;
    const changed = isChange ? await records.instances.update(instance.get('uuid'), changes) : instance;
    return { server: changedView(changed, await this.#sight.of(input, records, changed)) };
  }

  async delete(input: Input): Promise<void> {
    const { instance, api } = await this.#find(input);
    refuseLocked(instance, this.#directory.isAdmin(input));
    const deleting = api.actions.delete(input.context, instance.get('uuid'));
    await deleting.catch(conflictOf('delete', instance));
  }

  #find(input: Input<unknown>): Promise<{ readonly instance: Instance; readonly api: ServerApi }> {
    return this.#directory.find(input, input.param('server_id'));
  }
}

/** One that could not be sent is forgotten: whoever asked has not even its id. */
async function boot(
  { servers, parts }: ServerApi,
  context: CallerContext,
  request: BootRequest,
): Promise<Instance> {
  try {
    return await servers.boot(context, request);
  } catch (error) {
    const unsent = { vm_state: ['error'], host: [null] } as const;
    const uuid = request.instance.get('uuid');
    await parts.records.instances.update(uuid, deletedNow(), unsent).catch(() => undefined);
    throw error;
  }
}

/** @throws HttpError 400 when there is no such host, or no host in that zone */
async function checkPlace({ parts }: ServerApi, place: Place): Promise<void> {
  const { zone, forced, wanted } = place;
  const named = forced ?? wanted;
  if (zone === null && named === null) return;
  const hosts = await parts.records.services.list('compute');
  if (named !== null && !hosts.some(({ host }) => host === named))
    throw badRequest(`Compute host ${named} could not be found.`);
  if (zone !== null && !hosts.some(isAt({ ...place, forced: null, wanted: null })))
    throw badRequest('The requested availability zone is not available');
}
