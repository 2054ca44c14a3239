import type { Migration } from '../objects/migration.js';
import { isHidden } from '../cells/cell-access.js';
import { allRecords } from './all-cells.js';
import type { ApiRoutes, RouteInput } from './api-routes.js';
import type { HttpParts } from './app.js';
import { badRequest } from './http-error.js';
import { MIGRATION_QUERIES, type MigrationQuery, MIGRATIONS_ANSWER } from './migration-schemas.js';
import { migrationView } from './migration-view.js';
import { pageOf } from './paging.js';

type ListInput = RouteInput<undefined, MigrationQuery>;

const PATH = '/os-migrations';
const PAGING_MINOR = 59;

/** `os-migrations`: all moves of instances, past and present. */
export function registerMigrations(routes: ApiRoutes, parts: HttpParts): void {
  routes.add<undefined, MigrationQuery>({
    method: 'GET',
    path: PATH,
    summary: 'Lists the migrations of all servers; from 2.59 the newest first, in pages',
    policy: 'os_compute_api:os-migrations:index',
    query: MIGRATION_QUERIES,
    check: checkTimes,
    status: 200,
    answer: MIGRATIONS_ANSWER,
    errors: [],
    handle: async (input) => {
      const { migrations } = await allRecords(parts);
      const { instance_uuid } = input.query;
      const all = await migrations.find({ ...(instance_uuid !== undefined && { instance_uuid }) });
      return listOf(
        all.filter((one) => !isHidden(one) && fits(one, input.query)),
        input,
      );
    },
  });
}

/** @throws HttpError 400 */
function checkTimes({ query }: ListInput): void {
  const { 'changes-since': since, 'changes-before': before } = query;
  if (!since || !before || since <= before) return;
  throw badRequest('The value of changes-since must be less than or equal to changes-before.');
}

function listOf(found: readonly Migration[], input: ListInput): object {
  const { query, links, version } = input;
  if (version.minor < PAGING_MINOR) return { migrations: found.map((one) => migrationView(one, input)) };
  const idOf = (migration: Migration): string => migration.get('uuid');
  const page = pageOf([...found].sort(newestFirst), query, { links, path: PATH, idOf });
  return {
    migrations: page.items.map((one) => migrationView(one, input)),
    ...(page.links.length > 0 && { migrations_links: page.links }),
  };
}

function fits(migration: Migration, query: MigrationQuery): boolean {
  const { host, source_compute, status, migration_type, user_id, project_id } = query;
  const source = migration.find('source_compute');
  const is = (wanted: string | undefined, value: string | null | undefined): boolean =>
    wanted === undefined || wanted === value;
  return (
    !isYes(query.hidden) && // what is hidden is never shown
    // `host` goes before `source_compute`, as upstream.
    (host === undefined
      ? is(source_compute, source)
      : [source, migration.find('dest_compute')].includes(host)) &&
    is(status, migration.get('status')) &&
    is(migration_type, migration.get('migration_type')) &&
    is(user_id, migration.find('user_id')) &&
    is(project_id, migration.find('project_id')) &&
    changedWithin(migration, query)
  );
}

function isYes(text: string | undefined): boolean {
  return text !== undefined && /^(?:1|true|yes|on)$/i.test(text);
}

function changedWithin(
  migration: Migration,
  { 'changes-since': since, 'changes-before': before }: MigrationQuery,
): boolean {
  const changedAt = migration.find('updated_at') ?? migration.find('created_at') ?? null;
  return changedAt === null || ((!since || changedAt >= since) && (!before || changedAt <= before));
}

function newestFirst(a: Migration, b: Migration): number {
  const [first, second] = [a, b].map((one) => one.find('created_at')?.getTime() ?? 0);
  return (second ?? 0) - (first ?? 0) || b.get('id') - a.get('id');
}
