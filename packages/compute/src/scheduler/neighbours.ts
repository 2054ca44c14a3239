import type { Records } from '../db/repositories.js';
import type { InstanceGroupFields } from '../objects/instance-group.js';
import type { NeighbourRules, Neighbours, PlacementRequest } from './placement-request.js';

/**
 * On which hosts an instance may be, and on which not, for the sake of others. Where those are, or will be, tell their
 * allocations: a host is claimed before anything else is written, so that two that are chosen for at the same time see
 * each other.
 */
export async function findNeighbours(
  records: Records,
  { rules, instanceUuid }: PlacementRequest,
): Promise<Neighbours> {
  const others = (uuids: readonly string[]): Promise<readonly string[]> =>
    hostsOf(
      records,
      uuids.filter((uuid) => uuid !== instanceUuid),
    );
  const members = await groupHosts(rules, others);
  const [same, different] = await Promise.all([others(rules.sameHostAs), others(rules.differentHostFrom)]);
  const policy = rules.group?.find('policy') ?? null;
  const together = [...same, ...(policy === 'affinity' ? members : [])];
  return {
    together: together.length > 0 ? new Set(together) : undefined,
    apart: new Set([...different, ...(policy === 'anti-affinity' ? members : [])]),
    wished: countBy(members, SOFT.get(policy) ?? 0),
  };
}

/** What one member on a host counts for those policies that are wishes. */
const SOFT: ReadonlyMap<InstanceGroupFields['policy'], number> = new Map([
  ['soft-affinity', 1],
  ['soft-anti-affinity', -1],
]);

function countBy(hosts: readonly string[], each: number): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const host of hosts) counts.set(host, (counts.get(host) ?? 0) + each);
  return counts;
}

/** Is the host still right, now that it is claimed? */
export function agrees(host: string, { together, apart }: Neighbours): boolean {
  return !apart.has(host) && (together?.has(host) ?? true);
}

/** Does anything depend on where others are? */
export function hasRules({ sameHostAs, differentHostFrom, group }: NeighbourRules): boolean {
  return sameHostAs.length > 0 || differentHostFrom.length > 0 || group !== null;
}

async function groupHosts(
  { group }: NeighbourRules,
  others: (uuids: readonly string[]) => Promise<readonly string[]>,
): Promise<readonly string[]> {
  return group === null ? [] : others(group.find('members') ?? []);
}

async function hostsOf(
  { allocations, instances }: Records,
  uuids: readonly string[],
): Promise<readonly string[]> {
  const found = await Promise.all(
    uuids.map(async (uuid) => {
      const [claims, [instance]] = await Promise.all([
        allocations.find({ consumer: uuid }),
        instances.find({ uuid }),
      ]);
      const host = instance?.find('host') ?? null;
      const gone = instance?.find('vm_state') === 'deleted';
      return new Set([...claims.map((claim) => claim.host), ...(host === null || gone ? [] : [host])]);
    }),
  );
  return found.flatMap((hosts) => [...hosts]);
}
