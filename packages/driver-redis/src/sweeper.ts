import { GROUP } from './keys.js';
import type { RedisSettings } from './options.js';
import { SWEEP } from './scripts.js';
import type { StoreConnection } from './store-connection.js';

/** Between two looks at a store that is busy. */
const SWEEP_EVERY_MS = 5_000;

/**
 * Removes what this process has sent and nobody has fetched in time, also where no server lives that would drop it: looks
 * into each stream to which it has sent something with a deadline, once the first one has passed, and until the last one has.
 * An idle process does nothing.
 */
export class Sweeper {
  readonly #connection: StoreConnection;
  readonly #streams = new Map<string, { nextMs: number; lastMs: number }>();
  readonly #everyMs: number;
  #timer: NodeJS.Timeout | undefined;

  constructor(connection: StoreConnection, { heartbeatMs }: Pick<RedisSettings, 'heartbeatMs'>) {
    this.#connection = connection;
    this.#everyMs = Math.min(SWEEP_EVERY_MS, heartbeatMs);
  }

  /** Something that expires then was sent there. */
  sent(key: string, expiresInMs: number): void {
    const lastMs = performance.now() + expiresInMs;
    const stream = this.#streams.get(key);
    if (!stream) this.#streams.set(key, { nextMs: lastMs, lastMs });
    else if (lastMs > stream.lastMs) stream.lastMs = lastMs;
    if (this.#timer) return;
    this.#timer = setInterval(() => void this.#sweep(), this.#everyMs);
    this.#timer.unref();
  }

  end(): void {
    clearInterval(this.#timer);
    this.#streams.clear();
  }

  /** Never rejects: what fails is tried again the next time. */
  async #sweep(): Promise<void> {
    const nowMs = performance.now();
    for (const [key, stream] of [...this.#streams]) {
      if (stream.nextMs > nowMs) continue;
      if (!(await this.#sweepStream(key))) return;
      if (stream.lastMs <= nowMs) this.#streams.delete(key);
      else stream.nextMs = Math.min(nowMs + this.#everyMs, stream.lastMs);
    }
    if (this.#streams.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** A hundred entries at a time, so that others have their turn at the store. False: it could not be asked. */
  async #sweepStream(key: string): Promise<boolean> {
    let from = '-';
    for (;;) {
      const { client } = this.#connection;
      if (!client) return false;
      try {
        const last = await client.run(SWEEP, [key], [GROUP, from]);
        if (!Buffer.isBuffer(last)) return true;
        from = `(${last.toString()}`;
      } catch {
        return false;
      }
    }
  }
}
