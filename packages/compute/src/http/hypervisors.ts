import { answersOf } from './answering-cells.js';
import { isHidden } from '../cells/cell-access.js';
import type { HostCapacity, ServiceFilter, ServiceRecord } from '../db/repositories.js';
import type { Instance } from '../objects/instance.js';
import type { HttpParts } from './app.js';
import type { ServiceCell } from './service-directory.js';

/** A host as its hypervisor is shown: one for each compute service that has told what it has. */
export interface Hypervisor {
  readonly cell: ServiceCell;
  /** Its number and its uuid are those of the hypervisor, too. */
  readonly service: ServiceRecord;
  readonly capacity: HostCapacity;
  /** What is there, when that was asked for. */
  readonly instances: readonly Instance[];
}

/** Which are looked for. */
interface Wanted extends Pick<ServiceFilter, 'id' | 'uuid'> {
  /** Are their instances needed? */
  readonly withInstances: boolean;
}

/** The hypervisors of all cells that can be reached; one cell alone has to be. By cell, then by number. */
export async function hypervisorsOf(
  { records, computeApi, cells }: Pick<HttpParts, 'records' | 'computeApi' | 'cells'>,
  wanted: Wanted,
): Promise<readonly Hypervisor[]> {
  if (!cells) return hypervisorsIn({ records, computeApi }, wanted);
  const found = await answersOf(await cells.others(''), (cell) => hypervisorsIn(cell, wanted));
  return found.flatMap(({ answer }) => answer);
}

async function hypervisorsIn(
  cell: ServiceCell,
  { withInstances, ...where }: Wanted,
): Promise<readonly Hypervisor[]> {
  const { services, allocations, instances } = cell.records;
  const found = await services.find({ ...where, binary: 'compute' });
  if (found.length === 0) return [];
  const [only] = found.length === 1 ? found : [];
  const [capacities, there] = await Promise.all([
    allocations.capacities(),
    withInstances ? instances.find(only ? { host: only.host } : {}) : [],
  ]);
  const capacityOf = new Map(capacities.map((one) => [one.host, one]));
  const instancesOf = byHost(there.filter((one) => !isHidden(one)));
  return found.flatMap((service) => {
    const capacity = capacityOf.get(service.host);
    return capacity ? [{ cell, service, capacity, instances: instancesOf.get(service.host) ?? [] }] : [];
  });
}

function byHost(instances: readonly Instance[]): ReadonlyMap<string | null, readonly Instance[]> {
  const hosts = new Map<string | null, Instance[]>();
  for (const instance of instances) {
    const host = instance.find('host') ?? null;
    const its = hosts.get(host);
    if (its) its.push(instance);
    else hosts.set(host, [instance]);
  }
  return hosts;
}
