import type { Delivery } from './driver.js';
import { TimerEntry, timers } from './timer-wheel.js';

/** What happens to deliveries that wait too long. Nothing of it may throw. */
export interface HeldOptions {
  /** Without relief for so long, `onStall` is called: ask for no more. */
  readonly stallMs: number;
  /** A delivery that has waited so long is taken out and handed to `onTooLong`. */
  readonly maxHeldMs: number;
  onStall(): void;
  /** The last one found a slot, after a stall. */
  onRelief(): void;
  onTooLong(delivery: Delivery): void;
}

interface Held {
  readonly delivery: Delivery;
  readonly since: number;
}

/**
 * Deliveries that were fetched and have no slot yet, in order of arrival. Watches that none lies unsettled for long:
 * brokers close channels for that (`decisions.md` 3).
 */
export class HeldDeliveries extends TimerEntry {
  readonly #options: HeldOptions;
  #list: Held[] = [];
  #lastShift = 0;
  #stalled = false;

  constructor(options: HeldOptions) {
    super();
    this.#options = options;
  }

  get size(): number {
    return this.#list.length;
  }

  push(delivery: Delivery): void {
    const since = performance.now();
    this.#list.push({ delivery, since });
    if (this.#list.length > 1) return;
    this.#lastShift = since;
    timers.add(this, this.#options.stallMs);
  }

  shift(): Delivery | undefined {
    const held = this.#list.shift(); // short: never longer than the credit
    if (!held) {
      if (this.#stalled) this.#relieve();
      return undefined;
    }
    this.#lastShift = performance.now();
    if (this.#list.length === 0) this.#relieve();
    return held.delivery;
  }

  /** Intake has ended: what is held waits as long as it takes, or until `wait()` gives up. */
  stopWatching(): void {
    timers.remove(this);
  }

  override onTime(): void {
    const now = performance.now();
    const { stallMs, maxHeldMs } = this.#options;
    if (!this.#stalled && now - this.#lastShift >= stallMs) {
      this.#stalled = true;
      this.#options.onStall();
    }
    const tooLong = this.#list.filter((held) => now - held.since >= maxHeldMs);
    this.#list = this.#list.filter((held) => now - held.since < maxHeldMs);
    for (const { delivery } of tooLong) this.#options.onTooLong(delivery);
    const oldest = this.#list[0];
    if (!oldest) return; // a stalled server stays paused until a slot comes free
    const next = this.#stalled
      ? oldest.since + maxHeldMs
      : Math.min(this.#lastShift + stallMs, oldest.since + maxHeldMs);
    timers.add(this, Math.max(1, next - now));
  }

  #relieve(): void {
    timers.remove(this);
    if (!this.#stalled) return;
    this.#stalled = false;
    this.#options.onRelief();
  }
}
