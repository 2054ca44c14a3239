import type { Logger } from '@ebbgate/core';

const LOOK_EVERY_MS = 500;
/** What garbage collection and a busy turn may take. */
const TOLERATED_MS = 1_000;

/**
 * Tells when the event loop was blocked, and for how long: no lease is renewed meanwhile, and once it is over others are given
 * what was fetched and not begun.
 */
export class EventLoopWatch {
  readonly #logger: Logger;
  #timer: NodeJS.Timeout | undefined;
  #lookedMs = 0;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  start(): void {
    if (this.#timer) return;
    this.#lookedMs = performance.now();
    this.#timer = setInterval(() => {
      this.#look();
    }, LOOK_EVERY_MS);
    this.#timer.unref();
  }

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
      `The event loop was blocked for ${String(blockedMs)} ms: no lease was renewed meanwhile; move such work into a worker thread`,
    );
  }
}
