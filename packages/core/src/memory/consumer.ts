import type { Delivery } from '../driver.js';
import type { WireMessage } from '../message.js';
import type { Entry, MemoryQueue } from './queue.js';

/** What a consumer needs of its broker. */
export interface Rounds {
  /** The queue may have something to hand out. */
  schedule(queue: MemoryQueue): void;
}

/** One listener at the broker: one credit over all its queues, one list of what it holds. */
export class MemoryConsumer {
  readonly queues: MemoryQueue[] = [];
  readonly #rounds: Rounds;
  readonly #credit: number;
  readonly #onDelivery: (delivery: Delivery) => void;
  #held: MemoryDelivery[] = [];
  /** Subscribed, on a live connection: the broker may send. */
  active = false;

  constructor(rounds: Rounds, credit: number, onDelivery: (delivery: Delivery) => void) {
    this.#rounds = rounds;
    this.#credit = credit;
    this.#onDelivery = onDelivery;
  }

  get ready(): boolean {
    return this.active && this.#held.length < this.#credit;
  }

  deliver(entry: Entry, queue: MemoryQueue): void {
    const delivery = new MemoryDelivery(this, queue, entry, this.#held.length);
    this.#held.push(delivery);
    this.#onDelivery(delivery);
  }

  /** Takes a delivery off the list: false when it is not on it any more. */
  settle(delivery: MemoryDelivery): boolean {
    const { index } = delivery;
    if (this.#held[index] !== delivery) return false;
    const last = this.#held.pop();
    if (last && last !== delivery) {
      this.#held[index] = last;
      last.index = index;
    }
    if (this.active) this.wake();
    return true;
  }

  /** Looks into its queues again: credit has come free, or the consumer is back. */
  wake(): void {
    for (const queue of this.queues) if (queue.length > 0) this.#rounds.schedule(queue);
  }

  /** The channel is gone: all that was handed out and not settled goes back, in its order. */
  drop(): void {
    this.active = false;
    const held = this.#held;
    this.#held = [];
    for (const { queue, entry } of held) this.putBack(queue, entry);
  }

  putBack(queue: MemoryQueue, entry: Entry): void {
    if (!queue.alive) return;
    queue.putBack(entry);
    this.#rounds.schedule(queue);
  }
}

/** Settled once; after the loss of its channel settling does nothing. */
export class MemoryDelivery implements Delivery {
  readonly message: WireMessage;
  readonly redelivered: boolean;
  readonly queue: MemoryQueue;
  readonly entry: Entry;
  /** Place on the consumer's list. Managed by the consumer. */
  index: number;
  readonly #consumer: MemoryConsumer;

  constructor(consumer: MemoryConsumer, queue: MemoryQueue, entry: Entry, index: number) {
    this.#consumer = consumer;
    this.queue = queue;
    this.entry = entry;
    this.message = entry.message;
    this.redelivered = entry.redelivered; // as it is now: it may come back, and go out again
    this.index = index;
  }

  accept(): boolean {
    return this.#consumer.settle(this);
  }

  release(): void {
    if (this.#consumer.settle(this)) this.#consumer.putBack(this.queue, this.entry);
  }

  reject(): void {
    this.#consumer.settle(this);
  }
}
