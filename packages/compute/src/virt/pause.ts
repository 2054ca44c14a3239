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
    const onAbort = (): void => {
      clearTimeout(timer);
      if (signal) reject(aborted(signal));
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    }, ms);
    signal?.addEventListener('abort', onAbort, { once: true });
  });

/** What work rejects with that a signal has ended. */
export function aborted(signal: AbortSignal): OperationAbortedError {
  const reason: unknown = signal.reason;
  if (reason instanceof OperationAbortedError) return reason;
  return new OperationAbortedError('The work was aborted', { cause: reason });
}
