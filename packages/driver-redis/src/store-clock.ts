import { Deadline } from '@ebbgate/core';

/**
 * The time of the store, told from ours by asking it: deadlines are kept by that clock, as it is the only one that all
 * parties share. Of several answers the quickest is the best: half its way is the most that it can be wrong.
 */
export class StoreClock {
  /** What to add to our wall clock. */
  #offsetMs = 0;
  #bestMs = Infinity;

  /** Another store, perhaps: what was known is forgotten. */
  forget(): void {
    this.#bestMs = Infinity;
  }

  /** An answer of `TIME` to a question of so many milliseconds ago (`performance.now()` then and now). */
  onAnswer(storeMs: number, askedAtMs: number, answeredAtMs: number): void {
    const tookMs = answeredAtMs - askedAtMs;
    if (tookMs >= this.#bestMs) return;
    this.#bestMs = tookMs;
    this.#offsetMs = storeMs + tookMs / 2 - Date.now();
  }

  /** A deadline as it is stored: whole milliseconds since the epoch, by the clock of the store. */
  toStore(deadline: Deadline): number {
    return Math.ceil(deadline.epochMs + this.#offsetMs);
  }

  fromStore(storeMs: number): Deadline {
    return Deadline.atEpochMs(storeMs - this.#offsetMs);
  }
}

/** The reply to `TIME`: seconds and microseconds, as texts. Undefined when it is none. */
export function readTime(reply: unknown): number | undefined {
  if (!Array.isArray(reply)) return undefined;
  const [seconds, micros] = reply.map((part) => Number(String(part)));
  if (seconds === undefined || micros === undefined || !Number.isFinite(seconds + micros)) return undefined;
  return seconds * 1000 + micros / 1000;
}
