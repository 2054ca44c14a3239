import { MessagingError } from '@ebbgate/core';

/**
 * Sends a request whose records are written. When it certainly did not go out, they are taken back, as far as nobody else
 * has changed them since. With an outcome of `unknown` it may arrive yet, and finds what it needs: all stays as written.
 * Rejects with what the sending rejects with, also when the records cannot be taken back.
 */
export async function sendOrTakeBack(
  send: () => Promise<unknown>,
  takeBack: (error: unknown) => Promise<unknown>,
): Promise<void> {
  try {
    await send();
  } catch (error) {
    const mayArrive = error instanceof MessagingError && error.outcome === 'unknown';
    // Why it was not sent is what the caller has to know.
    if (!mayArrive) await takeBack(error).catch(() => undefined);
    throw error;
  }
}
