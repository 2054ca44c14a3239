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
 * The URL of the SQLite file in a folder, which is made when it is not there: for this user alone.
 * @throws ConfigurationError (`ERR_CONFIGURATION`) when it cannot be made
 */
export function databaseIn(stateDir: string): string {
  try {
    mkdirSync(stateDir, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new ConfigurationError(
      `The folder ${stateDir} of the database cannot be made: give --database or --state-dir`,
      { cause: error },
    );
  }
  return `sqlite:///${resolve(stateDir, DATABASE).split('/').map(encodeURIComponent).join('/')}`;
}
