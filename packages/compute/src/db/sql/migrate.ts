import { ConfigurationError } from '@ebbgate/core';
import { type Kysely, type Migration, Migrator, sql } from 'kysely';
import { firstTables } from './migrations/0001-records.js';
import { numberedServices } from './migrations/0002-services.js';
import { forcedDownNotes } from './migrations/0003-forced-down-notes.js';
import type { Engine } from './engine.js';

const TABLE = 'schema_migrations';
const LOCK_TABLE = 'schema_migrations_lock';

/** All steps from an empty database to the present tables, in order; what is released is never changed. */
function migrations(kind: Engine['kind']): Readonly<Record<string, Migration>> {
  return {
    '0001-records': firstTables(kind),
    '0002-services': numberedServices(kind),
    '0003-forced-down-notes': forcedDownNotes,
  };
}

/**
 * Brings the tables up to date, one process at a time: others that start meanwhile wait, and find it done. Resolves with
 * the names of the steps taken.
 *
 * @throws ConfigurationError (`ERR_CONFIGURATION`) when a newer version has been at the database; nothing was changed
 */
export async function migrate<Tables>(db: Kysely<Tables>, engine: Engine): Promise<readonly string[]> {
  if (engine.kind === 'postgresql') return run(db, engine); // which takes an advisory lock
  return db.connection().execute(async (connection) => {
    await sql`begin immediate`.execute(connection);
    try {
      const taken = await run(connection, engine);
      await sql`commit`.execute(connection);
      return taken;
    } catch (error) {
      await sql`rollback`.execute(connection);
      throw error;
    }
  });
}

async function run<Tables>(db: Kysely<Tables>, engine: Engine): Promise<readonly string[]> {
  const known = migrations(engine.kind);
  const migrator = new Migrator({
    db,
    provider: { getMigrations: async () => known },
    migrationTableName: TABLE,
    migrationLockTableName: LOCK_TABLE,
  });
  await refuseNewer(db, engine, new Set(Object.keys(known)));
  const { error, results = [] } = await migrator.migrateToLatest();
  if (error !== undefined) {
    await refuseNewer(db, engine, new Set(Object.keys(known))); // it came meanwhile
    throw error instanceof Error
      ? error
      : new Error('The tables could not be brought up to date', { cause: error });
  }
  return results.map(({ migrationName }) => migrationName);
}

async function refuseNewer<Tables>(
  db: Kysely<Tables>,
  { label }: Engine,
  known: ReadonlySet<string>,
): Promise<void> {
  const tables = await db.introspection.getTables({ withInternalKyselyTables: true });
  if (!tables.some(({ name }) => name === TABLE)) return;
  const { rows } = await sql<{
    readonly name: string;
  }>`select name from ${sql.table(TABLE)} order by name`.execute(db);
  const unknown = rows.map(({ name }) => name).filter((name) => !known.has(name));
  if (unknown.length === 0) return;
  throw new ConfigurationError(
    `The database ${label} is newer than this program: it has ${unknown.join(', ')}, which this version does not know. ` +
      'Start the newer version, or restore a backup from before it',
  );
}
