/** How often each caller may ask. */
export interface RateLimitOptions {
  /** Requests a second, on average; 0: no limit. */
  readonly perSecond: number;
  /** Requests at once; default: those of two seconds. */
  readonly burst?: number;
  /** Milliseconds, of a clock that only goes forward. */
  readonly now: () => number;
}

interface Bucket {
  tokens: number;
  atMs: number;
}

/** So many callers are remembered; the one that has not asked for longest is forgotten first. */
const REMEMBERED = 10_000;

/** A token bucket for each caller. */
export class RateLimit {
  readonly #perSecond: number;
  readonly #burst: number;
  readonly #now: () => number;
  readonly #buckets = new Map<string, Bucket>();

  constructor({ perSecond, burst = perSecond * 2, now }: RateLimitOptions) {
    this.#perSecond = perSecond;
    this.#burst = Math.max(1, burst);
    this.#now = now;
  }

  /** Takes a request of this caller. @returns seconds after which it may ask again; 0: it was taken */
  take(caller: string): number {
    if (this.#perSecond === 0) return 0;
    const now = this.#now();
    const { tokens, atMs } = this.#buckets.get(caller) ?? { tokens: this.#burst, atMs: now };
    const filled = Math.min(this.#burst, tokens + ((now - atMs) / 1000) * this.#perSecond);
    const isTaken = filled >= 1;
    this.#buckets.delete(caller); // it is the newest from here on
    this.#buckets.set(caller, { tokens: isTaken ? filled - 1 : filled, atMs: now });
    if (this.#buckets.size > REMEMBERED) this.#forgetOldest();
    return isTaken ? 0 : (1 - filled) / this.#perSecond;
  }

  #forgetOldest(): void {
    const [oldest] = this.#buckets.keys();
    if (oldest !== undefined) this.#buckets.delete(oldest);
  }
}
