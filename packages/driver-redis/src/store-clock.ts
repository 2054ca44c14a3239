import { Deadline } from '@ebbgate/core';

/**
 * The time of the store, told from our monotonic clock by asking it, again and again: deadlines are kept by that clock, as it is
 * the only one that all parties share. An answer is wrong by half its way at most, so the quickest is the best, and one that
 * contradicts what is believed tells of a clock that was set, or has drifted.
 */
export class StoreClock {
  /** What to add to our monotonic clock; until the store has answered, its time is taken to be ours. */
  #offsetMs = Date.now() - performance.now();
  /** The most by which that is wrong. */
  #errorMs = Infinity;

  /** Another store, perhaps: what was known is forgotten. */
  forget(): void {
    this.#errorMs = Infinity;
  }

  /** An answer of `TIME` to a question that was asked and answered then (`performance.now()`). */
  onAnswer(storeMs: number, askedAtMs: number, answeredAtMs: number): void {
    const errorMs = (answeredAtMs - askedAtMs) / 2;
    const offsetMs = storeMs - askedAtMs - errorMs;
    const isContradiction = Math.abs(offsetMs - this.#offsetMs) > errorMs + this.#errorMs;
    if (errorMs >= this.#errorMs && !isContradiction) return;
    this.#offsetMs = offsetMs;
    this.#errorMs = errorMs;
  }

  /** A deadline as it is stored: whole milliseconds since the epoch, by the clock of the store. */
  toStore(deadline: Deadline): number {
    return Math.ceil(performance.now() + deadline.remainingMs + this.#offsetMs);
  }

  fromStore(storeMs: number): Deadline {
    return Deadline.after(storeMs - this.#offsetMs - performance.now());
  }
}

/** The reply to `TIME`: seconds and microseconds, as texts. Undefined when it is none. */
export function readTime(reply: unknown): number | undefined {
  if (!Array.isArray(reply)) return undefined;
  const [seconds, micros] = reply.map((part) => Number(String(part)));
  if (seconds === undefined || micros === undefined) return undefined;
  const ms = seconds * 1000 + micros / 1000;
  return Number.isFinite(ms) ? ms : undefined;
}
