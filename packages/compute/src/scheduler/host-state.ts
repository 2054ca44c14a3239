import type { Records, Resources, ServiceRecord } from '../db/repositories.js';
import type { Liveness } from '../servicegroup/liveness.js';

/** A host as the filters and weighers see it. */
export interface HostState {
  readonly host: string;
  /** Its last report, and what operators said of it. */
  readonly service: ServiceRecord;
  readonly up: boolean;
  /** What it has left; less than nothing where it has become smaller. */
  readonly free: Resources;
}

const NOTHING: Resources = Object.freeze({ vcpus: 0, memoryMb: 0, diskGb: 0 });

/** All hosts that have ever reported, by name; those that did not tell their capacity have none. */
export async function readHosts(
  { services, allocations }: Records,
  liveness: Liveness,
): Promise<readonly HostState[]> {
  const [found, capacities] = await Promise.all([services.list('compute'), allocations.capacities()]);
  const free = new Map(capacities.map(({ host, total, used }) => [host, difference(total, used)]));
  return found.map((service) => ({
    host: service.host,
    service,
    up: liveness.isUp(service),
    free: free.get(service.host) ?? NOTHING,
  }));
}

function difference(a: Resources, b: Resources): Resources {
  return { vcpus: a.vcpus - b.vcpus, memoryMb: a.memoryMb - b.memoryMb, diskGb: a.diskGb - b.diskGb };
}
