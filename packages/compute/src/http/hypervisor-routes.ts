import type { ApiRoutes, RouteInput } from './api-routes.js';
import type { HttpParts } from './app.js';
import { badRequest, notFound } from './http-error.js';
import {
  HYPERVISOR_ANSWER,
  HYPERVISOR_QUERIES,
  HYPERVISOR_SHOW_QUERIES,
  type HypervisorQuery,
  HYPERVISORS_ANSWER,
  HYPERVISORS_DETAIL_ANSWER,
  STATISTICS_ANSWER,
  UPTIME_ANSWER,
} from './hypervisor-schemas.js';
import {
  briefHypervisor,
  hypervisorDetails,
  NO_SIZES_MINOR,
  statisticsOf,
  uptimeOf,
} from './hypervisor-view.js';
import { type Hypervisor, hypervisorsOf } from './hypervisors.js';
import { type Page, pageOf } from './paging.js';
import { isUuid } from './read-input.js';
import { shownId, UUID_MINOR } from './service-view.js';

type ListInput = RouteInput<undefined, HypervisorQuery>;
type PathInput = Pick<RouteInput<undefined, undefined>, 'param' | 'version'>;

const POLICY = 'os_compute_api:os-hypervisors';
const PAGING_MINOR = 33;
const BEFORE_UUIDS = UUID_MINOR - 1;
const WITH_SIZES = NO_SIZES_MINOR - 1;

const GET = { method: 'GET', status: 200, errors: [404] } as const;

/** `os-hypervisors`: the hosts that have told what they have, and who is up. */
export function registerHypervisors(routes: ApiRoutes, parts: HttpParts): void {
  const hypervisors = new HypervisorRoutes(parts);
  addLists(routes, hypervisors);
  addSingles(routes, hypervisors);
  for (const last of ['search', 'servers'] as const) {
    routes.add({
      ...GET,
      path: `/os-hypervisors/{hypervisor_id}/${last}`,
      summary: `Lists the hypervisors with this in their names${last === 'servers' ? ', and their servers' : ''}`,
      policy: `${POLICY}:${last}`,
      until: BEFORE_UUIDS,
      answer: HYPERVISORS_ANSWER,
      handle: (input) => hypervisors.search(input, last === 'servers'),
    });
  }
}

function addLists(routes: ApiRoutes, hypervisors: HypervisorRoutes): void {
  routes.add<undefined, HypervisorQuery>({
    ...GET,
    path: '/os-hypervisors',
    summary: 'Lists the hypervisors',
    policy: `${POLICY}:list`,
    query: HYPERVISOR_QUERIES,
    check: checkPattern,
    answer: HYPERVISORS_ANSWER,
    handle: (input) => hypervisors.list(input, '/os-hypervisors', false),
  });
  routes.add<undefined, HypervisorQuery>({
    ...GET,
    path: '/os-hypervisors/detail',
    summary: 'Lists the hypervisors with what they have, before 2.88, or how long they have run',
    policy: `${POLICY}:list-detail`,
    query: HYPERVISOR_QUERIES,
    check: checkPattern,
    answer: HYPERVISORS_DETAIL_ANSWER,
    handle: (input) => hypervisors.list(input, '/os-hypervisors/detail', true),
  });
  routes.add({
    ...GET,
    path: '/os-hypervisors/statistics',
    summary: 'Shows what all enabled hypervisors together have',
    policy: `${POLICY}:statistics`,
    until: WITH_SIZES,
    answer: STATISTICS_ANSWER,
    handle: () => hypervisors.statistics(),
  });
}

function addSingles(routes: ApiRoutes, hypervisors: HypervisorRoutes): void {
  routes.add<undefined, HypervisorQuery>({
    ...GET,
    path: '/os-hypervisors/{hypervisor_id}',
    summary: 'Shows a hypervisor; by uuid from 2.53, by number before',
    policy: `${POLICY}:show`,
    query: HYPERVISOR_SHOW_QUERIES,
    check: checkId,
    answer: HYPERVISOR_ANSWER,
    handle: (input) => hypervisors.show(input),
  });
  routes.add({
    ...GET,
    path: '/os-hypervisors/{hypervisor_id}/uptime',
    summary: 'Shows how long a hypervisor has run',
    policy: `${POLICY}:uptime`,
    until: WITH_SIZES,
    check: checkId,
    answer: UPTIME_ANSWER,
    handle: (input) => hypervisors.uptime(input),
  });
}

