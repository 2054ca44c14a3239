import type { Resources } from '../db/repositories.js';
import type { InstanceGroup } from '../objects/instance-group.js';
import type { RequestSpec } from '../objects/request-spec.js';
import { resourcesOf } from './flavor-resources.js';
import type { SelectOptions } from './scheduler.js';

/** How instances are to lie to each other, and the hosts that it concerns. */
export interface Neighbours {
  /** On one of these; undefined: anywhere. */
  readonly together: ReadonlySet<string> | undefined;
  /** On none of these. */
  readonly apart: ReadonlySet<string>;
  /** How many members of its group are on each host, where it is to be near them (positive) or away from them (negative). */
  readonly wished: ReadonlyMap<string, number>;
}

/** What one instance needs of a host. */
export interface PlacementRequest {
  readonly instanceUuid: string;
  readonly resources: Resources;
  /** Only hosts of this zone; null: of any. */
  readonly zone: string | null;
  /** Hosts that an operator forces, in the order to be tried: most filters do not count for them. */
  readonly forced: readonly string[];
  readonly ignored: ReadonlySet<string>;
  /** Only these; undefined: any. */
  readonly only: ReadonlySet<string> | undefined;
  readonly rules: NeighbourRules;
}

/** Uuids of the instances that it should be with, or apart from. */
export interface NeighbourRules {
  readonly sameHostAs: readonly string[];
  readonly differentHostFrom: readonly string[];
  /** The first member that has a host binds all others, while `sameHostAs` binds to each that has one. */
  readonly group: InstanceGroup | null;
}

/** The hint in which {@link SelectOptions.onlyHosts} travel, as Nova's Destination names one host at most. */
export const ONLY_HOSTS_HINT = 'ebbgate:only_hosts';

/** What the request of a user, and of the conductor, comes to for one instance. */
export function placementRequest(
  spec: RequestSpec,
  instanceUuid: string,
  { ignoreHosts = [], onlyHosts }: SelectOptions,
): PlacementRequest {
  const wished = onlyHosts ?? wishedHosts(spec);
  return Object.freeze({
    instanceUuid,
    resources: resourcesOf(spec.get('flavor'), { bootsFromVolume: spec.find('is_bfv') === true }),
    zone: spec.find('availability_zone') ?? null,
    forced: spec.find('force_hosts') ?? [],
    ignored: new Set([...(spec.find('ignore_hosts') ?? []), ...ignoreHosts]),
    only: wished.length > 0 ? new Set(wished) : undefined,
    rules: {
      sameHostAs: hint(spec, 'same_host'),
      differentHostFrom: hint(spec, 'different_host'),
      group: spec.find('instance_group') ?? null,
    },
  });
}

function wishedHosts(spec: RequestSpec): readonly string[] {
  const hinted = hint(spec, ONLY_HOSTS_HINT);
  const destination = spec.find('requested_destination')?.find('host');
  return hinted.length === 0 && typeof destination === 'string' ? [destination] : hinted;
}

/** Hints are lists of texts; a lone text stands for a list of one. */
function hint(spec: RequestSpec, name: string): readonly string[] {
  const found = new Map(Object.entries(spec.find('scheduler_hints') ?? {})).get(name); // names come from users
  const list: readonly unknown[] = Array.isArray(found) ? found : [found];
  return list.filter((one): one is string => typeof one === 'string' && one !== '');
}
