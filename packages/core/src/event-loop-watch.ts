import type { Logger } from './logger.js';

const LOOK_EVERY_MS = 500;
/** What garbage collection and a busy turn may take. */
const TOLERATED_MS = 1_000;

/**
 * Tells when the event loop was blocked, and for how long: a driver keeps nothing alive meanwhile, and a broker that hears
 * nothing gives to others what the process holds.
 */
export class EventLoopWatch {
  readonly #logger: Logger;
  readonly #missed: string;
  #timer: NodeJS.Timeout | undefined;
  #lookedMs = 0;

  /** @param missed - what could not be done meanwhile, for the log: `no heartbeat was sent` */
  constructor(logger: Logger, missed: string) {
    this.#logger = logger;
    this.#missed = missed;
  }

  /** Watches from now on; does nothing when it does already. */
  start(): void {
    if (this.#timer) return;
    this.#lookedMs = performance.now();
    this.#timer = setInterval(() => {
      this.#look();
    }, LOOK_EVERY_MS);
    this.#timer.unref();
  }

  /** Watches no more. */
  end(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #look(): void {
    const nowMs = performance.now();
    const blockedMs = Math.round(nowMs - this.#lookedMs - LOOK_EVERY_MS);
    this.#lookedMs = nowMs;
    if (blockedMs < TOLERATED_MS) return;
    this.#logger.warn(
      { blockedMs },
      `The event loop was blocked for ${String(blockedMs)} ms: ${this.#missed} meanwhile; move such work into a worker thread`,
    );
  }
}
