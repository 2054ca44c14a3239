import { Deadline, type Logger } from '@ebbgate/core';

/** What can be tried again: others are at the database, or there is no connection. */
export type PassingFault = 'busy' | 'away';

/** How often something is tried again, and for how long. */
export interface Patience {
  /** How long to wait at most before the next try, in ms; undefined: no more. */
  nextMs(fault: PassingFault): number | undefined;
}

const BUSY_MS = 15;
const AWAY_MS = 300;
const MOST_AWAY_MS = 10_000;
const REMIND_MS = 300_000;

/** Tries again for so long. */
export class LimitedPatience implements Patience {
  readonly #deadline: Deadline;

  constructor(limitMs: number) {
    this.#deadline = Deadline.after(limitMs);
  }

  nextMs(fault: PassingFault): number | undefined {
    if (this.#deadline.expired) return undefined;
    return Math.min(fault === 'away' ? AWAY_MS : BUSY_MS, Math.max(1, this.#deadline.remainingMs));
  }
}

/** How a start waits. */
export interface StartPatienceOptions {
  /** Names the database in reminders. */
  readonly label: string;
  readonly logger: Logger;
  /** A database that is busy is tried for so long. */
  readonly busyMs: number;
  /** In ms. */
  readonly now?: () => number;
}

/** Waits for a database that is away for ever: twice as long before each try, up to a limit, with a reminder now and then. */
export class StartPatience implements Patience {
  readonly #options: StartPatienceOptions;
  readonly #now: () => number;
  readonly #beganAt: number;
  #remindedAt: number;
  #awayMs: number = AWAY_MS;
  #busy: LimitedPatience;

  constructor(options: StartPatienceOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
    this.#beganAt = this.#now();
    this.#remindedAt = this.#beganAt;
    this.#busy = new LimitedPatience(options.busyMs);
  }

  nextMs(fault: PassingFault): number | undefined {
    if (fault === 'busy') return this.#busy.nextMs(fault);
    this.#busy = new LimitedPatience(this.#options.busyMs);
    this.#remind();
    const ms = this.#awayMs;
    this.#awayMs = Math.min(ms * 2, MOST_AWAY_MS);
    return ms;
  }

  #remind(): void {
    const now = this.#now();
    if (now - this.#remindedAt < REMIND_MS) return;
    this.#remindedAt = now;
    const { label: database, logger } = this.#options;
    logger.warn(
      { database, waitedMs: Math.round(now - this.#beganAt) },
      'The start still waits for the database',
    );
  }
}
