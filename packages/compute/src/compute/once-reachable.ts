import { type Logger, MessagingError } from '@ebbgate/core';
import { tryAgain } from './try-again.js';

/** Codes that tell of the way to the records, not of what is in them. */
const UNREACHABLE: ReadonlySet<string> = new Set(['ERR_TIMEOUT', 'ERR_UNDELIVERABLE', 'ERR_DELIVERY']);

/** Runs a part again, with growing pauses, while the records cannot be reached: the order of starts is free (COMP-08). */
export async function onceReachable(
  { logger }: { readonly logger: Logger },
  part: () => Promise<unknown>,
  signal: AbortSignal,
): Promise<void> {
  let failures = 0;
  const onFailure = (error: unknown): void => {
    if (!(error instanceof MessagingError) || !UNREACHABLE.has(error.code)) throw error;
    failures += 1;
    logger.warn({ err: error }, 'The records cannot be reached yet: the start waits');
  };
  await tryAgain(part, onFailure, signal);
  if (failures > 0) logger.info({}, 'The records can be reached now: the start goes on');
}
