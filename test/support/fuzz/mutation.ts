import type { FuzzTarget } from './target.js';

/** Inputs do not get longer: what is a matter of size has tests of its own. */
export const LONGEST = 8192;
const MOST_CHANGES = 5;
const LONGEST_PIECE = 32;
const MOST_TIMES = 64;

/** Makes new inputs of old ones. */
export class Mutation {
  readonly #random: () => number;
  readonly #words: readonly Buffer[];
  readonly #changes: readonly ((input: Buffer) => Buffer)[] = [
    (input) => this.#setByte(input, 1 << this.#below(8)),
    (input) => this.#setByte(input, this.#below(256)),
    (input) => this.#putIn(input, this.#anyBytes(), 0),
    (input) => this.#putIn(input, this.#word(), 0),
    (input) => this.#putIn(input, this.#word(), this.#below(LONGEST_PIECE)),
    (input) => this.#putIn(input, Buffer.alloc(0), 1 + this.#below(LONGEST_PIECE)),
    (input) => this.#putIn(input, this.#piece(input), 0),
    (input) => this.#putIn(input, this.#piece(input), this.#below(LONGEST_PIECE)),
    (input) => this.#putIn(input, this.#many(input), 0),
    (input) => this.#putIn(input, this.#number(), this.#below(8)),
    (input) => input.subarray(0, this.#below(input.byteLength + 1)),
  ];

  /**
   * @param random - numbers from 0 to 1
   * @param words - what means something there
   */
  constructor(random: () => number, words: FuzzTarget['words']) {
    this.#random = random;
    this.#words = words.map((word) => (typeof word === 'string' ? Buffer.from(word) : Buffer.from(word)));
  }

  /** One of them; the latest more often, as they have been looked at the least. */
  pick(inputs: readonly Buffer[]): Buffer {
    const first = this.#below(2) === 0 ? 0 : Math.floor(inputs.length * 0.75);
    return inputs[first + this.#below(inputs.length - first)] ?? Buffer.alloc(0);
  }

  /** A changed copy; at times the end is another input's. */
  change(input: Buffer, other: Buffer): Buffer {
    let changed: Buffer =
      this.#below(8) === 0
        ? Buffer.concat([
            input.subarray(0, this.#below(input.byteLength + 1)),
            other.subarray(this.#below(other.byteLength + 1)),
          ])
        : Buffer.from(input);
    for (let left = 1 + this.#below(MOST_CHANGES); left > 0; left -= 1) {
      changed = this.#changes[this.#below(this.#changes.length)]?.(changed) ?? changed;
    }
    return changed.subarray(0, LONGEST);
  }

  #below(limit: number): number {
    return Math.floor(this.#random() * limit);
  }

  #setByte(input: Buffer, mask: number): Buffer {
    const at = this.#below(input.byteLength);
    if (at < input.byteLength) input[at] = (input[at] ?? 0) ^ mask;
    return input;
  }

  /** With these bytes in it, in the place of so many others. */
  #putIn(input: Buffer, bytes: Buffer, instead: number): Buffer {
    const at = this.#below(input.byteLength + 1);
    return Buffer.concat([input.subarray(0, at), bytes, input.subarray(at + instead)]);
  }

  #anyBytes(): Buffer {
    return Buffer.from(Array.from({ length: 1 + this.#below(8) }, () => this.#below(256)));
  }

  #word(): Buffer {
    return this.#words[this.#below(this.#words.length)] ?? Buffer.alloc(0);
  }

  #piece(input: Buffer): Buffer {
    const at = this.#below(input.byteLength);
    return input.subarray(at, at + 1 + this.#below(LONGEST_PIECE));
  }

  /** A word or a short piece again and again: depth. */
  #many(input: Buffer): Buffer {
    const piece = this.#below(2) === 0 ? this.#word() : this.#piece(input).subarray(0, 4);
    return Buffer.concat(Array.from({ length: 1 + this.#below(MOST_TIMES) }, () => piece));
  }

  #number(): Buffer {
    const digits = 1 + this.#below(24);
    return Buffer.from(Array.from({ length: digits }, () => 0x30 + this.#below(10)));
  }
}
