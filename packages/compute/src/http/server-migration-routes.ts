import { ABORTABLE } from '../api/actions.js';
import type { Instance } from '../objects/instance.js';
import type { Migration } from '../objects/migration.js';
import type { MigrationStatus } from '../objects/states.js';
import type { ApiRoutes, RouteInput } from './api-routes.js';
import type { HttpParts } from './app.js';
import { badRequest, HttpError, notFound } from './http-error.js';
import {
  FORCE_COMPLETE_BODIES,
  type ForceCompleteBody,
  SERVER_MIGRATION_ANSWER,
  SERVER_MIGRATIONS_ANSWER,
} from './migration-schemas.js';
import { isInProgress, serverMigrationView } from './migration-view.js';
import { type FoundServer, ServerDirectory } from './server-directory.js';

type PathInput = RouteInput<unknown, undefined>;

const POLICY = 'os_compute_api:servers:migrations';
const ALL = '/servers/{server_id}/migrations';
const ONE = `${ALL}/{migration_id}`;
const ABORT_QUEUED_MINOR = 65;

/** `servers/{id}/migrations`: the live migrations of a server that are not over, and what can be done with them. */
export function registerServerMigrations(routes: ApiRoutes, parts: HttpParts): void {
  const migrations = new ServerMigrations(parts);
  routes.add({
    method: 'GET',
    path: ALL,
    summary: 'Lists the live migrations of a server that are in progress',
    policy: `${POLICY}:index`,
    since: 23,
    status: 200,
    answer: SERVER_MIGRATIONS_ANSWER,
    errors: [404],
    handle: (input) => migrations.list(input),
  });
  routes.add({
    method: 'GET',
    path: ONE,
    summary: 'Shows a live migration that is in progress, and how much of it is copied',
    policy: `${POLICY}:show`,
    since: 23,
    status: 200,
    answer: SERVER_MIGRATION_ANSWER,
    errors: [404],
    handle: (input) => migrations.show(input),
  });
  routes.add({
    method: 'DELETE',
    path: ONE,
    summary: 'Aborts a live migration that runs, from 2.65 also one that is queued',
    policy: `${POLICY}:delete`,
    since: 24,
    status: 202,
    errors: [404, 409],
    handle: (input) => migrations.abort(input),
  });
  routes.add<ForceCompleteBody>({
    method: 'POST',
    path: `${ONE}/action`,
    summary: 'Ends the copying of a live migration that runs: its guest stands still for the rest',
    policy: `${POLICY}:force_complete`,
    since: 22,
    body: FORCE_COMPLETE_BODIES,
    status: 202,
    errors: [404, 409],
    handle: (input) => migrations.forceComplete(input),
  });
}

class ServerMigrations {
  readonly #servers: ServerDirectory;

  constructor(parts: HttpParts) {
    this.#servers = new ServerDirectory(parts);
  }

  async list(input: PathInput): Promise<unknown> {
    const all = await this.#migrationsOf(await this.#find(input));
    const shown = all.filter(isInProgress).map((one) => serverMigrationView(one, input.version.minor));
    return { migrations: shown };
  }

  async show(input: PathInput): Promise<unknown> {
    const found = await this.#find(input);
    const [uuid, id] = [found.instance.get('uuid'), input.param('migration_id')];
    const migration = await this.#migration(found, id);
    if (!migration) throw notFound(`In-progress live migration ${id} is not found for server ${uuid}.`);
    if (migration.get('migration_type') !== 'live-migration')
      throw notFound(`Migration ${id} for server ${uuid} is not live-migration.`);
    if (!isInProgress(migration))
      throw notFound(`Live migration ${id} for server ${uuid} is not in progress.`);
    return { migration: serverMigrationView(migration, input.version.minor) };
  }

  async abort(input: PathInput): Promise<void> {
    const what = 'abort live migration';
    const found = await this.#find(input);
    checkState(what, found.instance, 'task_state', 'migrating');
    const id = input.param('migration_id');
    const migration = await this.#migration(found, id);
    if (!migration) throw notFound(notThere(found.instance, id));
    checkStatus(migration, input.version.minor >= ABORT_QUEUED_MINOR ? ABORTABLE : ['running'], what);
    await found.api.actions.abortLiveMigration(input.context, found.instance.get('uuid'));
  }

  async forceComplete(input: PathInput): Promise<void> {
    const what = 'force_complete';
    const found = await this.#find(input);
    checkState(what, found.instance, 'vm_state', 'active');
    checkState(what, found.instance, 'task_state', 'migrating');
    const id = input.param('migration_id');
    const migration = await this.#migration(found, id);
    if (!migration) throw badRequest(notThere(found.instance, id)); // as upstream
    checkStatus(migration, ['running'], 'force complete');
    await found.api.actions.forceCompleteLiveMigration(input.context, found.instance.get('uuid'));
  }

  #find(input: PathInput): Promise<FoundServer> {
    return this.#servers.find(input, input.param('server_id'));
  }

  #migrationsOf({ instance, api }: FoundServer): Promise<readonly Migration[]> {
    return api.parts.records.migrations.find({ instance_uuid: instance.get('uuid') });
  }

  /** Numbers are those of a cell. */
  async #migration(found: FoundServer, id: string): Promise<Migration | undefined> {
    return (await this.#migrationsOf(found)).find((one) => String(one.get('id')) === id);
  }
}

function notThere(instance: Instance, id: string): string {
  return `Migration ${id} not found for instance ${instance.get('uuid')}`;
}

/** @throws HttpError 409 */
function checkState(what: string, instance: Instance, name: 'task_state' | 'vm_state', wanted: string): void {
  const state = instance.get(name);
  if (state === wanted) return;
  throw new HttpError(
    409,
    `Cannot '${what}' instance ${instance.get('uuid')} while it is in ${name} ${state ?? 'None'}`,
  );
}

/** @throws HttpError 400 */
function checkStatus(migration: Migration, allowed: readonly MigrationStatus[], what: string): void {
  const status = migration.get('status');
  if (migration.get('migration_type') === 'live-migration' && allowed.includes(status)) return;
  throw badRequest(
    `Migration ${String(migration.get('id'))} state of instance ${migration.get('instance_uuid')} is ${status}. Cannot ${what} while the migration is in this state.`,
  );
}
