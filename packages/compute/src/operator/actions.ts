import type { Instance } from '../objects/instance.js';
import type { Migration } from '../objects/migration.js';
import type { Ending } from './follow.js';
import type { RemoteApi } from '../api/remote-api.js';
import type { Operated } from './work.js';

/** One command to an instance. */
export interface Action {
  readonly name: string;
  readonly summary: string;
  /** Options besides those that all have: flags and what they are. */
  readonly options?: readonly (readonly [flags: string, text: string])[];
  /** What the instance becomes, for the word that the request is out: `stops`. */
  readonly doing: string;
  readonly ending: Ending;
  /** It makes a migration of its own; else the newest one is meant. */
  readonly isMove?: boolean;
  /** Asks for it; may resolve with something to tell. @throws OperatorUsageError for an option that is wrong */
  readonly ask: (asked: Asked) => Promise<string | undefined>;
}

/** What is asked for. */
export interface Asked extends Omit<Operated, 'api'> {
  /** Of its cell. */
  readonly api: RemoteApi;
  readonly instance: Instance;
  readonly uuid: string;
  readonly move: Migration | undefined;
  /** Options as they were given. */
  readonly given: Readonly<Record<string, unknown>>;
}

/** The text of an option; undefined when it was not given. */
export function textOf(given: Readonly<Record<string, unknown>>, name: string): string | undefined {
  const value = given[name];
  return typeof value === 'string' ? value : undefined;
}
