import { setTimeout as pause } from 'node:timers/promises';
import { Backoff, type BackoffSettings } from './backoff.js';

/** The pauses before a subscription is tried again on a connection that holds: longer each time, with a random part. */
export class RetryPause {
  readonly #backoff: Backoff;
  #sinceMs: number | undefined;

  constructor(settings: BackoffSettings) {
    this.#backoff = new Backoff(settings);
  }

  /** The subscription is there. */
  succeeded(): void {
    this.#sinceMs = performance.now();
  }

  /** Resolves when the next try is due, or when the signal aborts. */
  async wait(signal: AbortSignal): Promise<void> {
    const heldMs = this.#sinceMs === undefined ? 0 : performance.now() - this.#sinceMs;
    this.#sinceMs = undefined;
    await pause(this.#backoff.next(heldMs), undefined, { signal }).catch(() => undefined);
  }
}
