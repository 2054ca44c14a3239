import { z } from 'zod';
import type { Versioned } from './api-routes.js';
import { linksView } from './links.js';
import { lenientPageParameters, pageParameters, type PageQuery } from './paging.js';
import { booleanWord } from './service-schemas.js';

/** What the lists are narrowed to. */
export interface HypervisorQuery extends PageQuery {
  readonly hypervisor_hostname_pattern?: string | undefined;
  readonly with_servers?: boolean | undefined;
}

const withServers = { with_servers: booleanWord.optional() };
const pattern = z
  .string()
  .min(1)
  .max(255)
  .regex(/^[a-zA-Z0-9._-]*$/, { error: 'It must be letters, digits and characters of . _ -' });

/** Queries of the lists, by version. */
export const HYPERVISOR_QUERIES: Versioned<HypervisorQuery> = [
  { since: 1, schema: z.object({}) },
  { since: 33, schema: z.object(lenientPageParameters) },
  {
    since: 53,
    schema: z.strictObject({
      ...pageParameters,
      hypervisor_hostname_pattern: pattern.optional(),
      ...withServers,
    }),
  },
];
/** Queries for one, by version. */
export const HYPERVISOR_SHOW_QUERIES: Versioned<HypervisorQuery> = [
  { since: 1, schema: z.object({}) },
  { since: 53, schema: z.strictObject(withServers) },
];

const id = z.union([z.int(), z.guid()]);
const brief = {
  id,
  hypervisor_hostname: z.string(),
  state: z.enum(['up', 'down']),
  status: z.enum(['enabled', 'disabled']),
  servers: z.array(z.strictObject({ name: z.string(), uuid: z.string() })).optional(),
};
const details = {
  hypervisor_type: z.string().nullable(),
  hypervisor_version: z.int().nullable(),
  host_ip: z.string().nullable(),
  service: z.strictObject({ id, host: z.string(), disabled_reason: z.string().nullable() }),
};
const sizes = {
  vcpus: z.int(),
  memory_mb: z.int(),
  local_gb: z.int(),
  vcpus_used: z.int(),
  memory_mb_used: z.int(),
  local_gb_used: z.int(),
  free_ram_mb: z.int(),
  free_disk_gb: z.int(),
  current_workload: z.int(),
  running_vms: z.int(),
  disk_available_least: z.int(),
};
const detailView = z.union([
  z.strictObject({ ...brief, ...details, ...sizes, cpu_info: z.union([z.literal(''), z.strictObject({})]) }),
  z.strictObject({ ...brief, ...details, uptime: z.string().nullable() }),
]);

/** Answer of the list, and of those for a pattern in the path. */
export const HYPERVISORS_ANSWER: z.ZodType = z.strictObject({
  hypervisors: z.array(z.strictObject(brief)),
  hypervisors_links: linksView.optional(),
});
/** Answer of the list in detail. */
export const HYPERVISORS_DETAIL_ANSWER: z.ZodType = z.strictObject({
  hypervisors: z.array(detailView),
  hypervisors_links: linksView.optional(),
});
/** Answer for one. */
export const HYPERVISOR_ANSWER: z.ZodType = z.strictObject({ hypervisor: detailView });
/** Answer for how long one has run. */
export const UPTIME_ANSWER: z.ZodType = z.strictObject({
  hypervisor: z.strictObject({ ...brief, uptime: z.string() }),
});
/** Answer for what all together have. */
export const STATISTICS_ANSWER: z.ZodType = z.strictObject({
  hypervisor_statistics: z.strictObject({ count: z.int(), ...sizes }),
});
