import type { Delivery } from './driver.js';
import { TimerEntry, timers } from './timer-wheel.js';

/** One delivery that waits. */
class Delayed extends TimerEntry {
  readonly #goBack: (delayed: Delayed) => void;

  constructor(goBack: (delayed: Delayed) => void) {
    super();
    this.#goBack = goBack;
  }

  override onTime(): void {
    timers.remove(this);
    this.#goBack(this);
  }
}

/** Deliveries that go back to the broker later. They need no slot; with too many of them the first one goes back earlier. */
export class DelayedDeliveries {
  readonly #most: number;
  readonly #release: (delivery: Delivery) => void;
  readonly #waiting = new Set<Delayed>();

  constructor(most: number, release: (delivery: Delivery) => void) {
    this.#most = most;
    this.#release = release;
  }

  get size(): number {
    return this.#waiting.size;
  }

  add(delivery: Delivery, ms: number): void {
    const [first] = this.#waiting;
    if (first && this.#waiting.size >= this.#most) first.onTime();
    const delayed = new Delayed((self) => {
      this.#waiting.delete(self);
      this.#release(delivery);
    });
    this.#waiting.add(delayed);
    timers.add(delayed, ms);
  }

  /** All go back now. */
  releaseAll(): void {
    for (const delayed of [...this.#waiting]) delayed.onTime();
  }
}
