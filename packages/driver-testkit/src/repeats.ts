import type { Delivery, WireMessage } from '@ebbgate/core';
import { later } from './later.js';
import type { Ledger } from './ledger.js';
import { textOf } from './test-message.js';

/** What a delivery that was handed out needs of its inbox. */
interface HeldHost {
  until<T>(work: Promise<T>, what: string): Promise<T>;
  settled(verdict: 'accept' | 'reject'): void;
}

/**
 * A message that a test holds, over all the channels that are lost meanwhile: it stands for the delivery that came last.
 * To accept it takes as many as are needed.
 */
class Held implements Delivery {
  readonly #host: HeldHost;
  #current: Delivery;
  /** The test waits for it to be settled by whoever gets it next: what comes again is new. */
  #isGivenBack = false;
  #tellAgain: () => void = () => undefined;

  constructor(delivery: Delivery, host: HeldHost) {
    this.#current = delivery;
    this.#host = host;
  }

  get message(): WireMessage {
    return this.#current.message;
  }

  get redelivered(): boolean {
    return this.#current.redelivered;
  }

  get isGivenBack(): boolean {
    return this.#isGivenBack;
  }

  comesAgain(delivery: Delivery): void {
    this.#current = delivery;
    this.#tellAgain();
  }

  /** From now on it is the bare delivery, bound to its channel. */
  giveBack(): void {
    this.#isGivenBack = true;
  }

  accept(): Promise<boolean> {
    return later(this.#accept());
  }

  release(): void {
    this.#isGivenBack = true;
    this.#current.release();
  }

  reject(): void {
    if (!this.#isGivenBack) this.#host.settled('reject');
    this.#current.reject();
  }

  async #accept(): Promise<boolean> {
    for (;;) {
      const current = this.#current;
      const isAccepted = await current.accept();
      if (this.#isGivenBack) return isAccepted;
      if (isAccepted) {
        this.#host.settled('accept');
        return true;
      }
      if (this.#current === current) {
        const again = new Promise<void>((resolve) => (this.#tellAgain = resolve));
        await this.#host.until(again, 'a message whose channel was lost to come again');
      }
    }
  }
}

/**
 * Tells what is new at one inbox from what comes again, as every receiver must that hears its messages over links that
 * fail: what was settled already is settled the same way once more, what is held goes on with the new delivery.
 */
export class Repeats {
  readonly #ledger: Ledger;
  readonly #until: HeldHost['until'];
  readonly #held = new Map<string, Held>();

  constructor(ledger: Ledger, until: HeldHost['until']) {
    this.#ledger = ledger;
    this.#until = until;
  }

  /** The delivery as a test gets it; undefined when it has come before. */
  take(delivery: Delivery): Delivery | undefined {
    const text = textOf(delivery.message);
    this.#ledger.arrived(text, this, delivery);
    const verdict = this.#ledger.verdictOf(text, this);
    if (verdict) {
      void delivery[verdict]();
      return undefined;
    }
    const known = this.#held.get(text);
    if (known && !known.isGivenBack) {
      known.comesAgain(delivery);
      return undefined;
    }
    const held = new Held(delivery, {
      until: this.#until,
      settled: (how) => {
        this.#ledger.settled(text, this, how);
      },
    });
    this.#held.set(text, held);
    return held;
  }

  /** What is held is expected to come again as new. */
  giveBack(): void {
    for (const held of this.#held.values()) held.giveBack();
  }
}
