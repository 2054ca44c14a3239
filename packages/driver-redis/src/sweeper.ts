import { backOf } from './keys.js';
import type { RedisSettings } from './options.js';
import { SWEEP } from './scripts.js';
import type { StoreConnection } from './store-connection.js';

/** When a queue is to be looked at next, and when the last deadline of what was sent there has passed. */
interface Queue {
  nextMs: number;
  lastMs: number;
}

/** Between two looks at a store that is busy. */
const SWEEP_EVERY_MS = 5_000;

/**
 * Removes what this process has sent and nobody has served in time, also where no server lives that would drop it: looks
 * into each list to which it has sent something with a deadline, and into what was given back of it, once the first one has
 * passed, and until the last one has. An idle process does nothing.
 */
export class Sweeper {
  readonly #connection: StoreConnection;
  readonly #queues = new Map<string, Queue>();
  readonly #everyMs: number;
  #timer: NodeJS.Timeout | undefined;
  #isSweeping = false;

  constructor(connection: StoreConnection, { heartbeatMs }: Pick<RedisSettings, 'heartbeatMs'>) {
    this.#connection = connection;
    this.#everyMs = Math.min(SWEEP_EVERY_MS, heartbeatMs);
  }

  /** Something that expires then was sent there. */
  sent(list: string, expiresInMs: number): void {
    const lastMs = performance.now() + expiresInMs;
    const queue = this.#queues.get(list);
    if (!queue) this.#queues.set(list, { nextMs: lastMs, lastMs });
    else if (lastMs > queue.lastMs) queue.lastMs = lastMs;
    if (this.#timer) return;
    this.#timer = setInterval(() => void this.#sweep(), this.#everyMs);
    this.#timer.unref();
  }

  end(): void {
    clearInterval(this.#timer);
    this.#queues.clear();
  }

  /** Never rejects: what fails is tried again the next time. */
  async #sweep(): Promise<void> {
    if (this.#isSweeping) return;
    this.#isSweeping = true;
    const nowMs = performance.now();
    for (const [list, queue] of [...this.#queues]) {
      if (queue.nextMs > nowMs) continue;
      const isSwept = (await this.#sweepList(list)) && (await this.#sweepList(backOf(list)));
      if (isSwept && queue.lastMs <= nowMs) this.#queues.delete(list);
      else queue.nextMs = nowMs + this.#everyMs;
    }
    this.#isSweeping = false;
    if (this.#queues.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** A hundred entries at a time, so that others have their turn at the store. False: it could not be asked, or has refused. */
  async #sweepList(list: string): Promise<boolean> {
    let from = 0;
    for (;;) {
      const { client } = this.#connection;
      if (!client) return false;
      try {
        const next = await client.run(SWEEP, [list], [from]);
        if (typeof next !== 'number') return true;
        from = next;
      } catch {
        return false;
      }
    }
  }
}
