import { silentLogger } from '@ebbgate/core';
import { Kysely, sql } from 'kysely';
import { parseDatabaseUrl } from '#compute/db/database-url.js';
import type { Engine } from '#compute/db/sql/engine.js';
import { openPostgresql } from '#compute/db/sql/postgresql-engine.js';
import { openSqlite } from '#compute/db/sql/sqlite-engine.js';

/** Runs statements as they are. */
export interface RawDatabase {
  run(statement: string): Promise<void>;
  /** How a query would be run, if the tables were large. */
  plan(query: string): Promise<string>;
  close(): Promise<void>;
}

/** Another way to a database, past the records. */
export async function openDatabase(url: string): Promise<RawDatabase> {
  const engine = await engineAt(url);
  const db = new Kysely<unknown>({ dialect: engine.dialect });
  const explain = engine.kind === 'sqlite' ? 'explain query plan' : 'explain';
  return {
    run: async (statement) => {
      await sql.raw(statement).execute(db);
    },
    plan: (query) =>
      db.connection().execute(async (connection) => {
        if (engine.kind === 'postgresql') await sql.raw('set enable_seqscan = off').execute(connection);
        const { rows } = await sql.raw(`${explain} ${query}`).execute(connection);
        return JSON.stringify(rows);
      }),
    close: () => db.destroy(),
  };
}

async function engineAt(url: string): Promise<Engine> {
  const database = parseDatabaseUrl(url);
  if (database.kind === 'sqlite') return openSqlite(database.file);
  if (database.kind === 'postgresql') return openPostgresql(database.url, database.label, silentLogger);
  throw new TypeError('There is nothing to open');
}
