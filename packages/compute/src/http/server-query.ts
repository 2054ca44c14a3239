import { z } from 'zod';
import type { Versioned } from './api-routes.js';
import { lastOf, lastText, lenientPageParameters, type PageQuery } from './paging.js';
import { plainText } from './read-input.js';

/** Filters that narrow the list of servers. */
// prettier-ignore
const FILTERS = [
  'user_id', 'project_id', 'tenant_id', 'image', 'image_ref', 'flavor', 'host', 'node', 'name',
  'display_name', 'uuid', 'vm_state', 'task_state', 'power_state', 'availability_zone', 'hostname',
  'description', 'display_description', 'key_name', 'locked', 'deleted', 'all_tenants',
] as const;
/** Filters by what servers do not have here: nothing fits them. */
// prettier-ignore
const VOID_FILTERS = [
  'ip', 'ip6', 'reservation_id', 'kernel_id', 'ramdisk_id', 'root_device_name', 'access_ip_v4',
  'access_ip_v6', 'tags', 'tags-any',
] as const;
/** Taken, and without an effect. */
// prettier-ignore
const IGNORED = [
  'launch_index', 'launched_at', 'terminated_at', 'locked_by', 'config_drive', 'auto_disk_config',
  'progress', 'soft_deleted', 'created_at', 'not-tags', 'not-tags-any',
] as const;
/** By what the list may be sorted, as records of instances have it. */
// prettier-ignore
const SORT_KEYS = [
  'availability_zone', 'created_at', 'display_description', 'display_name', 'host', 'hostname',
  'image_ref', 'instance_type_id', 'key_name', 'launched_at', 'locked', 'node', 'power_state', 'progress',
  'project_id', 'task_state', 'terminated_at', 'updated_at', 'user_id', 'uuid', 'vm_state',
] as const;

/** Filters by what servers do not have here. */
export const VOID_FILTER_NAMES: readonly (typeof VOID_FILTERS)[number][] = VOID_FILTERS;

type Filters = Readonly<
  Partial<Record<(typeof FILTERS)[number] | (typeof VOID_FILTERS)[number], string | undefined>>
>;

/** What the list is narrowed to, in which order, and which part of it. */
export interface ServerQuery extends PageQuery, Filters {
  readonly status?: readonly string[] | undefined;
  /** Milliseconds since the epoch. */
  readonly 'changes-since'?: number | undefined;
  readonly 'changes-before'?: number | undefined;
  readonly sort_key?: readonly ServerSortKey[] | undefined;
  /** One for each key; those that are missing are as the last one. */
  readonly sort_dir?: readonly ('asc' | 'desc')[] | undefined;
}

/** By what the list may be sorted. */
export type ServerSortKey = (typeof SORT_KEYS)[number];

const all = <T>(schema: z.ZodType<T, string>) =>
  z.union([schema.transform((value) => [value]), z.array(schema).min(1).max(32)]).optional();
/** ISO 8601; without a zone it is UTC. */
const moment = z
  .string()
  .regex(/^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?$/, {
    error: 'It must be a time, as 2026-01-31T12:00:00Z',
  })
  .transform((text, context) => {
    const atMs = Date.parse(/T.*(?:Z|[+-]\d\d:?\d\d)$/.test(text) || text.length <= 10 ? text : `${text}Z`);
    if (!Number.isNaN(atMs)) return atMs;
    context.addIssue({ code: 'custom', message: 'It must be a time' });
    return z.NEVER;
  });

const texts = <Name extends string>(names: readonly Name[]): Record<Name, typeof lastText> =>
  Object.fromEntries(names.map((name) => [name, lastText])) as Record<Name, typeof lastText>; // as just made
const parameters = {
  ...texts(FILTERS),
  ...texts(VOID_FILTERS),
  ...texts(IGNORED),
  ...lenientPageParameters,
  status: all(plainText),
  'changes-since': lastOf(moment),
  'changes-before': lastOf(moment),
  sort_key: all(z.enum(SORT_KEYS)),
  sort_dir: all(z.enum(['asc', 'desc'])),
};

/** Queries of the lists, by version. */
export const SERVER_QUERIES: Versioned<ServerQuery> = [
  { since: 1, schema: z.object(parameters) },
  { since: 75, schema: z.strictObject(parameters) },
];
