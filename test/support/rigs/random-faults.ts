import { type Direction, DIRECTIONS, type FaultLink } from './fault-link.js';
import type { FaultProxy } from './fault-proxy.js';

/**
 * Cuts, weather that passes, and both: `swallow` lets nothing through in one direction and then cuts, so that one side has
 * heard what the other cannot know of.
 */
export type FaultKind = 'fin' | 'rst' | 'cut-after' | 'swallow' | 'stall' | 'delay' | 'throttle';

export interface RandomFaultOptions {
  /** {@link faultSeed} when not given. */
  readonly seed?: number;
  /** Until the first fault, at most. The same as the others when not given. */
  readonly firstMs?: number;
  /** From one fault to the next: half of it to one and a half. */
  readonly everyMs?: number;
  /** So many times as long becomes that time with each fault, so that what takes long gets on; 1 when not given. */
  readonly growth?: number;
  /** How long weather lasts, at most. */
  readonly lastMs?: number;
  readonly kinds?: readonly FaultKind[];
}

const KINDS: readonly FaultKind[] = ['fin', 'rst', 'cut-after', 'swallow', 'stall', 'delay', 'throttle'];
/** Those that are over at once. */
const CUTS: ReadonlySet<FaultKind> = new Set(['fin', 'rst', 'cut-after']);
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

/** From `EBBGATE_FAULT_SEED`, or at random; printed on stderr. */
export function faultSeed(): number {
  const given = Number(process.env['EBBGATE_FAULT_SEED'] ?? NaN);
  const seed = Number.isInteger(given) ? given : Math.floor(Math.random() * 2 ** 31);
  process.stderr.write(`Random faults: EBBGATE_FAULT_SEED=${String(seed)}\n`);
  return seed;
}

/** One seed from another and a word: a test has the same faults whichever tests are run besides. */
export function seedFor(seed: number, word: string): number {
  return Buffer.from(word).reduce((mixed, byte) => (Math.imul(mixed, 31) + byte) >>> 0, seed);
}

/**
 * Faults at random on the connections of a proxy until stopped. The seed fixes which faults come in which order and after
 * which times.
 */
export class RandomFaults {
  readonly seed: number;
  /** What has been done so far, in words: for the message of a test that fails. */
  readonly done: string[] = [];
  /** Those of them that found a connection. */
  struck = 0;
  readonly #proxy: FaultProxy;
  readonly #options: Required<Omit<RandomFaultOptions, 'seed' | 'firstMs'>>;
  readonly #random: () => number;
  #timer: NodeJS.Timeout | undefined;

  constructor(proxy: FaultProxy, options: RandomFaultOptions = {}) {
    const { seed = faultSeed(), firstMs, everyMs = 200, growth = 1, lastMs = 100, kinds = KINDS } = options;
    this.seed = seed;
    this.#proxy = proxy;
    this.#options = { everyMs, growth, lastMs, kinds };
    this.#random = randomNumbers(seed);
    if (firstMs === undefined) this.#plan();
    else this.#strikeAfter(firstMs * this.#random());
  }

  /** Ends the faults; the weather is clear again. */
  async stop(): Promise<void> {
    clearTimeout(this.#timer);
    await this.#proxy.heal();
  }

  #plan(): void {
    const { everyMs, growth } = this.#options;
    this.#strikeAfter(everyMs * growth ** this.done.length * (0.5 + this.#random()));
  }

  #strikeAfter(ms: number): void {
    this.#timer = setTimeout(() => this.#strike(), ms);
  }

  #strike(): void {
    const { kinds, lastMs } = this.#options;
    const kind = kinds[Math.floor(this.#random() * kinds.length)] ?? 'rst';
    const direction = DIRECTIONS[Math.floor(this.#random() * 2)] ?? 'toServer';
    const size = this.#random();
    const which = this.#random();
    this.done.push(`${kind} ${direction} ${size.toFixed(3)} ${which.toFixed(3)}`);
    const link = this.#proxy.links[Math.floor(which * this.#proxy.links.length)];
    if (link) {
      this.struck += 1;
      strike(link, kind, direction, size);
      if (!CUTS.has(kind)) setTimeout(() => this.#end(link, kind), size * lastMs).unref();
    }
    this.#plan();
  }

  #end(link: FaultLink, kind: FaultKind): void {
    if (kind === 'swallow') link.cut('rst');
    else this.#proxy.calm(link);
  }
}

function strike(link: FaultLink, kind: FaultKind, direction: Direction, size: number): void {
  switch (kind) {
    case 'fin':
    case 'rst':
      link.cut(kind);
      return;
    case 'cut-after':
      link.setWeather(direction, { cutAfterBytes: Math.floor(MAX_CUT_AFTER ** size) });
      return;
    case 'swallow':
    case 'stall':
      link.setWeather(direction, { blackHole: true });
      return;
    case 'delay':
      link.setWeather(direction, { delayMs: size * MAX_DELAY_MS });
      return;
    case 'throttle':
      link.setWeather(direction, { bytesPerSecond: SLOW_BYTES_PER_SECOND });
  }
}
