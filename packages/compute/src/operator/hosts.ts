import type { Resources, ServiceRecord } from '../db/repositories.js';
import type { CloudView } from './work.js';

/** A compute host as an operator sees it. */
export interface HostSight {
  readonly service: ServiceRecord;
  readonly host: string;
  /** `up`, `disabled` (takes nothing new), `draining`, `down`, or `forced down`: an operator has said so. */
  readonly state: string;
  readonly zone: string | null;
  readonly disabledReason: string | null;
  /** Undefined until it has told what it has. */
  readonly total: Resources | undefined;
  readonly used: Resources | undefined;
  readonly reportedAtMs: number;
}

/** All compute hosts, by name. */
export async function hostsOf({ records, liveness }: CloudView): Promise<readonly HostSight[]> {
  const [services, capacities] = await Promise.all([
    records.services.list('compute'),
    records.allocations.capacities(),
  ]);
  return services.map((service) => {
    const capacity = capacities.find(({ host }) => host === service.host);
    return {
      service,
      host: service.host,
      state: stateOf(service, liveness.isUp(service)),
      zone: service.availabilityZone,
      disabledReason: service.disabledReason,
      total: capacity?.total,
      used: capacity?.used,
      reportedAtMs: service.reportedAtMs,
    };
  });
}

function stateOf(service: ServiceRecord, isUp: boolean): string {
  if (service.forcedDown) return 'forced down';
  if (!isUp) return 'down';
  if (service.state !== 'running') return service.state;
  return service.disabled ? 'disabled' : 'up';
}
