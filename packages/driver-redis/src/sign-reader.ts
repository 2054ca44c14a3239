import type { StoreClient } from './store-client.js';

/** Reads by a script, each time that one of its lists has a sign, or so long after the last one. */
export class SignReader {
  readonly #client: StoreClient;
  readonly #bells: readonly string[];
  readonly #waitMs: number;
  /** There was a sign, but nothing behind it: so a sign may be missing where something is. */
  #looks = false;

  /** @param client - for this reader alone: it is blocked most of the time */
  constructor(client: StoreClient, bells: readonly string[], waitMs: number) {
    this.#client = client;
    this.#bells = bells;
    this.#waitMs = waitMs;
  }

  /** What the script gives: a word of its own, then what it has read. Undefined: it gives this reader nothing any more. */
  async read(...fetch: Parameters<StoreClient['run']>): Promise<readonly unknown[] | undefined> {
    const [hadSign, reply] = this.#looks
      ? [false, await this.#client.run(...fetch)]
      : await this.#client.runAtSign(this.#bells, this.#waitMs, ...fetch);
    if (!Array.isArray(reply)) return undefined;
    this.#looks = hadSign && reply.length === 1;
    return reply as readonly unknown[];
  }
}
