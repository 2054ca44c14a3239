import type { Resources } from '../db/repositories.js';
import type { HostState } from './host-state.js';
import { agrees } from './neighbours.js';
import type { Neighbours, PlacementRequest } from './placement-request.js';

/** What the zone of hosts is called that are in none: as Nova's `default_availability_zone`. */
export const DEFAULT_ZONE = 'nova';

/** A reason for which a host cannot be chosen. */
export interface HostFilter {
  /** What is wrong with the hosts that it leaves out, for the text of errors. */
  readonly fault: string;
  /** It counts for hosts that an operator forces, too. */
  readonly alsoForced: boolean;
  /** May the host be chosen? */
  readonly passes: (host: HostState, request: PlacementRequest, neighbours: Neighbours) => boolean;
}

/**
 * All filters, in the order in which they are asked: a host is counted under the first that leaves it out. A host that an
 * operator forces may be down or drain (what is sent to it waits for its restart), as in Nova; nothing is put on one that
 * was fenced or disabled (FD-5).
 */
export const FILTERS: readonly HostFilter[] = [
  { fault: 'excluded', alsoForced: true, passes: ({ host }, { ignored }) => !ignored.has(host) },
  { fault: 'not asked for', alsoForced: true, passes: ({ host }, { only }) => only?.has(host) ?? true },
  { fault: 'forced down', alsoForced: true, passes: ({ service }) => !service.forcedDown },
  { fault: 'disabled', alsoForced: true, passes: ({ service }) => !service.disabled },
  { fault: 'draining', alsoForced: false, passes: ({ service }) => service.state !== 'draining' },
  { fault: 'down', alsoForced: false, passes: ({ up, service }) => up && service.state === 'running' },
  {
    fault: 'in another zone',
    alsoForced: false,
    passes: ({ service }, { zone }) => zone === null || (service.availabilityZone ?? DEFAULT_ZONE) === zone,
  },
  {
    fault: 'with the wrong neighbours',
    alsoForced: false,
    passes: ({ host }, _request, neighbours) => agrees(host, neighbours),
  },
  {
    fault: 'without the room',
    alsoForced: false,
    passes: ({ free }, { resources }) => hasRoom(free, resources),
  },
];

/** The hosts that pass, and how many were left out by what. */
export interface Filtered {
  readonly hosts: readonly HostState[];
  readonly leftOut: ReadonlyMap<string, number>;
}

/** The hosts that may be chosen. */
export function filterHosts(
  hosts: readonly HostState[],
  request: PlacementRequest,
  neighbours: Neighbours,
): Filtered {
  const forced = request.forced.length > 0;
  const filters = FILTERS.filter(({ alsoForced }) => !forced || alsoForced);
  const leftOut = new Map<string, number>();
  const passing = hosts.filter((host) => {
    const failed = filters.find(({ passes }) => !passes(host, request, neighbours));
    if (failed) leftOut.set(failed.fault, (leftOut.get(failed.fault) ?? 0) + 1);
    return failed === undefined;
  });
  return { hosts: passing, leftOut };
}

function hasRoom(free: Resources, wanted: Resources): boolean {
  return wanted.vcpus <= free.vcpus && wanted.memoryMb <= free.memoryMb && wanted.diskGb <= free.diskGb;
}
