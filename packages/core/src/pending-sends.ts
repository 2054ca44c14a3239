import { BackpressureError } from './errors.js';
import type { WireMessage } from './message.js';

/** Messages that wait to be taken by the broker, and how many may. */
export class PendingSends {
  readonly #most: number;
  readonly #mostBytes: number;
  #count = 0;
  #bytes = 0;

  constructor(most: number, mostBytes: number) {
    this.#most = most;
    this.#mostBytes = mostBytes;
  }

  get count(): number {
    return this.#count;
  }

  /** How many may wait. */
  get most(): number {
    return this.#most;
  }

  /** @throws BackpressureError (`ERR_BACKPRESSURE`) when there is no room for one more */
  checkRoom(message: WireMessage): void {
    if (this.#count < this.#most && this.#bytes + message.body.size <= this.#mostBytes) return;
    throw new BackpressureError(
      `${String(this.#count)} messages wait for the broker; the limits are ${String(this.#most)} ` +
        `messages (maxPendingSends) and ${String(this.#mostBytes)} bytes (maxPendingBytes)`,
    );
  }

  /** One more waits. */
  enter(size: number): void {
    this.#count += 1;
    this.#bytes += size;
  }

  /** One waits no longer. */
  leave(size: number): void {
    this.#count -= 1;
    this.#bytes -= size;
  }
}
