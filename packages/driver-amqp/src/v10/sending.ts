import { type Deadline, type Destination, MessageDeliveryError, TimerEntry, timers } from '@ebbgate/core';
import type { Delivery, Message } from 'rhea';

/** One message, ready to be sent. */
export interface Outgoing {
  readonly destination: Destination;
  readonly message: Message;
  readonly deadline: Deadline;
  readonly retry: number | undefined;
  readonly mandatory: boolean;
  /** May be sent again when it is unknown whether the broker has it: its receiver knows duplicates (replies). */
  readonly repeatable: boolean;
}

/** Rejects a send to say: try again, nothing has reached the broker or it does no harm. */
export class SendAgain extends Error {}

/** A message on its way. Settled once: by the outcome of its delivery, a loss, or its deadline. */
export class Sending extends TimerEntry {
  readonly outgoing: Outgoing;
  readonly #resolve: () => void;
  readonly #reject: (error: Error) => void;
  readonly #onLate: (sending: Sending) => void;
  #delivery: Delivery | undefined;
  #isLate = false;

  /** @param onLate - its deadline has come: whoever keeps it need not any more */
  constructor(
    outgoing: Outgoing,
    resolve: () => void,
    reject: (error: Error) => void,
    onLate: (sending: Sending) => void,
  ) {
    super();
    this.outgoing = outgoing;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#onLate = onLate;
    timers.add(this, outgoing.deadline.remainingMs);
  }

  /** It was told that its deadline has come: the broker may still settle it. */
  get isLate(): boolean {
    return this.#isLate;
  }

  /** Undefined until it is sent. */
  get delivery(): Delivery | undefined {
    return this.#delivery;
  }

  /** From now on it may arrive. */
  sent(delivery: Delivery): void {
    this.#delivery = delivery;
  }

  taken(): void {
    timers.remove(this);
    this.#resolve();
  }

  fail(error: Error): void {
    timers.remove(this);
    this.#reject(error);
  }

  override onTime(): void {
    this.#isLate = true;
    this.#onLate(this);
    this.fail(
      this.#delivery
        ? new MessageDeliveryError('The broker did not settle the message before the deadline', {
            outcome: 'unknown',
          })
        : new MessageDeliveryError('The broker gave no credit for the message before the deadline'),
    );
  }
}
