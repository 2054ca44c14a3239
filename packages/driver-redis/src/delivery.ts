import type { Delivery, MaybePromise, WireMessage } from '@ebbgate/core';

/** What settles deliveries; after the loss of their channel nothing does. */
export interface Settling {
  accept(delivery: RedisDelivery): MaybePromise<boolean>;
  release(delivery: RedisDelivery): void;
  reject(delivery: RedisDelivery): void;
}

/** One delivery, bound to the subscription that has fetched it. */
export class RedisDelivery implements Delivery {
  readonly message: WireMessage;
  readonly redelivered: boolean;
  /** Its name among what the consumer holds. */
  readonly ref: string;
  readonly #settling: Settling;

  constructor(message: WireMessage, redelivered: boolean, ref: string, settling: Settling) {
    this.message = message;
    this.redelivered = redelivered;
    this.ref = ref;
    this.#settling = settling;
  }

  accept(): MaybePromise<boolean> {
    return this.#settling.accept(this);
  }

  release(): void {
    this.#settling.release(this);
  }

  reject(): void {
    this.#settling.reject(this);
  }
}
