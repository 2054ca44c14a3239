import { Gauge, type Registry } from 'prom-client';
import type { ServiceRecord } from '../db/repositories.js';
import type { Liveness } from '../servicegroup/liveness.js';

/** Where it is seen who is up. */
export interface SeenServices {
  /** All services. */
  readonly services: () => Promise<readonly ServiceRecord[]>;
  readonly liveness: Liveness;
}

/** Counts services by what they are and how they do, whenever somebody looks; what cannot be read leaves the rest readable. */
export function watchServices(registry: Registry, { services, liveness }: SeenServices): void {
  const registers = [registry];
  const readable = new Gauge({
    name: 'ebbgate_records_readable',
    help: '1 when the records could be read just now, else 0',
    registers,
  });
  const gauge = new Gauge({
    name: 'ebbgate_services',
    help: 'Services by what they are and how they do: up, draining, down or forced_down',
    labelNames: ['binary', 'state'] as const,
    registers,
    collect: async () => {
      const all = await services().catch(() => undefined);
      readable.set(all ? 1 : 0);
      gauge.reset();
      for (const one of all ?? []) gauge.inc({ binary: `nova-${one.binary}`, state: stateOf(one, liveness) });
    },
  });
}

function stateOf(service: ServiceRecord, liveness: Liveness): string {
  if (service.forcedDown) return 'forced_down';
  if (!liveness.isUp(service)) return 'down';
  return service.state === 'draining' ? 'draining' : 'up';
}
