import { setTimeout as pause } from 'node:timers/promises';

const FIRST_MS = 100;
/** What has held so long counts as stable: the next loss begins with a short pause again. */
const STABLE_MS = 10_000;

/** The pauses before a subscription is tried again on a connection that holds: longer each time, with a random part. */
export class RetryPause {
  readonly #longestMs: number;
  #failures = 0;
  #sinceMs = 0;

  constructor(longestMs: number) {
    this.#longestMs = longestMs;
  }

  /** The subscription is there. */
  succeeded(): void {
    this.#sinceMs = performance.now();
  }

  /** Resolves when the next try is due, or when the signal aborts. */
  async wait(signal: AbortSignal): Promise<void> {
    if (this.#sinceMs > 0 && performance.now() - this.#sinceMs >= STABLE_MS) this.#failures = 0;
    this.#sinceMs = 0;
    const ms = Math.min(FIRST_MS * 2 ** this.#failures, this.#longestMs);
    this.#failures += 1;
    await pause(ms / 2 + (Math.random() * ms) / 2, undefined, { signal }).catch(() => undefined);
  }
}
