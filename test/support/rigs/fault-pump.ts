import type { Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { resetSocket } from './reset-socket.js';

/** What happens to the bytes of one direction. */
export interface Weather {
  /** Nothing passes, and nothing is lost: it goes on when this ends. The ends of the connection notice nothing. */
  readonly blackHole: boolean;
  /** Each byte arrives so much later. */
  readonly delayMs: number;
  readonly bytesPerSecond: number;
  /** The whole link is cut after so many bytes from now; the last of them still pass. */
  readonly cutAfterBytes: number;
}

export const CLEAR_WEATHER: Weather = {
  blackHole: false,
  delayMs: 0,
  bytesPerSecond: Infinity,
  cutAfterBytes: Infinity,
};

/** How much is held before the source is no longer read. */
const HELD_BYTES = 256 * 1024;
/** A throttled direction passes its bytes in this many portions a second. */
const PORTIONS = 50;

interface Held {
  /** `null` is the end of the stream. */
  readonly bytes: Buffer | null;
  readonly dueMs: number;
}

/** One direction of a link: takes from one socket, and gives to the other what the weather lets through. */
export class FaultPump {
  /** Bytes that have passed. */
  passed = 0;
  readonly #from: Socket;
  readonly #to: Socket;
  readonly #cut: () => void;
  readonly #over = new AbortController();
  readonly #held: Held[] = [];
  #heldBytes = 0;
  #weather: Weather;
  #leftToCut: number;
  #running = false;
  #resetDue = false;
  #wake: (() => void) | undefined;

  /** @param cut - cuts the whole link */
  constructor(from: Socket, to: Socket, weather: Weather, cut: () => void) {
    this.#from = from;
    this.#to = to;
    this.#cut = cut;
    this.#weather = weather;
    this.#leftToCut = weather.cutAfterBytes;
    from.on('data', (bytes: Buffer) => this.#hold(bytes));
    from.on('end', () => this.#hold(null));
  }

  /** What is not named stays; bytes are counted anew when `cutAfterBytes` is named. */
  change(weather: Partial<Weather>): void {
    this.#weather = { ...this.#weather, ...weather };
    this.#leftToCut = weather.cutAfterBytes ?? this.#leftToCut;
    this.#passReset();
    this.#wake?.();
  }

  /** The source was reset: so is the target, as soon as anything gets through. */
  reset(): void {
    this.#resetDue = true;
    this.#passReset();
  }

  #passReset(): void {
    if (this.#resetDue && !this.#weather.blackHole && !this.#to.destroyed) resetSocket(this.#to);
  }

  stop(): void {
    this.#over.abort();
    this.#wake?.();
  }

  #hold(bytes: Buffer | null): void {
    this.#held.push({ bytes, dueMs: performance.now() + this.#weather.delayMs });
    this.#heldBytes += bytes?.length ?? 0;
    if (this.#heldBytes > HELD_BYTES) this.#from.pause();
    if (!this.#running) void this.#run();
  }

  async #run(): Promise<void> {
    this.#running = true;
    for (let next = this.#held[0]; next && !this.#over.signal.aborted; next = this.#held[0]) {
      if (this.#weather.blackHole) await new Promise<void>((resolve) => (this.#wake = resolve));
      else if (next.dueMs > performance.now()) await this.#pause(next.dueMs - performance.now());
      else await this.#pass(next);
    }
    this.#running = false;
  }

  /** A wait that ends early when the link does; late timers are no harm. */
  async #pause(ms: number): Promise<void> {
    await pause(ms, undefined, { signal: this.#over.signal }).catch(() => {});
  }

  async #pass({ bytes }: Held): Promise<void> {
    this.#held.shift();
    if (bytes === null) {
      this.#to.end();
      return;
    }
    const { bytesPerSecond } = this.#weather;
    const portion = Math.min(
      bytes.length,
      Math.max(1, Math.ceil(bytesPerSecond / PORTIONS)),
      this.#leftToCut,
    );
    if (portion < bytes.length) this.#held.unshift({ bytes: bytes.subarray(portion), dueMs: 0 });
    if (portion > 0) await this.#write(bytes.subarray(0, portion));
    if (this.#leftToCut <= 0) this.#cut();
    else if (bytesPerSecond < Infinity) await this.#pause((portion / bytesPerSecond) * 1000);
    if (this.#heldBytes <= HELD_BYTES && this.#from.isPaused()) this.#from.resume();
  }

  async #write(bytes: Buffer): Promise<void> {
    this.#heldBytes -= bytes.length;
    this.passed += bytes.length;
    this.#leftToCut -= bytes.length;
    if (this.#to.destroyed || this.#to.writableEnded) return;
    // The callback comes when the system has taken the bytes, so a reader that does not read is felt at the source.
    await new Promise<void>((resolve) => this.#to.write(bytes, () => resolve()));
  }
}
