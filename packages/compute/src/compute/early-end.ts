import type { TaskAbort } from '@ebbgate/service';
import { OperationAbortedError } from '../errors.js';

/** How long it may take to put an operation back: records and the other host are told, perhaps more than once. */
export const PUT_BACK_MS = 10_000;

/** By what an operation ends that a drain aborts. @param reason - why, in words that users may read */
export function abortedBy(reason: Error): OperationAbortedError {
  return new OperationAbortedError(reason.message, { cause: reason });
}

/** The end of an operation before it is complete, when a drain has no time left for it; until there is no way back. */
export class EarlyEnd {
  /** For the record of the task. */
  readonly abort: TaskAbort;
  readonly #end = new AbortController();
  #isTooLate = false;

  constructor(needsMs?: () => number | undefined) {
    const begin = (reason: Error): boolean => {
      if (!this.#isTooLate) this.#end.abort(abortedBy(reason));
      return !this.#isTooLate;
    };
    this.abort = { begin, reserveMs: PUT_BACK_MS, ...(needsMs && { needsMs }) };
  }

  /** Aborts when it is to end. */
  get signal(): AbortSignal {
    return this.#end.signal;
  }

  /** There is no way back from here on: the operation completes. */
  pass(): void {
    this.#isTooLate = true;
  }
}
