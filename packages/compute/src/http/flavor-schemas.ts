import { z } from 'zod';
import type { Versioned } from './api-routes.js';
import { linksView } from './links.js';
import { lastOf, lastText, lenientPageParameters, type PageQuery } from './paging.js';

/** By what a list of flavors may be sorted: upstream's words, which are the names of the fields. */
const SORT_KEYS = [
  ...['created_at', 'description', 'disabled', 'ephemeral_gb', 'flavorid', 'id', 'is_public', 'memory_mb'],
  ...['name', 'root_gb', 'rxtx_factor', 'swap', 'updated_at', 'vcpu_weight', 'vcpus'],
] as const;

/** What the list of flavors is narrowed to, and in which order. */
export interface FlavorQuery extends PageQuery {
  readonly is_public?: string | undefined;
  readonly minRam?: string | undefined;
  readonly minDisk?: string | undefined;
  readonly sort_key?: string | undefined;
  readonly sort_dir?: 'asc' | 'desc' | undefined;
}

const parameters = {
  ...lenientPageParameters,
  is_public: lastText,
  minRam: lastText,
  minDisk: lastText,
  sort_key: lastOf(z.enum(SORT_KEYS)),
  sort_dir: lastOf(z.enum(['asc', 'desc'])),
};

/** Queries of the lists, by version. */
export const FLAVOR_QUERIES: Versioned<FlavorQuery> = [
  { since: 1, schema: z.object(parameters) },
  { since: 75, schema: z.strictObject(parameters) },
];

const brief = {
  id: z.string(),
  name: z.string(),
  links: linksView,
  description: z.string().nullable().optional(),
};
const flavorView = z.strictObject({
  ...brief,
  ram: z.int(),
  disk: z.int(),
  vcpus: z.int(),
  swap: z.union([z.int(), z.literal('')]),
  'OS-FLV-EXT-DATA:ephemeral': z.int(),
  'OS-FLV-DISABLED:disabled': z.boolean(),
  'os-flavor-access:is_public': z.boolean(),
  rxtx_factor: z.number(),
  extra_specs: z.record(z.string(), z.string()).optional(),
});

/** Answer of the list. */
export const FLAVORS_ANSWER: z.ZodType = z.strictObject({
  flavors: z.array(z.strictObject(brief)),
  flavors_links: linksView.optional(),
});
/** Answer of the list in detail. */
export const FLAVORS_DETAIL_ANSWER: z.ZodType = z.strictObject({
  flavors: z.array(flavorView),
  flavors_links: linksView.optional(),
});
/** Answer for one. */
export const FLAVOR_ANSWER: z.ZodType = z.strictObject({ flavor: flavorView });
/** Answer for what one asks of scheduler and hypervisor. */
export const EXTRA_SPECS_ANSWER: z.ZodType = z.strictObject({
  extra_specs: z.record(z.string(), z.string()),
});
