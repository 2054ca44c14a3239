import { type Clock, install } from '@sinonjs/fake-timers';

/** The clock of the process stands in the meantime: nothing may wait for anything real. */
const realTurn = setImmediate;

/** More than any drain, time-out and retry of one case together. */
const LONGEST_MS = 3_600_000;

/**
 * Replaces the clock of this process by one on which time passes as soon as nothing is left to do at the present moment. For
 * programs of their own: what was planned before stays on the real clock.
 */
export class SimulatedTime {
  readonly #clock: Clock;

  constructor() {
    this.#clock = install({
      toFake: [
        'setTimeout',
        'clearTimeout',
        'setInterval',
        'clearInterval',
        'setImmediate',
        'clearImmediate',
        'performance',
        'Date',
      ],
      now: Date.now(),
    });
  }

  /**
   * Lets time pass until `work` has settled, and resolves with it.
   * @throws Error when it has not within an hour of simulated time
   */
  async run<T>(work: () => Promise<T>): Promise<T> {
    const endMs = this.#clock.now + LONGEST_MS;
    const over = new AbortController();
    const result = work().finally(() => {
      over.abort();
    });
    result.catch(() => undefined); // told to whoever awaits what is returned
    for (;;) {
      await new Promise<void>((resolve) => realTurn(resolve)); // all promises have their turn
      if (over.signal.aborted) return result;
      if (this.#clock.now > endMs) throw new Error('It is not over after an hour');
      if (this.#clock.countTimers() === 0) throw new Error('It waits for something that never comes');
      this.#clock.next();
    }
  }
}

/** Resolves after so much simulated time. */
export function pass(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
