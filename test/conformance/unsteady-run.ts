import { it } from 'mocha';
import { eventually } from '../support/rigs/deadline.js';
import type { FaultProxy } from '../support/rigs/fault-proxy.js';
import { faultSeed, type RandomFaultOptions, RandomFaults, seedFor } from '../support/rigs/random-faults.js';

const CLOSED_MS = 5_000;

/** Runs the tests of a suite, each under random faults of its own, and counts those that struck. */
export class UnsteadyRun {
  /** Of the tests that have run: the faults that struck a connection. */
  readonly struck: number[] = [];
  /** What the manifest leaves out; the suite on good links tells what and why. */
  readonly leftOut: string[] = [];
  readonly it = Object.assign(
    (title: string, run: () => Promise<void>) => it(title, () => this.#underFaults(title, run)),
    { skip: (title: string) => this.leftOut.push(title) },
  );
  readonly #proxy: FaultProxy;
  readonly #faults: RandomFaultOptions;
  readonly #seed = faultSeed();

  constructor(proxy: FaultProxy, faults: RandomFaultOptions) {
    this.#proxy = proxy;
    this.#faults = faults;
  }

  /** How many faults struck, and how many of the tests; printed on stderr. */
  sum(): { readonly total: number; readonly hit: number; readonly tests: number } {
    const total = this.struck.reduce((sum, count) => sum + count, 0);
    const hit = this.struck.filter((count) => count > 0).length;
    const tests = this.struck.length;
    process.stderr.write(
      `${String(total)} faults struck ${String(hit)} of ${String(tests)} tests, EBBGATE_FAULT_SEED=${String(this.#seed)}\n`,
    );
    return { total, hit, tests };
  }

  /** Also looks for what the test has left behind. */
  async #underFaults(title: string, run: () => Promise<void>): Promise<void> {
    const faults = new RandomFaults(this.#proxy, { ...this.#faults, seed: seedFor(this.#seed, title) });
    try {
      await run();
    } catch (cause) {
      const text = cause instanceof Error ? cause.message : String(cause);
      const told = `EBBGATE_FAULT_SEED=${String(this.#seed)}, faults: ${faults.done.join('; ')}`;
      throw new Error(`${text}\n(${told})`, { cause });
    } finally {
      this.struck.push(faults.struck);
      await faults.stop();
    }
    await eventually('the end of every connection', CLOSED_MS, () => this.#proxy.links.length === 0);
  }
}
