import { pause } from '../virt/pause.js';

const FIRST_RETRY_MS = 100;
const LAST_RETRY_MS = 10_000;

/**
 * Does something again, with growing pauses, until it succeeds.
 *
 * @param onFailure - throws when it is not to be tried again; is told how long the next pause is
 * @param signal - ends a pause: then this rejects with OperationAbortedError (`ERR_ABORTED`)
 */
export async function tryAgain<T>(
  work: () => Promise<T>,
  onFailure: (error: unknown, delayMs: number) => void,
  signal: AbortSignal,
): Promise<T> {
  for (let delayMs = FIRST_RETRY_MS; ; delayMs = Math.min(delayMs * 2, LAST_RETRY_MS)) {
    try {
      return await work();
    } catch (error) {
      onFailure(error, delayMs);
      await pause(delayMs, signal);
    }
  }
}
