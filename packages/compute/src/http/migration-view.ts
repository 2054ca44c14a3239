import type { Migration } from '../objects/migration.js';
import type { MigrationStatus } from '../objects/states.js';
import type { RouteInput } from './api-routes.js';
import { timeOrNull } from './times.js';

/** Live migrations that are shown with their servers: upstream's statuses. */
const IN_PROGRESS: ReadonlySet<MigrationStatus> = new Set([
  'queued',
  'preparing',
  'running',
  'post-migrating',
]);
const TYPE_MINOR = 23;
const UUID_MINOR = 59;
const USER_MINOR = 80;

/** Is it a live migration that is not over yet? */
export function isInProgress(migration: Migration): boolean {
  return migration.get('migration_type') === 'live-migration' && IN_PROGRESS.has(migration.get('status'));
}

/** As the list of all migrations shows it. */
export function migrationView(
  migration: Migration,
  { version: { minor }, links }: Pick<RouteInput<undefined, undefined>, 'version' | 'links'>,
): object {
  const [id, server] = [migration.get('id'), migration.get('instance_uuid')];
  return {
    ...common(migration, minor),
    instance_uuid: server,
    old_instance_type_id: migration.find('old_instance_type_id') ?? null,
    new_instance_type_id: migration.find('new_instance_type_id') ?? null,
    ...(minor >= TYPE_MINOR && { migration_type: migration.get('migration_type') }),
    ...(minor >= TYPE_MINOR &&
      isInProgress(migration) && { links: links.to(`/servers/${server}/migrations/${String(id)}`) }),
  };
}

/** As a live migration in progress is shown with its server: with what is copied, in bytes. */
export function serverMigrationView(migration: Migration, minor: number): object {
  return {
    ...common(migration, minor),
    server_uuid: migration.get('instance_uuid'),
    memory_total_bytes: migration.find('memory_total') ?? null,
    memory_processed_bytes: migration.find('memory_processed') ?? null,
    memory_remaining_bytes: migration.find('memory_remaining') ?? null,
    disk_total_bytes: migration.find('disk_total') ?? null,
    disk_processed_bytes: migration.find('disk_processed') ?? null,
    disk_remaining_bytes: migration.find('disk_remaining') ?? null,
  };
}

function common(migration: Migration, minor: number): object {
  return {
    id: migration.get('id'),
    ...(minor >= UUID_MINOR && { uuid: migration.get('uuid') }),
    status: migration.get('status'),
    source_compute: migration.find('source_compute') ?? null,
    source_node: migration.find('source_node') ?? null,
    dest_compute: migration.find('dest_compute') ?? null,
    dest_node: migration.find('dest_node') ?? null,
    dest_host: migration.find('dest_host') ?? null,
    ...(minor >= USER_MINOR && {
      user_id: migration.find('user_id') ?? null,
      project_id: migration.find('project_id') ?? null,
    }),
    created_at: timeOrNull(migration.find('created_at')),
    updated_at: timeOrNull(migration.find('updated_at')),
  };
}
