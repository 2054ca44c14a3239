import { flavorById, listedFlavors } from '../api/flavors.js';
import type { Flavor } from '../objects/flavor.js';
import type { ApiRoutes, RouteInput } from './api-routes.js';
import type { HttpParts } from './app.js';
import {
  EXTRA_SPECS_ANSWER,
  FLAVOR_ANSWER,
  FLAVOR_QUERIES,
  type FlavorQuery,
  FLAVORS_ANSWER,
  FLAVORS_DETAIL_ANSWER,
} from './flavor-schemas.js';
import { badRequest, notFound } from './http-error.js';
import { pageOf } from './paging.js';
import { ADMIN_RULE, type Policy } from './policy.js';

type FlavorInput = RouteInput<undefined, undefined>;
type ListInput = RouteInput<undefined, FlavorQuery>;
/** What the view of a flavor depends on. */
type Viewed = Pick<FlavorInput, 'version' | 'links' | 'caller'>;

/** Upstream has no rule for these: whoever has a token may read them there. */
const POLICY = 'os_compute_api:flavors';
const EXTRA_SPECS_POLICY = 'os_compute_api:os-flavor-extra-specs:index';
const DESCRIPTION_MINOR = 55;
const EXTRA_SPECS_MINOR = 61;
const SWAP_NUMBER_MINOR = 75;
const YES: ReadonlySet<string> = new Set(['1', 't', 'true', 'on', 'y', 'yes']);
const NO: ReadonlySet<string> = new Set(['0', 'f', 'false', 'off', 'n', 'no']);

/** `flavors`: the sizes that an instance can have. */
export function registerFlavors(routes: ApiRoutes, { policy }: Pick<HttpParts, 'policy'>): void {
  const list = { method: 'GET', policy: POLICY, query: FLAVOR_QUERIES, status: 200, errors: [] } as const;
  routes.add<undefined, FlavorQuery>({
    ...list,
    path: '/flavors',
    summary: 'Lists the flavors',
    answer: FLAVORS_ANSWER,
    handle: async (input) => listOf(policy, input, '/flavors', briefView),
  });
  routes.add<undefined, FlavorQuery>({
    ...list,
    path: '/flavors/detail',
    summary: 'Lists the flavors with their sizes',
    answer: FLAVORS_DETAIL_ANSWER,
    handle: async (input) =>
      listOf(policy, input, '/flavors/detail', (flavor) => flavorView(policy, flavor, input)),
  });
  routes.add({
    method: 'GET',
    path: '/flavors/{flavor_id}',
    summary: 'Shows a flavor: a listed one, or the size that its id spells out, as in 2:4096:40',
    policy: POLICY,
    status: 200,
    answer: FLAVOR_ANSWER,
    errors: [404],
    handle: async (input) => ({ flavor: flavorView(policy, flavorIn(input), input) }),
  });
  routes.add({
    method: 'GET',
    path: '/flavors/{flavor_id}/os-extra_specs',
    summary: 'Shows what a flavor asks of scheduler and hypervisor',
    policy: EXTRA_SPECS_POLICY,
    status: 200,
    answer: EXTRA_SPECS_ANSWER,
    errors: [404],
    handle: async (input) => ({ extra_specs: flavorIn(input).get('extra_specs') }),
  });
}

/** @throws HttpError 404 */
function flavorIn({ param }: Pick<FlavorInput, 'param'>): Flavor {
  const id = param('flavor_id');
  const flavor = flavorById(id);
  if (!flavor) throw notFound(`Flavor ${id} could not be found.`);
  return flavor;
}

function listOf(
  policy: Policy,
  { query, links, version, caller }: ListInput,
  path: string,
  view: (flavor: Flavor, viewed: Viewed) => object,
): object {
  const wanted = filterOf(query, policy.allows(ADMIN_RULE, caller));
  const fitting = sorted(listedFlavors().filter(wanted), query);
  const page = pageOf(fitting, query, { links, path, idOf: (flavor) => flavor.get('flavorid') });
  return {
    flavors: page.items.map((flavor) => view(flavor, { links, version, caller })),
    ...(page.links.length > 0 && { flavors_links: page.links }),
  };
}

/** Others than admins see those alone that everybody may use. */
function filterOf(
  { is_public, minRam, minDisk }: FlavorQuery,
  isAdmin: boolean,
): (flavor: Flavor) => boolean {
  const isPublic = isAdmin ? publicOf(is_public) : true;
  const [ram, disk] = [leastOf('minRam', minRam), leastOf('minDisk', minDisk)];
  return (flavor) =>
    (isPublic === null || flavor.get('is_public') === isPublic) &&
    flavor.get('memory_mb') >= ram &&
    flavor.get('root_gb') >= disk;
}

/** @returns null: both kinds. @throws HttpError 400 */
function publicOf(text = 'true'): boolean | null {
  const word = text.trim().toLowerCase();
  if (word === 'none') return null;
  if (YES.has(word)) return true;
  if (NO.has(word)) return false;
  throw badRequest('Invalid is_public filter');
}

function leastOf(name: string, text: string | undefined): number {
  if (text === undefined) return 0;
  if (!/^\s*[+-]?\d{1,15}\s*$/.test(text)) throw badRequest(`Invalid ${name} filter`);
  return Number(text);
}

function sorted(flavors: readonly Flavor[], query: FlavorQuery): readonly Flavor[] {
  const { sort_key: key = 'flavorid', sort_dir: direction = 'asc' } = query;
  const sign = direction === 'asc' ? 1 : -1;
  const keyed = flavors.map((flavor) => ({ flavor, key: new Map(flavor.entries()).get(key) ?? '' }));
  return keyed.sort((a, b) => sign * compare(a.key, b.key)).map(({ flavor }) => flavor);
}

function compare(a: unknown, b: unknown): number {
  if (typeof a === 'string' || typeof b === 'string') return String(a) < String(b) ? -1 : +(a !== b);
  return Number(a) - Number(b);
}

function briefView(flavor: Flavor, { version, links }: Viewed): object {
  return {
    id: flavor.get('flavorid'),
    name: flavor.get('name'),
    links: links.to(`/flavors/${flavor.get('flavorid')}`),
    ...(version.minor >= DESCRIPTION_MINOR && { description: flavor.get('description') }),
  };
}

function flavorView(policy: Policy, flavor: Flavor, viewed: Viewed): object {
  const { minor } = viewed.version;
  const noSwap = minor >= SWAP_NUMBER_MINOR ? 0 : '';
  const hasSpecs = minor >= EXTRA_SPECS_MINOR && policy.allows(EXTRA_SPECS_POLICY, viewed.caller);
  return {
    ...briefView(flavor, viewed),
    ram: flavor.get('memory_mb'),
    disk: flavor.get('root_gb'),
    vcpus: flavor.get('vcpus'),
    swap: flavor.get('swap') || noSwap,
    'OS-FLV-EXT-DATA:ephemeral': flavor.get('ephemeral_gb'),
    'OS-FLV-DISABLED:disabled': flavor.get('disabled'),
    'os-flavor-access:is_public': flavor.get('is_public'),
    rxtx_factor: flavor.get('rxtx_factor'),
    ...(hasSpecs && { extra_specs: flavor.get('extra_specs') }),
  };
}
