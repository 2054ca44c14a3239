import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { IN_MEMORY, parseDatabaseUrl } from '../db/database-url.js';

/** Where a job has its records. */
export interface JobDatabase {
  readonly url: string;
  /** For people; without credentials. */
  readonly label: string;
  /** What an earlier job has left may still be there. */
  readonly lasting: boolean;
  /** Removes what was made for this job. */
  remove(): Promise<void>;
}

/**
 * The database that was asked for, or a new SQLite file that goes with the job.
 * @throws ConfigurationError (`ERR_CONFIGURATION`) for a URL that cannot be used
 */
export async function jobDatabase(url: string | undefined, temporaryFolder: string): Promise<JobDatabase> {
  if (url !== undefined) return { url, ...describe(url), remove: () => Promise.resolve() };
  const folder = await mkdtemp(join(temporaryFolder, 'ebbgate-records-'));
  return {
    url: `sqlite:///${encodeURI(join(folder, 'records.sqlite')).replace(/[?#]/g, encodeURIComponent)}`,
    label: 'SQLite, in a file of their own',
    lasting: false,
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

function describe(url: string): { readonly label: string; readonly lasting: boolean } {
  const database = parseDatabaseUrl(url);
  if (database.kind === 'memory') return { label: 'in memory', lasting: false };
  if (database.kind === 'postgresql') return { label: database.label, lasting: true };
  if (database.file === IN_MEMORY) return { label: 'SQLite, in memory', lasting: false };
  return { label: `SQLite, ${database.file}`, lasting: true };
}
