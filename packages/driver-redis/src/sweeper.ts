import type { RedisSettings } from './options.js';
import { SWEEP } from './scripts.js';
import type { StoreConnection } from './store-connection.js';

/** Between two looks at a store that is busy. */
const SWEEP_EVERY_MS = 5_000;

/**
 * Removes what this process has sent and nobody has fetched in time, also where no server lives that would drop it: looks
 * into each list to which it has sent something with a deadline, once the first one has passed, and until the last one has.
 * An idle process does nothing.
 */
export class Sweeper {
  readonly #connection: StoreConnection;
  readonly #lists = new Map<string, { nextMs: number; lastMs: number }>();
  readonly #everyMs: number;
  #timer: NodeJS.Timeout | undefined;

  constructor(connection: StoreConnection, { heartbeatMs }: Pick<RedisSettings, 'heartbeatMs'>) {
    this.#connection = connection;
    this.#everyMs = Math.min(SWEEP_EVERY_MS, heartbeatMs);
  }

  /** Something that expires then was sent there. */
  sent(key: string, expiresInMs: number): void {
    const lastMs = performance.now() + expiresInMs;
    const list = this.#lists.get(key);
    if (!list) this.#lists.set(key, { nextMs: lastMs, lastMs });
    else if (lastMs > list.lastMs) list.lastMs = lastMs;
    if (this.#timer) return;
    this.#timer = setInterval(() => void this.#sweep(), this.#everyMs);
    this.#timer.unref();
  }

  end(): void {
    clearInterval(this.#timer);
    this.#lists.clear();
  }

  /** Never rejects: what fails is tried again the next time. */
  async #sweep(): Promise<void> {
    const nowMs = performance.now();
    for (const [key, list] of [...this.#lists]) {
      if (list.nextMs > nowMs) continue;
      if (!(await this.#sweepList(key))) return;
      if (list.lastMs <= nowMs) this.#lists.delete(key);
      else list.nextMs = Math.min(nowMs + this.#everyMs, list.lastMs);
    }
    if (this.#lists.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** A hundred entries at a time, so that others have their turn at the store. False: it could not be asked. */
  async #sweepList(key: string): Promise<boolean> {
    let from = 0;
    for (;;) {
      const { client } = this.#connection;
      if (!client) return false;
      try {
        const next = await client.run(SWEEP, [key], [from]);
        if (typeof next !== 'number') return true;
        from = next;
      } catch {
        return false;
      }
    }
  }
}
