import { open } from 'node:fs/promises';
import { dirname, isAbsolute, resolve } from 'node:path';
import { ConfigurationError } from '@ebbgate/core';
import type Sqlite from 'better-sqlite3';
import {
  CompiledQuery,
  type DatabaseConnection,
  SqliteDialect,
  type SqliteDialectConfig,
  SqliteDriver,
  type SqliteDatabase,
  type SqliteStatement,
} from 'kysely';
import { DatabaseError } from '../../errors.js';
import { IN_MEMORY } from '../database-url.js';
import { codeOf, type Engine, type Fault } from './engine.js';
import { fastStatement } from './sqlite-rows.js';

/** More than there are different statements, so that it bounds what hostile searches could fill. */
const MOST_STATEMENTS = 500;

/**
 * Opens a file, which is made when it is missing, readable by its owner only. Committed means on the disk: a
 * write-ahead log, and each commit waits for it.
 * @throws ConfigurationError (`ERR_CONFIGURATION`) when there is no such folder, or no access to it
 */
export async function openSqlite(file: string): Promise<Engine> {
  const Driver = await loadDriver();
  const label = file === IN_MEMORY ? 'sqlite::memory:' : `sqlite:///${file}`;
  if (file !== IN_MEMORY) await makeFile(file, label);
  // No waiting in here: it would hold up this whole process. Who finds the database busy tries again, see SqlDatabase.
  const database = new Driver(file, { timeout: 0 });
  const dialect = new ImmediateDialect({
    database: cachingStatements(database),
    onCreateConnection: async (connection) => {
      for (const pragma of ['journal_mode = WAL', 'synchronous = FULL', 'foreign_keys = ON']) {
        await connection.executeQuery(CompiledQuery.raw(`PRAGMA ${pragma}`));
      }
    },
  });
  return { kind: 'sqlite', label, dialect, fault };
}

async function loadDriver(): Promise<typeof Sqlite> {
  const hint =
    'better-sqlite3 cannot be loaded: reinstall it with this version of Node (npm rebuild better-sqlite3)';
  try {
    const { default: Driver } = await import('better-sqlite3');
    new Driver(IN_MEMORY).close(); // its native part is loaded with the first database
    return Driver;
  } catch (cause) {
    throw new DatabaseError(hint, { cause });
  }
}

async function makeFile(file: string, label: string): Promise<void> {
  try {
    await (await open(file, 'a', 0o600)).close();
  } catch (error) {
    const path = resolve(file);
    const hint = isAbsolute(file)
      ? ''
      : ' (three slashes are relative to the working directory, four absolute)';
    const why =
      codeOf(error) === 'ENOENT'
        ? `there is no folder ${dirname(path)}${hint}`
        : `${path} cannot be written: ${codeOf(error) ?? 'for an unknown reason'}`;
    throw new ConfigurationError(`The database ${label} cannot be opened: ${why}`);
  }
}

function cachingStatements(database: Sqlite.Database): SqliteDatabase {
  const statements = new Map<string, SqliteStatement>();
  return {
    close: () => void database.close(),
    prepare: (text) => {
      const known = statements.get(text);
      if (known) return known;
      const statement = fastStatement(database.prepare(text));
      if (statements.size >= MOST_STATEMENTS) statements.clear();
      statements.set(text, statement);
      return statement;
    },
  };
}

/** Takes the write lock when a transaction begins: one that begins as a reader can find out too late that it may not write. */
class ImmediateDriver extends SqliteDriver {
  override async beginTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw('begin immediate'));
  }
}

class ImmediateDialect extends SqliteDialect {
  readonly #config: SqliteDialectConfig;

  constructor(config: SqliteDialectConfig) {
    super(config);
    this.#config = config;
  }

  override createDriver(): SqliteDriver {
    return new ImmediateDriver(this.#config);
  }
}

function fault(error: unknown): Fault | undefined {
  const code = codeOf(error) ?? '';
  if (!(error instanceof Error) || (error.name !== 'SqliteError' && !code.startsWith('SQLITE_')))
    return undefined;
  if (/^SQLITE_(?:BUSY|LOCKED)/.test(code)) return 'busy';
  return code.startsWith('SQLITE_CONSTRAINT') ? 'constraint' : 'other';
}
