import { type Logger, within } from '@ebbgate/core';
import { OperationAbortedError } from '../errors.js';
import type { Notification } from './notification.js';

/** Where notifications go: a notifier of the daemon. */
export interface NotificationSink {
  /** Resolves when the broker has it. */
  send(notification: Notification): Promise<void>;
}

/** How notifications go out. */
export interface OutboxOptions {
  /** Where they go. */
  readonly sink: NotificationSink;
  /** Hears of those that could not be sent. */
  readonly logger: Logger;
  /** So many may be on their way; what comes then is dropped. Default 1000. */
  readonly most?: number;
}

const MOST = 1_000;

/**
 * Notifications on their way. Nobody waits for them: what happens is told in its order, and goes on while it is told. With
 * the broker away only so many are kept; the others are dropped, counted and logged.
 */
export class NotificationOutbox {
  readonly #sink: NotificationSink;
  readonly #logger: Logger;
  readonly #most: number;
  readonly #underway = new Set<Promise<void>>();
  #dropped = 0;
  #isFull = false;

  constructor({ sink, logger, most = MOST }: OutboxOptions) {
    this.#sink = sink;
    this.#logger = logger;
    this.#most = most;
  }

  /** How many were dropped, or could not be sent. */
  get dropped(): number {
    return this.#dropped;
  }

  /**
   * Sends a notification without waiting. Never throws.
   * @param make - puts it into words
   */
  put(make: () => Notification): void {
    if (this.#underway.size >= this.#most) {
      this.#drop();
      return;
    }
    const sending: Promise<void> = this.#send(make).finally(() => {
      this.#underway.delete(sending);
      if (this.#underway.size === 0) this.#hasCaughtUp();
    });
    this.#underway.add(sending);
  }

  /** Resolves when none is on its way, or at the time limit. Never rejects. */
  async settle(timeoutMs: number): Promise<void> {
    if (this.#underway.size === 0) return;
    const late = (): Error => new OperationAbortedError('Some notifications are still on their way');
    try {
      await within(Promise.all(this.#underway), { timeoutMs }, late);
    } catch (error) {
      this.#logger.warn({ err: error, underway: this.#underway.size }, 'Notifications are left unsent');
    }
  }

  async #send(make: () => Notification): Promise<void> {
    try {
      await this.#sink.send(make());
    } catch (error) {
      this.#dropped += 1;
      this.#logger.warn({ err: error }, 'A notification was not sent');
    }
  }

  /** Logged when it becomes full, and when it is empty again. */
  #drop(): void {
    this.#dropped += 1;
    if (this.#isFull) return;
    this.#isFull = true;
    this.#logger.warn({ most: this.#most }, 'Too many notifications are on their way: others are dropped');
  }

  #hasCaughtUp(): void {
    if (!this.#isFull) return;
    this.#isFull = false;
    this.#logger.warn({ dropped: this.#dropped }, 'Notifications go out again; so many are lost by now');
  }
}