/** @throws HttpError 400 */
function checkPattern({ query }: ListInput): void {
  const { hypervisor_hostname_pattern: pattern, limit, marker } = query;
  if (pattern === undefined || (limit === undefined && !marker)) return;
  throw badRequest(
    'Paging over hypervisors with the hypervisor_hostname_pattern query parameter is not supported.',
  );
}

/** @throws HttpError 400 for what is no uuid, 404 for what is no number */
function checkId({ param, version }: PathInput): void {
  const id = param('hypervisor_id');
  if (version.minor >= UUID_MINOR) {
    if (!isUuid(id)) throw badRequest('Invalid uuid in the path');
  } else if (!/^\d{1,15}$/.test(id)) throw missing(id);
}

function missing(id: string): Error {
  return notFound(`Hypervisor with ID '${id}' could not be found.`);
}

class HypervisorRoutes {
  readonly #parts: HttpParts;

  constructor(parts: HttpParts) {
    this.#parts = parts;
  }

  async list(input: ListInput, path: string, isDetail: boolean): Promise<unknown> {
    const withInstances = needsInstances(input, isDetail);
    const page = pageFor(await hypervisorsOf(this.#parts, { withInstances }), input, path);
    const hypervisors = await Promise.all(page.items.map((one) => this.#view(one, input, isDetail)));
    return { hypervisors, ...(page.links.length > 0 && { hypervisors_links: page.links }) };
  }

  async show(input: ListInput): Promise<unknown> {
    return {
      hypervisor: await this.#view(await this.#find(input, needsInstances(input, true)), input, true),
    };
  }

  async uptime(input: RouteInput<undefined, undefined>): Promise<unknown> {
    const { context, version } = input;
    const { liveness } = this.#parts;
    const found = await this.#find(input, false);
    const away = badRequest(`Compute service of ${found.service.host} is unavailable at this time.`);
    if (!liveness.isUp(found.service)) throw away;
    const uptime = await uptimeOf(found, context).catch(() => {
      throw away;
    });
    return { hypervisor: { ...briefHypervisor(found, liveness, version), uptime } };
  }

  async search({ param, version }: PathInput, withServers: boolean): Promise<unknown> {
    const found = matching(
      await hypervisorsOf(this.#parts, { withInstances: withServers }),
      param('hypervisor_id'),
    );
    const how = { minor: version.minor, withServers };
    return { hypervisors: found.map((one) => briefHypervisor(one, this.#parts.liveness, how)) };
  }

  async statistics(): Promise<unknown> {
    const all = await hypervisorsOf(this.#parts, { withInstances: true });
    return { hypervisor_statistics: statisticsOf(all.filter(({ service }) => !service.disabled)) };
  }

  async #find({ param, version }: PathInput, withInstances: boolean): Promise<Hypervisor> {
    const id = param('hypervisor_id');
    const where = version.minor >= UUID_MINOR ? { uuid: id.toLowerCase() } : { id: Number(id) };
    const [found] = await hypervisorsOf(this.#parts, { ...where, withInstances });
    if (!found) throw missing(id);
    return found;
  }

  async #view(hypervisor: Hypervisor, input: ListInput, isDetail: boolean): Promise<object> {
    const { query, version, context } = input;
    const { liveness } = this.#parts;
    const how = { minor: version.minor, withServers: query.with_servers === true };
    const brief = briefHypervisor(hypervisor, liveness, how);
    if (!isDetail) return brief;
    const isUp = liveness.isUp(hypervisor.service);
    return { ...brief, ...(await hypervisorDetails(hypervisor, context, { minor: version.minor, isUp })) };
  }
}

/** Is shown what is there, or how much of a hypervisor that takes? */
function needsInstances({ query, version }: ListInput, isDetail: boolean): boolean {
  return query.with_servers === true || (isDetail && version.minor <= WITH_SIZES);
}

/** There are no pages before 2.33, nor of those that fit a pattern. */
function pageFor(
  all: readonly Hypervisor[],
  { query, links, version }: ListInput,
  path: string,
): Page<Hypervisor> {
  const { hypervisor_hostname_pattern: pattern } = query;
  if (pattern !== undefined) return { items: matching(all, pattern), links: [] };
  if (version.minor < PAGING_MINOR) return { items: all, links: [] };
  return pageOf(all, query, { links, path, idOf: ({ service }) => String(shownId(service, version.minor)) });
}

/** @throws HttpError 404 when there is none */
function matching(all: readonly Hypervisor[], pattern: string): readonly Hypervisor[] {
  const wanted = pattern.toLowerCase();
  const found = all.filter(({ service }) => service.host.toLowerCase().includes(wanted));
  if (found.length === 0) throw notFound(`No hypervisor matching '${pattern}' could be found.`);
  return found;
}
