/** Messages whose attempts are remembered: of more than that the oldest are forgotten. */
const MOST_KEPT = 10_000;

/** How often each message was handed back here. */
export class Attempts {
  readonly #counts = new Map<string, number>();

  /** Messages that are remembered. */
  get size(): number {
    return this.#counts.size;
  }

  of(key: string): number {
    return this.#counts.get(key) ?? 0;
  }

  /** One more. */
  add(key: string): number {
    const count = this.of(key) + 1;
    this.#counts.delete(key); // the last again
    this.#counts.set(key, count);
    const [oldest] = this.#counts.keys();
    if (this.#counts.size > MOST_KEPT && oldest !== undefined) this.#counts.delete(oldest);
    return count;
  }

  forget(key: string): void {
    this.#counts.delete(key);
  }
}
