import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Logger, MessagingError, type Outcome, redactedCause, redactText } from '@ebbgate/core';
import { Kysely, type SelectQueryBuilder, type Transaction } from 'kysely';
import { DatabaseError, UnexpectedStateError } from '../../errors.js';
import type { Engine, Fault } from './engine.js';
import { LimitedPatience, type Patience } from './patience.js';
import type { Schema } from './schema.js';

/** What repositories read with. */
export type Reader = Kysely<Schema>;
/** What repositories write with. */
export type Writer = Transaction<Schema>;

/** How a database is used. */
export interface SqlDatabaseOptions {
  readonly logger: Logger;
  /** While it is away or busy, everything is tried again for so long; default 15000. */
  readonly patienceMs?: number;
}

/** While a database is away or busy, everything is tried again for so long, unless it is said. */
export const PATIENCE_MS = 15_000;

/** How far a transaction is. */
interface Progress {
  /** Everything is written, and the order to commit is out: whether it was obeyed is not known until it is answered. */
  committing: boolean;
}

/**
 * One database, with what can be tried again: while it is busy or away, whatever has certainly not been committed is
 * begun anew, for a while. Errors of the drivers leave it as ours, without credentials.
 */
export class SqlDatabase {
  readonly engine: Engine;
  /** For migrations; all else goes through the methods. */
  readonly kysely: Kysely<Schema>;
  readonly #logger: Logger;
  readonly #patienceMs: number;
  #away = false;
  readonly #closed = new AbortController();

  constructor(engine: Engine, { logger, patienceMs = PATIENCE_MS }: SqlDatabaseOptions) {
    this.engine = engine;
    this.kysely = new Kysely<Schema>({ dialect: engine.dialect });
    this.#logger = logger;
    this.#patienceMs = patienceMs;
    setMaxListeners(0, this.#closed.signal); // all that wait while it is away
  }

  /**
   * Reads; may be called several times.
   * @param patience - default: that of all else
   * @throws DatabaseError (`ERR_DATABASE`)
   */
  read<T>(work: (db: Reader) => Promise<T>, patience?: Patience): Promise<T> {
    return this.#patiently(() => work(this.kysely), patience);
  }

  /**
   * Reads and writes as one transaction, none other writing the same meanwhile; may be called several times.
   * @throws DatabaseError (`ERR_DATABASE`), with outcome `unknown` when the connection was lost while it was committed;
   * UnexpectedStateError (`ERR_UNEXPECTED_STATE`) when a constraint of the tables does not allow it
   */
  write<T>(work: (db: Writer) => Promise<T>): Promise<T> {
    return this.#patiently((progress) =>
      this.kysely.transaction().execute(async (transaction) => {
        progress.committing = false;
        const result = await work(transaction);
        progress.committing = true;
        return result;
      }),
    );
  }

  /** Keeps the rows read from being changed by others until the transaction ends; SQLite has one writer anyhow. */
  locked<Tables, Table extends keyof Tables, Row>(
    query: SelectQueryBuilder<Tables, Table, Row>,
  ): SelectQueryBuilder<Tables, Table, Row> {
    return this.engine.kind === 'postgresql' ? query.forUpdate() : query;
  }

  /** Closes it, once what is under way is done. Idempotent. */
  async close(): Promise<void> {
    if (this.#closed.signal.aborted) return;
    this.#closed.abort();
    await this.kysely.destroy();
  }

  async #patiently<T>(
    attempt: (progress: Progress) => Promise<T>,
    patience: Patience = new LimitedPatience(this.#patienceMs),
  ): Promise<T> {
    for (;;) {
      if (this.#closed.signal.aborted) throw this.#error('is closed', 'not-sent');
      const progress: Progress = { committing: false };
      try {
        const result = await attempt(progress);
        this.#back();
        return result;
      } catch (error) {
        const fault = error instanceof MessagingError ? undefined : this.engine.fault(error);
        if (fault === undefined) throw error;
        await this.#endure(fault, error, progress, patience);
      }
    }
  }

  /** Waits before the next try, or throws what the caller is told. */
  async #endure(fault: Fault, error: unknown, { committing }: Progress, patience: Patience): Promise<void> {
    if (fault === 'constraint') {
      throw new UnexpectedStateError(`${this.engine.label} does not allow it: ${textOf(error)}`, {
        cause: redactedCause(error),
      });
    }
    if (fault === 'other') throw this.#error('has failed', 'not-sent', error);
    if (fault === 'away') {
      this.#gone(error);
      if (committing) throw this.#error('was lost while a change was committed', 'unknown', error);
    }
    const what = fault === 'away' ? 'cannot be reached' : 'is busy';
    const mostMs = patience.nextMs(fault);
    if (mostMs === undefined) throw this.#error(what, 'not-sent', error);
    await sleep(mostMs * (0.2 + Math.random() * 0.8), undefined, { signal: this.#closed.signal }).catch(
      () => undefined, // closed meanwhile: the next round says so
    );
  }

  #gone(error: unknown): void {
    if (this.#away) return;
    this.#away = true;
    this.#logger.warn(
      { database: this.engine.label, reason: textOf(error) },
      'The database cannot be reached; it is tried again',
    );
  }

  #back(): void {
    if (!this.#away) return;
    this.#away = false;
    this.#logger.info({ database: this.engine.label }, 'The database can be reached again');
  }

  #error(what: string, outcome: Outcome, error?: unknown): DatabaseError {
    const why = error === undefined ? '' : `: ${textOf(error)}`;
    return new DatabaseError(`The database ${this.engine.label} ${what}${why}`, {
      outcome,
      ...(error !== undefined && { cause: redactedCause(error) }),
    });
  }
}

/** What a driver says; of a host with several addresses, none of which answers, what the first says. */
function textOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return textOf(error.errors[0]);
  return redactText(error instanceof Error ? error.message : String(error)).slice(0, 500);
}
