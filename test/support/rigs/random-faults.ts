import { type Cut, DIRECTIONS } from './fault-link.js';
import type { FaultProxy } from './fault-proxy.js';

/** Cuts, and weather that passes. */
export type FaultKind = 'fin' | 'rst' | 'cut-after' | 'stall' | 'delay' | 'throttle';

export interface RandomFaultOptions {
  /** From `EBBGATE_FAULT_SEED` or at random when not given. */
  readonly seed?: number;
  /** From one fault to the next: half of it to one and a half. */
  readonly everyMs?: number;
  /** How long weather lasts, at most. */
  readonly lastMs?: number;
  readonly kinds?: readonly FaultKind[];
}

const KINDS: readonly FaultKind[] = ['fin', 'rst', 'cut-after', 'stall', 'delay', 'throttle'];
const MAX_CUT_AFTER = 2_000;
const MAX_DELAY_MS = 50;
const SLOW_BYTES_PER_SECOND = 20_000;

/** The mulberry32 generator: numbers from 0 to 1 that are the same for a seed. */
export function randomNumbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function newSeed(): number {
  const given = Number(process.env['EBBGATE_FAULT_SEED'] ?? NaN);
  return Number.isInteger(given) ? given : Math.floor(Math.random() * 2 ** 31);
}

/**
 * Faults at random on the connections of a proxy until stopped. The seed, printed on stderr, fixes which faults come in
 * which order and after which times.
 */
export class RandomFaults {
  readonly seed: number;
  /** What has been done so far, in words: for the message of a test that fails. */
  readonly done: string[] = [];
  readonly #proxy: FaultProxy;
  readonly #options: Required<Omit<RandomFaultOptions, 'seed'>>;
  readonly #random: () => number;
  #timer: NodeJS.Timeout | undefined;

  constructor(proxy: FaultProxy, options: RandomFaultOptions = {}) {
    const { seed = newSeed(), everyMs = 200, lastMs = 100, kinds = KINDS } = options;
    this.seed = seed;
    this.#proxy = proxy;
    this.#options = { everyMs, lastMs, kinds };
    this.#random = randomNumbers(seed);
    process.stderr.write(`Random faults: EBBGATE_FAULT_SEED=${seed}\n`);
    this.#plan();
  }

  /** Ends the faults; the weather is clear again. */
  async stop(): Promise<void> {
    clearTimeout(this.#timer);
    await this.#proxy.heal();
  }

  #plan(): void {
    const { everyMs } = this.#options;
    this.#timer = setTimeout(() => this.#strike(), everyMs * (0.5 + this.#random()));
  }

  #strike(): void {
    const { kinds, lastMs } = this.#options;
    const kind = kinds[Math.floor(this.#random() * kinds.length)] ?? 'rst';
    const direction = DIRECTIONS[Math.floor(this.#random() * 2)] ?? 'toServer';
    const size = this.#random();
    const which = this.#random();
    this.done.push(`${kind} ${direction} ${size.toFixed(3)} ${which.toFixed(3)}`);
    const link = this.#proxy.links[Math.floor(which * this.#proxy.links.length)];
    if (kind === 'fin' || kind === 'rst') link?.cut(kind satisfies Cut);
    else if (kind === 'cut-after')
      link?.setWeather(direction, { cutAfterBytes: Math.floor(size * MAX_CUT_AFTER) });
    else {
      if (kind === 'stall') link?.setWeather(direction, { blackHole: true });
      else if (kind === 'delay') link?.setWeather(direction, { delayMs: size * MAX_DELAY_MS });
      else link?.setWeather(direction, { bytesPerSecond: SLOW_BYTES_PER_SECOND });
      setTimeout(() => link?.heal(), size * lastMs).unref();
    }
    this.#plan();
  }
}
