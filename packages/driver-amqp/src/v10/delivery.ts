import type { Delivery, MaybePromise, WireMessage } from '@ebbgate/core';
import type { Delivery as RheaDelivery } from 'rhea';

/** What settles deliveries; after the loss of their session nothing does. */
export interface Settling {
  /** False when it was settled before, or went back with its session. */
  leave(delivery: Amqp10Delivery): boolean;
  /** What was settled is written: true, or false when the session was lost first. */
  written(): Promise<boolean>;
}

/** One delivery, bound to the session it came on. */
export class Amqp10Delivery implements Delivery {
  readonly message: WireMessage;
  readonly redelivered: boolean;
  readonly #raw: RheaDelivery;
  readonly #settling: Settling;

  constructor(message: WireMessage, redelivered: boolean, raw: RheaDelivery, settling: Settling) {
    this.message = message;
    this.redelivered = redelivered;
    this.#raw = raw;
    this.#settling = settling;
  }

  accept(): MaybePromise<boolean> {
    if (!this.#settling.leave(this)) return false;
    this.#raw.accept();
    return this.#settling.written();
  }

  release(): void {
    if (this.#settling.leave(this)) this.#raw.release();
  }

  reject(): void {
    if (this.#settling.leave(this)) this.#raw.reject();
  }
}
