/** A connection that has held so long counts as stable: what comes after it begins with short waits again. */
const STABLE_MS = 10_000;

/** The settings that a {@link Backoff} goes by. */
export interface BackoffSettings {
  /** The first wait, in milliseconds; default 100. */
  readonly retryIntervalMs?: number;
  /** The longest. */
  readonly retryIntervalMaxMs: number;
}

/**
 * How long to wait before the next attempt: twice as long each time, up to a cap, and a random part of it, so that many
 * clients that lost one broker do not come back at one moment. Only what has held ends the growth.
 */
export class Backoff {
  readonly #settings: BackoffSettings;
  readonly #random: () => number;
  #failures = 0;

  /** @param random - from 0 to 1 */
  constructor(settings: BackoffSettings, random: () => number = Math.random) {
    this.#settings = settings;
    this.#random = random;
  }

  /** Milliseconds after an attempt that failed (0), or after the loss of what has held so long. */
  next(heldMs: number): number {
    if (heldMs >= STABLE_MS) this.#failures = 0;
    const { retryIntervalMs = 100, retryIntervalMaxMs } = this.#settings;
    const grown = Math.min(retryIntervalMs * 2 ** Math.min(this.#failures, 30), retryIntervalMaxMs);
    this.#failures += 1;
    return this.#spread(grown);
  }

  /** The longest: asking again soon is of no use. */
  longest(): number {
    return this.#spread(this.#settings.retryIntervalMaxMs);
  }

  #spread(ms: number): number {
    return ms / 2 + (this.#random() * ms) / 2;
  }
}
