import type { Delivery, MaybePromise, WireMessage } from '@ebbgate/core';
import type { Acknowledger } from './acknowledger.js';

/** One delivery, bound to the channel it came from by its acknowledger. */
export class RabbitDelivery implements Delivery {
  readonly message: WireMessage;
  readonly redelivered: boolean;
  readonly #tag: number;
  readonly #acks: Acknowledger;
  readonly #onSettled: (delivery: RabbitDelivery) => boolean;

  /** @param onSettled - false when it was settled before, or its listener has given it back */
  constructor(
    message: WireMessage,
    fields: { readonly deliveryTag: number; readonly redelivered: boolean },
    acks: Acknowledger,
    onSettled: (delivery: RabbitDelivery) => boolean,
  ) {
    this.message = message;
    this.redelivered = fields.redelivered;
    this.#tag = fields.deliveryTag;
    this.#acks = acks;
    this.#onSettled = onSettled;
  }

  accept(): MaybePromise<boolean> {
    return this.#onSettled(this) && this.#acks.accept(this.#tag);
  }

  release(): void {
    if (this.#onSettled(this)) this.#acks.release(this.#tag);
  }

  reject(): void {
    if (this.#onSettled(this)) this.#acks.reject(this.#tag);
  }
}
