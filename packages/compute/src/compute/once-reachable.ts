import { type Logger, MessagingError } from '@ebbgate/core';
import { pause } from '../virt/pause.js';

/** Codes that tell of the way to the records, not of what is in them. */
const UNREACHABLE: ReadonlySet<string> = new Set(['ERR_TIMEOUT', 'ERR_UNDELIVERABLE', 'ERR_DELIVERY']);
const FIRST_RETRY_MS = 100;
const LAST_RETRY_MS = 10_000;

/** Runs a part again, with growing pauses, while the records cannot be reached: the order of starts is free (COMP-08). */
export async function onceReachable(
  { logger }: { readonly logger: Logger },
  part: () => Promise<unknown>,
  signal: AbortSignal,
): Promise<void> {
  for (let delayMs = FIRST_RETRY_MS; ; delayMs = Math.min(delayMs * 2, LAST_RETRY_MS)) {
    try {
      await part();
      return;
    } catch (error) {
      if (!(error instanceof MessagingError) || !UNREACHABLE.has(error.code)) throw error;
      logger.warn({ err: error }, 'The records cannot be reached yet: the start waits');
      await pause(delayMs, signal);
    }
  }
}
