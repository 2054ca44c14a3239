import { onAbort } from '@ebbgate/core';
import { OperationAbortedError } from '../errors.js';

/** How the fake hypervisor lets time pass; tests may give one that waits for a word instead. */
export type Pause = (ms: number, signal?: AbortSignal) => Promise<void>;

/** Resolves after `ms` milliseconds; rejects with OperationAbortedError when `signal` aborts. Leaves no timer behind. */
export const pause: Pause = (ms, signal) =>
  new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(aborted(signal));
      return;
    }
    let leave = (): void => undefined;
    const timer = setTimeout(() => {
      leave();
      resolve();
    }, ms);
    if (!signal) return;
    leave = onAbort(signal, () => {
      clearTimeout(timer);
      reject(aborted(signal));
    });
  });

/** What work rejects with that a signal has ended. */
export function aborted(signal: AbortSignal): OperationAbortedError {
  const reason: unknown = signal.reason;
  if (reason instanceof OperationAbortedError) return reason;
  return new OperationAbortedError('The work was aborted', { cause: reason });
}
