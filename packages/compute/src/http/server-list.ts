import type { Records } from '../db/repositories.js';
import type { Instance, InstanceFields } from '../objects/instance.js';
import { isHidden } from '../cells/cell-access.js';
import { badRequest, HttpError } from './http-error.js';
import { namePattern } from './name-pattern.js';
import { booleanWord } from './service-schemas.js';
import { type ServerQuery, type ServerSortKey, VOID_FILTER_NAMES } from './server-query.js';
import { statesOf } from './server-status.js';

/** Whose servers are listed. */
export interface ListScope {
  /** May look at more than its own. */
  readonly isAdmin: boolean;
  /** Null: of all projects. */
  readonly project: string | null;
}

type Fits = (instance: Instance) => boolean;

/** Filters that compare a field, as it is written. */
const EXACT: readonly (readonly [
  keyof ServerQuery,
  (instance: Instance) => string | number | null | undefined,
])[] = [
  ['user_id', (one) => one.find('user_id')],
  ['project_id', (one) => one.find('project_id')],
  ['tenant_id', (one) => one.find('project_id')],
  ['image', (one) => one.find('image_ref')],
  ['image_ref', (one) => one.find('image_ref')],
  ['flavor', (one) => one.find('flavor')?.find('flavorid')],
  ['host', (one) => one.find('host')],
  ['node', (one) => one.find('node')],
  ['uuid', (one) => one.get('uuid')],
  ['vm_state', (one) => one.get('vm_state')],
  ['task_state', (one) => one.get('task_state')],
  ['power_state', (one) => one.find('power_state')],
  ['availability_zone', (one) => one.find('availability_zone')],
  ['hostname', (one) => one.find('hostname')],
  ['key_name', (one) => one.find('key_name')],
];
/** Filters by which only administrators narrow: others get what they would without. */
const FOR_ADMINS: ReadonlySet<string> = new Set(['project_id', 'tenant_id', 'host', 'node', 'deleted']);
const INVALID_STATUS_MINOR = 38;

/**
 * The servers that a query means, in its order: the newest first by default. Hidden copies, of instances that are in
 * another cell, are not shown.
 * @throws HttpError 400 for a filter that is none, 403 for one that is for administrators
 */
export async function listServers(
  { instances }: Records,
  query: ServerQuery,
  scope: ListScope,
  minor: number,
): Promise<readonly Instance[]> {
  const fits = filtersOf(query, scope, minor);
  if (!fits) return [];
  const { host } = query;
  const where = {
    ...(scope.project !== null && { project_id: scope.project }),
    ...(host !== undefined && scope.isAdmin && { host }),
  };
  const found: Instance[] = [];
  for (const isDeleted of seenOf(query, scope))
    found.push(...(await instances.find({ ...where, ...(isDeleted && { deleted: true }) })));
  const shown = found.filter((one) => !isHidden(one) && fits.every((fit) => fit(one)));
  return shown.sort(orderOf(query));
}

/** Present ones, deleted ones, or both: those that have changed may have been deleted. */
function seenOf(query: ServerQuery, { isAdmin }: ListScope): readonly boolean[] {
  const isAbout = (query.status ?? []).some((status) => status.toUpperCase() === 'DELETED');
  if (isAbout && !isAdmin) throw new HttpError(403, 'Only administrators may list deleted instances');
  if (isAbout || (isAdmin && query.deleted !== undefined && isTrue(query.deleted))) return [true];
  const hasChanged = query['changes-since'] !== undefined || query['changes-before'] !== undefined;
  return hasChanged ? [false, true] : [false];
}

/** Undefined: nothing can fit. */
function filtersOf(query: ServerQuery, { isAdmin }: ListScope, minor: number): readonly Fits[] | undefined {
  if (VOID_FILTER_NAMES.some((name) => query[name] !== undefined)) return undefined;
  const exact = EXACT.filter(([name]) => isAdmin || !FOR_ADMINS.has(name)).flatMap(([name, valueOf]) => {
    const wanted = query[name];
    return wanted === undefined ? [] : [(one: Instance) => (valueOf(one) ?? 'None').toString() === wanted];
  });
  const ofStatus = statusFits(query.status, minor);
  if (!ofStatus) return undefined;
  const { locked } = query;
  const ofLock = (one: Instance): boolean =>
    locked === undefined || (one.find('locked') === true) === isTrue(locked);
  return [...exact, ofStatus, ofLock, ...wordsOf(query), ...timesOf(query)];
}

/** Undefined: there is no such status. */
function statusFits(statuses: readonly string[] | undefined, minor: number): Fits | undefined {
  if (!statuses) return () => true;
  const states = statesOf(statuses);
  if (!states && minor >= INVALID_STATUS_MINOR) throw badRequest('Invalid status value');
  if (!states) return undefined;
  const { vms, tasks } = states;
  return (one) => vms.has(one.get('vm_state')) && (tasks?.has(one.get('task_state')) ?? true);
}

function wordsOf(query: ServerQuery): readonly Fits[] {
  const name = query.name ?? query.display_name;
  const words = query.description ?? query.display_description;
  return [
    ...(name === undefined ? [] : [patterned('name', name, (one) => one.find('display_name'))]),
    ...(words === undefined
      ? []
      : [patterned('description', words, (one) => one.find('display_description'))]),
  ];
}

function patterned(
  filter: string,
  pattern: string,
  textOf: (instance: Instance) => string | null | undefined,
): Fits {
  const isLike = namePattern(pattern);
  if (!isLike)
    throw badRequest(`Invalid filter field: ${filter}. Of regular expressions it may use . * ^ $ and \\`);
  return (instance) => isLike(textOf(instance) ?? '');
}

function timesOf({ 'changes-since': since, 'changes-before': before }: ServerQuery): readonly Fits[] {
  if (since !== undefined && before !== undefined && before < since)
    throw badRequest('The value of changes-since must be less than or equal to changes-before.');
  const changedAt = (one: Instance): number =>
    (one.find('updated_at') ?? one.find('created_at'))?.getTime() ?? 0;
  return [
    ...(since === undefined ? [] : [(one: Instance) => changedAt(one) >= since]),
    ...(before === undefined ? [] : [(one: Instance) => changedAt(one) <= before]),
  ];
}

/** As upstream: nothing after the name of the filter means yes. */
export function isTrue(value: string): boolean {
  if (value === '') return true;
  const read = booleanWord.safeParse(value);
  if (read.success) return read.data;
  throw badRequest('A filter must be true or false');
}

function orderOf({
  sort_key: keys = [],
  sort_dir: directions = [],
}: ServerQuery): (a: Instance, b: Instance) => number {
  const wanted = keys.map((key, at) => ({ key, isDown: (directions[at] ?? directions.at(-1)) !== 'asc' }));
  const order: { readonly key: ServerSortKey | 'id'; readonly isDown: boolean }[] = [
    ...wanted,
    { key: 'created_at', isDown: true },
    { key: 'id', isDown: true },
  ];
  return (a, b) => {
    for (const { key, isDown } of order) {
      const difference = compare(sortValue(a, key), sortValue(b, key));
      if (difference !== 0) return isDown ? -difference : difference;
    }
    return 0;
  };
}

function sortValue(instance: Instance, key: keyof InstanceFields): string | number {
  const value: unknown = instance.find(key);
  if (value instanceof Date) return value.getTime();
  if (typeof value === 'number' || typeof value === 'string') return value;
  return value === true ? 1 : '';
}

function compare(a: string | number, b: string | number): number {
  if (typeof a === typeof b) return a < b ? -1 : Number(a > b);
  return typeof a === 'string' ? -1 : 1; // what has no value comes first
}
