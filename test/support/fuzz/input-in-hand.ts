import { LONGEST } from './mutation.js';

const HEAD_BYTES = 8;

/** The input that a thread has under way, in memory that its owner sees whatever becomes of the thread. */
export class InputInHand {
  readonly memory: SharedArrayBuffer;
  /** How many there have been, and the length of the latest. */
  readonly #head: Int32Array;
  readonly #bytes: Uint8Array;

  /** @param memory - of another thread; its own when not given */
  constructor(memory: SharedArrayBuffer = new SharedArrayBuffer(HEAD_BYTES + LONGEST)) {
    this.memory = memory;
    this.#head = new Int32Array(memory, 0, 2);
    this.#bytes = new Uint8Array(memory, HEAD_BYTES);
  }

  /** Which one it is, counted from the first. */
  get number(): number {
    return Atomics.load(this.#head, 0);
  }

  set(input: Uint8Array): void {
    this.#bytes.set(input);
    Atomics.store(this.#head, 1, input.byteLength);
    Atomics.add(this.#head, 0, 1);
  }

  get(): Buffer {
    return Buffer.from(this.#bytes.slice(0, Atomics.load(this.#head, 1)));
  }
}
