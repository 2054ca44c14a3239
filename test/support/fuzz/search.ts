import { randomNumbers } from '../rigs/random-faults.js';
import { Prototypes } from '../prototypes.js';
import { CodeReached, Known } from './code-reached.js';
import { LONGEST, Mutation } from './mutation.js';
import type { Finding, FuzzCounts, FuzzOptions, FuzzReport, FuzzTarget } from './target.js';

/** So many inputs are run between two looks at the code that they reached. */
const BATCH = 64;
const TOLD_EVERY_MS = 1_000;
/** So often it is tried to make a failing input shorter. */
const MOST_SHORTENINGS = 2_000;

/** Told of each input before it is run: that one is known if it never ends. */
export type Announce = (input: Buffer) => void;

/**
 * Looks for an input with which something does not hold: by changing those that reached code which none had reached before.
 * Ends at the first.
 */
export class Search {
  readonly #options: FuzzOptions;
  readonly #announce: Announce;
  /** Looked at after each batch. */
  readonly #prototypes = new Prototypes();
  /** Looked at after each input. */
  readonly #ofObject = new Prototypes([Object.prototype]);
  readonly #kept: Buffer[] = [];
  /** What batches have reached: one that has reached more is run again, one by one. */
  readonly #byBatches = new Known();
  readonly #byInputs = new Known();
  #runs = 0;

  constructor(options: FuzzOptions, announce: Announce) {
    this.#options = options;
    this.#announce = announce;
  }

  /** @param load - loads the target, and with it the code that is looked at */
  async run(load: () => Promise<FuzzTarget>): Promise<FuzzReport> {
    const reached = new CodeReached();
    const target = await load();
    const seeds = target.seeds.map((seed) => Buffer.from(seed).subarray(0, LONGEST));
    const finding =
      this.#each(target, seeds) ?? this.#look(target, reached, seeds) ?? this.#mutate(target, reached);
    return { ...this.#counts, finding: finding && this.#shortened(target, finding) };
  }

  get #counts(): FuzzCounts {
    return { runs: this.#runs, kept: this.#kept.length, reached: this.#byInputs.size };
  }

  #mutate(target: FuzzTarget, reached: CodeReached): Finding | undefined {
    const mutation = new Mutation(randomNumbers(this.#options.seed), target.words);
    const begunMs = performance.now();
    let toldMs = begunMs;
    for (let nowMs = begunMs; nowMs - begunMs < this.#options.seconds * 1000; nowMs = performance.now()) {
      const batch = Array.from({ length: BATCH }, () =>
        mutation.change(mutation.pick(this.#kept), mutation.pick(this.#kept)),
      );
      const finding = this.#each(target, batch) ?? this.#look(target, reached, batch);
      if (finding) return finding;
      if (nowMs - toldMs < TOLD_EVERY_MS) continue;
      toldMs = nowMs;
      this.#options.onProgress?.(this.#counts);
    }
    return undefined;
  }

  /** Runs them; @param after - told of each that has been run */
  #each(
    target: FuzzTarget,
    inputs: readonly Buffer[],
    after: (input: Buffer) => void = () => undefined,
  ): Finding | undefined {
    for (const input of inputs) {
      const why = this.#why(target, input);
      if (why !== undefined) return { input, why };
      after(input);
    }
    const changes = this.#prototypes.changes();
    if (changes.length === 0) return undefined;
    const why = `One of the last ${String(BATCH)} inputs changed members of shared prototypes: ${changes.join()}`;
    return { input: inputs.at(-1) ?? Buffer.alloc(0), why };
  }

  /** If what has just been run has reached new code, runs it again one by one, and keeps those that reach some. */
  #look(target: FuzzTarget, reached: CodeReached, batch: readonly Buffer[]): Finding | undefined {
    if (reached.look(this.#byBatches) === 0) return undefined;
    return this.#each(target, batch, (input) => {
      if (reached.look(this.#byInputs) > 0) this.#kept.push(input);
    });
  }

  /** What does not hold with this input. */
  #why(target: FuzzTarget, input: Buffer): string | undefined {
    this.#announce(input);
    this.#runs += 1;
    try {
      target.check(Buffer.from(input));
    } catch (error) {
      return error instanceof Error ? (error.stack ?? error.message) : `${typeof error} was thrown`;
    }
    const changes = this.#ofObject.changes();
    return changes.length === 0 ? undefined : `These members of Object.prototype changed: ${changes.join()}`;
  }

  /** The same with less of the input, as long as it fails in the same way. */
  #shortened(target: FuzzTarget, finding: Finding): Finding {
    const [first] = finding.why.split('\n', 1);
    // What has been done to a prototype stays done: then any input would do.
    if (this.#why(target, Buffer.alloc(0))?.split('\n', 1)[0] === first) return finding;
    let best = finding;
    let tries = 0;
    for (let size = best.input.byteLength >> 1; size > 0; size >>= 1) {
      for (let at = 0; at < best.input.byteLength && tries < MOST_SHORTENINGS; tries += 1) {
        const input = Buffer.concat([best.input.subarray(0, at), best.input.subarray(at + size)]);
        const why = this.#why(target, input);
        if (why?.split('\n', 1)[0] === first) best = { input, why: why ?? '' };
        else at += size;
      }
    }
    return best;
  }
}
