import type { ConnectionSettings } from './options.js';

/** A connection that has held so long counts as stable: what comes after it begins with short waits again. */
const STABLE_MS = 10_000;
/** What is doubled when no delay at all was asked for. */
const LEAST_MS = 50;

/** The settings that it goes by. */
export type BackoffSettings = Pick<
  ConnectionSettings,
  'reconnectDelayMs' | 'reconnectSplayMs' | 'retryIntervalMs' | 'retryBackoffMs' | 'intervalMaxMs'
>;

/**
 * How long to wait before the next attempt: twice as long each time, up to a cap, and a random part of it, so that many
 * clients that lost one broker do not come back at one moment. Only a connection that held ends the growth.
 */
export class Backoff {
  readonly #settings: BackoffSettings;
  readonly #random: () => number;
  #shortLived = 0;
  #failedRounds = 0;

  constructor(settings: BackoffSettings, random: () => number = Math.random) {
    this.#settings = settings;
    this.#random = random;
  }

  /** After the loss of a connection that held so long. */
  afterLoss(heldMs: number): number {
    const { reconnectDelayMs, reconnectSplayMs, intervalMaxMs } = this.#settings;
    if (heldMs >= STABLE_MS) {
      this.#shortLived = 0;
      this.#failedRounds = 0;
    }
    const grown =
      this.#shortLived === 0
        ? reconnectDelayMs
        : Math.min(Math.max(reconnectDelayMs, LEAST_MS) * 2 ** this.#shortLived, intervalMaxMs);
    this.#shortLived += 1;
    return this.#spread(grown) + this.#random() * reconnectSplayMs;
  }

  /** After a round in which no host could be reached; when one has refused the credentials, as long as may be. */
  afterFailedRound(refused: boolean): number {
    const { retryIntervalMs, retryBackoffMs, intervalMaxMs } = this.#settings;
    const grown = retryIntervalMs + retryBackoffMs * (2 ** this.#failedRounds - 1);
    this.#failedRounds += 1;
    return this.#spread(refused ? intervalMaxMs : Math.min(grown, intervalMaxMs));
  }

  #spread(ms: number): number {
    return ms / 2 + (this.#random() * ms) / 2;
  }
}
