import { mkdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import { ConfigurationError } from '@ebbgate/core';

/** Name of the database in the folder of what is kept. */
const DATABASE = 'records.sqlite';

/** Where a daemon keeps what it keeps, when nothing else is said: a folder of this user, one for each exchange. */
export function defaultStateDir(exchange: string): string {
  const data = process.env['XDG_DATA_HOME'];
  const isSet = data !== undefined && isAbsolute(data); // as the XDG base directory specification wants it
  return join(isSet ? data : join(homedir(), '.local', 'share'), 'ebbgate-compute', exchange);
}

/**
 * Makes a folder when it is not there.
 * @param what - what is in it; `flags`: those by which another one is given; `mode`: by default it is for this user alone
 * @throws ConfigurationError (`ERR_CONFIGURATION`) when it cannot be made
 */
export function makeFolder(folder: string, what: string, flags: string, mode = 0o700): void {
  try {
    mkdirSync(folder, { recursive: true, mode });
  } catch (error) {
    throw new ConfigurationError(`The folder ${folder} of the ${what} cannot be made: give ${flags}`, {
      cause: error,
    });
  }
}

/** The URL of the SQLite file in a folder; otherwise as {@link makeFolder}. */
export function databaseIn(stateDir: string): string {
  makeFolder(stateDir, 'database', '--database or --state-dir');
  return `sqlite:///${resolve(stateDir, DATABASE).split('/').map(encodeURIComponent).join('/')}`;
}
