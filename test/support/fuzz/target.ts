/** One road that bytes come in by, and what must hold whatever they are. Its file exports it as `target`. */
export interface FuzzTarget {
  /** Where the search begins: inputs that are as they should be, and some that are not. */
  readonly seeds: readonly Uint8Array[];
  /** What means something there; put into inputs now and then. */
  readonly words: readonly (string | Uint8Array)[];
  /** Throws when something does not hold. */
  check(input: Buffer): void;
}

/** How a search is run. */
export interface FuzzOptions {
  readonly seconds: number;
  /** The same one gives the same inputs, as far as time lets them be run. */
  readonly seed: number;
  /** An input that takes longer is a finding; default 10 s. */
  readonly longestMs?: number;
  /** Told once a second. */
  readonly onProgress?: (counts: FuzzCounts) => void;
}

/** How far a search is. */
export interface FuzzCounts {
  /** Inputs that were run. */
  readonly runs: number;
  /** Of them, those that reached new code: they are changed further. */
  readonly kept: number;
  /** Characters of the compiled code that have run. */
  readonly reached: number;
}

/** An input with which something did not hold. */
export interface Finding {
  readonly input: Uint8Array;
  /** What was thrown, or that it did not end. */
  readonly why: string;
}

/** How a search has ended. */
export interface FuzzReport extends FuzzCounts {
  readonly finding: Finding | undefined;
}
