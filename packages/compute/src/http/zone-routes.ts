import { z } from 'zod';
import type { ServiceRecord } from '../db/repositories.js';
import type { Liveness } from '../servicegroup/liveness.js';
import type { ApiRoutes } from './api-routes.js';
import type { HttpParts } from './app.js';
import { ServiceDirectory } from './service-directory.js';
import { clientBinary, INTERNAL_ZONE, zoneOf } from './service-view.js';
import { timeText } from './times.js';

const POLICY = 'os_compute_api:os-availability-zone';

const serviceShown = z.strictObject({ available: z.boolean(), active: z.boolean(), updated_at: z.string() });
const hostsShown = z.record(z.string(), z.record(z.string(), serviceShown));
/** Answer of both lists. */
export const ZONES_ANSWER: z.ZodType = z.strictObject({
  availabilityZoneInfo: z.array(
    z.strictObject({
      zoneName: z.string(),
      zoneState: z.strictObject({ available: z.boolean() }),
      hosts: hostsShown.nullable(),
    }),
  ),
});

/** Answer of the list of aggregates. */
export const AGGREGATES_ANSWER: z.ZodType = z.strictObject({ aggregates: z.array(z.never()) });

/** `os-availability-zone`: the zones that services are in. One is available while not all that is there is disabled. */
export function registerZones(routes: ApiRoutes, parts: HttpParts): void {
  const directory = new ServiceDirectory(parts, parts.cells);
  const zones = { method: 'GET', status: 200, answer: ZONES_ANSWER, errors: [] } as const;
  routes.add({
    ...zones,
    path: '/os-availability-zone',
    summary: 'Lists the availability zones of hosts',
    policy: `${POLICY}:list`,
    handle: async () => {
      const { services } = await directory.list({});
      const shown = zonesOf(services).filter(({ zoneName }) => zoneName !== INTERNAL_ZONE);
      return { availabilityZoneInfo: shown.map((zone) => ({ ...zone, hosts: null })) };
    },
  });
  routes.add({
    ...zones,
    path: '/os-availability-zone/detail',
    summary: 'Lists all availability zones, and which services are there',
    policy: `${POLICY}:detail`,
    handle: async () => {
      const { services } = await directory.list({});
      const enabled = services.filter(({ disabled }) => !disabled);
      const shown = zonesOf(services).map(({ zoneName, zoneState }) => {
        const its = enabled.filter((one) => zoneOf(one) === zoneName);
        return { zoneName, zoneState, hosts: zoneState.available ? hostsOf(its, parts.liveness) : null };
      });
      return { availabilityZoneInfo: shown };
    },
  });
  routes.add({
    method: 'GET',
    path: '/os-aggregates',
    summary: 'Lists the aggregates: there are none, and clients ask',
    policy: 'os_compute_api:os-aggregates:index',
    status: 200,
    answer: AGGREGATES_ANSWER,
    errors: [],
    handle: async () => ({ aggregates: [] }),
  });
}

interface Zone {
  readonly zoneName: string;
  readonly zoneState: { readonly available: boolean };
}

/** By name; those that are available come first. */
function zonesOf(services: readonly ServiceRecord[]): readonly Zone[] {
  const namesOf = (some: readonly ServiceRecord[]): readonly string[] =>
    [...new Set(some.map(zoneOf))].sort();
  const present = namesOf(services.filter(({ disabled }) => !disabled));
  const absent = namesOf(services).filter((name) => !present.includes(name));
  return [
    ...present.map((zoneName) => ({ zoneName, zoneState: { available: true } })),
    ...absent.map((zoneName) => ({ zoneName, zoneState: { available: false } })),
  ];
}

/** By host, then by binary. */
function hostsOf(services: readonly ServiceRecord[], liveness: Liveness): object {
  const hosts = new Map<string, Map<string, object>>();
  for (const service of services) {
    const its = hosts.get(service.host) ?? new Map<string, object>();
    its.set(clientBinary(service.binary), {
      available: liveness.isUp(service),
      active: !service.disabled,
      updated_at: timeText(service.reportedAtMs),
    });
    hosts.set(service.host, its);
  }
  return Object.fromEntries([...hosts].map(([host, its]) => [host, Object.fromEntries(its)]));
}
