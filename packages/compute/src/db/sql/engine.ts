import type { Dialect } from 'kysely';

/**
 * What has gone wrong in a database. `busy`: others were at it, and nothing was written; `away`: there is no connection;
 * `constraint`: the records do not allow it; `other`: anything else.
 */
export type Fault = 'busy' | 'away' | 'constraint' | 'other';

/** One kind of database, opened. */
export interface Engine {
  readonly kind: 'sqlite' | 'postgresql';
  /** Names it in logs and errors; no credentials are in it. */
  readonly label: string;
  readonly dialect: Dialect;
  /** Undefined when the error is none of the database's. */
  fault(error: unknown): Fault | undefined;
}

/** The code that the drivers' errors carry. */
export function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const { code } = error as { readonly code?: unknown }; // looked at here
  return typeof code === 'string' ? code : undefined;
}
