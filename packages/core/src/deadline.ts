import { ConfigurationError } from './errors.js';

/**
 * A point in time by which something is to be done: one clock for time-outs, expiry headers and abort signals. Kept on
 * the monotonic clock, so that setting the wall clock moves no deadline of this process.
 */
export class Deadline {
  /** On `performance.now()`'s clock. */
  readonly #at: number;

  private constructor(at: number) {
    this.#at = at;
  }

  /**
   * `ms` milliseconds from now; any finite number, fractions included; below zero it has passed already.
   * @throws ConfigurationError (`ERR_CONFIGURATION`) for anything else.
   */
  static after(ms: number): Deadline {
    if (!Number.isFinite(ms))
      throw new ConfigurationError(`A deadline needs a finite number of milliseconds, not ${String(ms)}`);
    return new Deadline(performance.now() + ms);
  }

  /** At that moment of the wall clock, in milliseconds since the epoch, as it travels on the wire. */
  static atEpochMs(epochMs: number): Deadline {
    return Deadline.after(epochMs - Date.now());
  }

  /** The earlier of the two; undefined means no deadline. */
  static earlier(a: Deadline | undefined, b: Deadline | undefined): Deadline | undefined {
    if (!a || !b) return a ?? b;
    return a.#at <= b.#at ? a : b;
  }

  /** Milliseconds left; zero when it has passed. */
  get remainingMs(): number {
    return Math.max(0, this.#at - performance.now());
  }

  /** It has passed. */
  get expired(): boolean {
    return performance.now() >= this.#at;
  }

  /** The same moment on the wall clock, for the wire. */
  get epochMs(): number {
    return Date.now() + this.#at - performance.now();
  }
}
