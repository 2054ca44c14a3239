import { MessagingError, MessagingTimeoutError } from '@ebbgate/core';
import { UnexpectedStateError } from '../errors.js';
import type { HostContext } from './host-context.js';
import { tryAgain } from './try-again.js';

/** Codes that tell of the way to the records, not of what is in them: what was asked for may have happened. */
const UNANSWERED: ReadonlySet<string> = new Set([
  'ERR_TIMEOUT',
  'ERR_UNDELIVERABLE',
  'ERR_DELIVERY',
  'ERR_BACKPRESSURE',
  'ERR_DATABASE',
]);

/** How long, and how, records are waited for. */
export type Patience = Pick<HostContext, 'lifetime' | 'logger' | 'recordsPatienceMs'>;

/** The records did not answer for as long as they are waited for (`ERR_TIMEOUT`): the write may have happened, or not. */
export class UnsettledWriteError extends MessagingTimeoutError {
  static override readonly kind: string = 'UnsettledWriteError';
}

/** A write of a record, and how its writer knows it again. */
export interface SureWrite<Record> {
  readonly write: () => Promise<Record>;
  readonly read: () => Promise<Record>;
  /** Does the record say what was written, and could nobody but this writer have written it? */
  readonly isWritten: (record: Record) => boolean;
}

/**
 * Writes a record, again while no answer comes. An answer can be lost after the write has happened; then the next try finds
 * another state than it expects, and the record is asked: what it says is what counts. For writes after which somebody
 * else may have gone on already; the records of a host see to all others themselves (`patient-records.ts`).
 * @throws UnsettledWriteError (`ERR_TIMEOUT`) when nobody has answered for `recordsPatienceMs`;
 * UnexpectedStateError (`ERR_UNEXPECTED_STATE`) when somebody else has changed the record: this write has not happened
 */
export async function writeSurely<Record>(host: Patience, steps: SureWrite<Record>): Promise<Record> {
  let tries = 0;
  return onceAnswered(host, async () => {
    tries += 1;
    try {
      return await steps.write();
    } catch (error) {
      if (!(error instanceof UnexpectedStateError)) throw error;
      if (tries === 1 && error.outcome !== 'unknown') throw error;
      const record = await steps.read();
      if (steps.isWritten(record)) return record;
      throw error;
    }
  });
}

/**
 * Asks the records something, again with growing pauses while no answer comes: what may be done twice.
 * @throws UnsettledWriteError (`ERR_TIMEOUT`) when nobody has answered for `recordsPatienceMs`; OperationAbortedError
 * (`ERR_ABORTED`) when the process ends; otherwise what the records reject with
 */
export async function onceAnswered<T>(host: Patience, step: () => Promise<T>): Promise<T> {
  const { lifetime, logger, recordsPatienceMs } = host;
  const lastMs = performance.now() + recordsPatienceMs;
  const onFailure = (error: unknown, delayMs: number): void => {
    // One that was waited for already is not waited for as long once more.
    if (error instanceof UnsettledWriteError) throw error;
    if (!(error instanceof MessagingError) || !UNANSWERED.has(error.code)) throw error;
    if (performance.now() + delayMs > lastMs) {
      throw new UnsettledWriteError('The records have not answered', { cause: error });
    }
    logger.warn({ err: error }, 'The records do not answer: the operation waits');
  };
  return tryAgain(step, onFailure, lifetime);
}
