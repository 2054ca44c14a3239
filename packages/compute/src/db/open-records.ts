import type { Logger } from '@ebbgate/core';
import { parseDatabaseUrl } from './database-url.js';
import type { LocalRecords } from './local-records.js';
import { MemoryRecords } from './memory-records.js';

/** How records are opened. */
export interface OpenRecordsOptions {
  /** Hears of a database that is away, and of steps taken to bring its tables up to date. */
  readonly logger: Logger;
  /** While the database is away or busy, everything is tried again for so long; default 15000. */
  readonly patienceMs?: number;
}

/**
 * Opens the records at a URL, and makes or brings up to date the tables of a database; several processes may do so at
 * once.
 *
 * - `memory:`: in this process, gone with it.
 * - `sqlite::memory:`: likewise, in SQLite.
 * - `sqlite:///nova.sqlite`: a file, relative to the working directory; `sqlite:////var/lib/nova.sqlite`: an absolute path,
 *   as SQLAlchemy writes it. For several processes of one machine.
 * - `postgresql://user:password@host:port/database`: for processes of several machines.
 *
 * @throws ConfigurationError (`ERR_CONFIGURATION`) when the URL cannot be used, or a newer version of this program has
 * been at the database; DatabaseError (`ERR_DATABASE`) when it cannot be reached, or refuses. No text tells the password.
 * @example
 * const records = await openRecords('sqlite:///nova.sqlite', { logger });
 */
export async function openRecords(url: string, options: OpenRecordsOptions): Promise<LocalRecords> {
  return open(url, options);
}

/** As {@link openRecords}, but waits as long as it takes for a database that cannot be reached. */
export async function waitForRecords(url: string, logger: Logger): Promise<LocalRecords> {
  return open(url, { logger, waits: true });
}

async function open(
  url: string,
  options: OpenRecordsOptions & { readonly waits?: boolean },
): Promise<LocalRecords> {
  const database = parseDatabaseUrl(url);
  const { logger } = options;
  if (database.kind === 'memory') {
    return new MemoryRecords((error, event) => {
      logger.error({ err: error, event }, 'A listener to the records failed');
    });
  }
  // Loaded when they are needed: most processes have no database.
  const { SqlRecords } = await import('./sql/sql-records.js');
  if (database.kind === 'sqlite') {
    const { openSqlite } = await import('./sql/sqlite-engine.js');
    return SqlRecords.open(await openSqlite(database.file), options);
  }
  const { openPostgresql } = await import('./sql/postgresql-engine.js');
  return SqlRecords.open(await openPostgresql(database.url, database.label, logger), options);
}
