import type { Clock } from '@sinonjs/fake-timers';
import { turn } from '../../support/deferred.js';
import { onFakeClock } from '../../support/fake-clock.js';
import { type TestCloud, withCloud } from './test-cloud.js';

/** So much of it passes at a time; an hour is longer than any test waits. */
const PIECE_MS = 1_000;
const MOST_PIECES = 3_600;
/** Turns of the loop between two pieces: some messages, one after another, take no time. */
const TURNS = 20;

/** Time that passes only when a test says so. */
export class SimulatedTime {
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Lets so much of it pass, and what is due meanwhile happen. */
  async pass(ms: number): Promise<void> {
    for (let leftMs = ms; leftMs > 0; leftMs -= PIECE_MS) await this.#piece(Math.min(leftMs, PIECE_MS));
  }

  /** Lets it pass until something has come about. */
  async until<T>(work: Promise<T>): Promise<T> {
    const seen = { isOver: false };
    const end = (): void => {
      seen.isOver = true;
    };
    work.then(end, end);
    for (let pieces = 0; !seen.isOver && pieces < MOST_PIECES; pieces += 1) await this.#piece(PIECE_MS);
    if (!seen.isOver) throw new Error('it has not come about within an hour');
    return work;
  }

  async #piece(ms: number): Promise<void> {
    await this.#clock.tickAsync(ms);
    for (let turns = 0; turns < TURNS; turns += 1) await turn();
  }
}

/** As `withCloud`, on simulated time. */
export function withSlowCloud(
  options: Parameters<typeof withCloud>[0],
  work: (test: TestCloud, time: SimulatedTime) => Promise<void>,
): Promise<void> {
  return onFakeClock((clock) => withCloud(options, (test) => work(test, new SimulatedTime(clock))));
}
