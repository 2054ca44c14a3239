import { ConfigurationError, redactText } from '@ebbgate/core';

/** Where records are kept. */
export type DatabaseUrl =
  | { readonly kind: 'memory' }
  | { readonly kind: 'sqlite'; readonly file: string }
  | { readonly kind: 'postgresql'; readonly url: string; readonly label: string };

/** The name under which SQLite keeps a database in memory. */
export const IN_MEMORY = ':memory:';

const FORMS = 'memory:, sqlite::memory:, sqlite:///relative/path, sqlite:////absolute/path, postgresql://…';

/**
 * Reads a database URL. SQLite paths are written as SQLAlchemy writes them: `sqlite:///nova.sqlite` is relative to the
 * working directory, `sqlite:////var/lib/nova.sqlite` is absolute. Reserved characters are percent-encoded.
 *
 * @throws ConfigurationError (`ERR_CONFIGURATION`) that says what is wrong, without the credentials in the URL
 */
export function parseDatabaseUrl(text: string): DatabaseUrl {
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(text)?.[1]?.toLowerCase();
  if (scheme === 'memory') return memory(text);
  if (scheme === 'sqlite') return sqlite(text);
  if (scheme === 'postgresql' || scheme === 'postgres') return postgresql(text);
  if (scheme === undefined) throw refused(text, `it has no scheme; it must be one of ${FORMS}`);
  const driver = scheme.startsWith('postgresql+') ? ' (leave out the driver: postgresql://…)' : '';
  throw refused(text, `${scheme}: is not known${driver}; it must be one of ${FORMS}`);
}

/**
 * Do the records at this URL live in one process only?
 * @throws ConfigurationError (`ERR_CONFIGURATION`) as {@link parseDatabaseUrl}
 */
export function isPrivate(url: string): boolean {
  const database = parseDatabaseUrl(url);
  return database.kind === 'memory' || (database.kind === 'sqlite' && database.file === IN_MEMORY);
}

function memory(text: string): DatabaseUrl {
  if (text !== 'memory:') throw refused(text, 'memory: takes nothing behind it');
  return { kind: 'memory' };
}

function sqlite(text: string): DatabaseUrl {
  if (text === 'sqlite::memory:' || text === 'sqlite://') return { kind: 'sqlite', file: IN_MEMORY };
  const path = /^sqlite:\/\/\/([^?#]+)$/i.exec(text)?.[1];
  if (path === undefined) {
    throw refused(
      text,
      'a file is named as sqlite:///relative/path or sqlite:////absolute/path, without a query',
    );
  }
  const file = decoded(text, path);
  if (file.includes('\0')) throw refused(text, 'the path holds a NUL character');
  return { kind: 'sqlite', file };
}

function postgresql(text: string): DatabaseUrl {
  if (!URL.canParse(text) || !/^postgres(?:ql)?:\/\//i.test(text)) {
    throw refused(
      text,
      'it must be postgresql://user:password@host:port/database, reserved characters percent-encoded',
    );
  }
  const url = new URL(text);
  const name = decoded(text, url.pathname.slice(1));
  if (name === '' || name.includes('/'))
    throw refused(text, 'it must end in the name of one database: …/nova');
  if (url.hash !== '') throw refused(text, 'it has a fragment; percent-encode # as %23');
  for (const part of [url.username, url.password]) decoded(text, part);
  return { kind: 'postgresql', url: text, label: `postgresql://${url.host}/${name}` };
}

function decoded(text: string, part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw refused(text, 'a percent sign begins no percent-encoding');
  }
}

function refused(text: string, why: string): ConfigurationError {
  const shown = redactText(text).slice(0, 200);
  return new ConfigurationError(`The database URL "${shown}" cannot be used: ${why}`);
}
