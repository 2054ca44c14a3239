import type { Delivery, DriverEvents, ListenOptions, Listener, ListenerStatus, Source } from '../driver.js';
import type { MemoryBroker } from './broker.js';
import type { Attached, MemoryConnection } from './connection.js';
import { MemoryConsumer } from './consumer.js';
import type { MemoryQueue } from './queue.js';

/** Whether the owner wants messages. What the broker does is this and the connection together. */
type Wish = 'listen' | 'pause' | 'stop' | 'closed';

/** The queues of a source, and how what belongs to the listener alone is removed. */
export interface Declared {
  readonly source: Source;
  readonly queues: readonly MemoryQueue[];
  remove(): void;
}

/** A subscription to the queues of a source. */
export class MemoryListener implements Listener, Attached {
  readonly #connection: MemoryConnection;
  readonly #events: DriverEvents;
  readonly #declared: Declared;
  readonly #consumer: MemoryConsumer;
  #wish: Wish = 'listen';

  constructor(
    broker: MemoryBroker,
    connection: MemoryConnection,
    events: DriverEvents,
    declared: Declared,
    options: ListenOptions,
    onDelivery: (delivery: Delivery) => void,
  ) {
    this.#connection = connection;
    this.#events = events;
    this.#declared = declared;
    this.#consumer = new MemoryConsumer(broker, options.credit, onDelivery);
    this.#consumer.queues.push(...declared.queues);
    connection.attached.add(this);
    this.#apply();
  }

  get status(): ListenerStatus {
    return { source: this.#declared.source, subscribed: this.#consumer.active };
  }

  stop(): Promise<void> {
    return this.#become('stop');
  }

  pause(): Promise<void> {
    return this.#become('pause');
  }

  resume(): Promise<void> {
    return this.#become('listen');
  }

  close(): Promise<readonly string[]> {
    if (this.#wish === 'closed') return Promise.resolve([]);
    this.#wish = 'closed';
    this.#apply();
    this.#consumer.drop();
    this.#connection.attached.delete(this);
    this.#declared.remove();
    return Promise.resolve([]);
  }

  onCut(): void {
    this.#apply(new Error('The connection was cut'));
    this.#consumer.drop();
  }

  onRestored(): void {
    this.#apply();
  }

  /** The broker ends the subscription by itself, and takes it up again: what a driver must survive. */
  cancelledByBroker(): void {
    if (this.#wish !== 'listen' || !this.#connection.up) return;
    this.#detach();
    this.#events.listener(this.status, new Error('The broker cancelled the subscription'));
    this.#apply();
  }

  #become(wish: Wish): Promise<void> {
    if (this.#wish === 'listen' || this.#wish === 'pause') this.#wish = wish; // a stop is not taken back
    this.#apply();
    return Promise.resolve();
  }

  #apply(cause?: Error): void {
    const wanted = this.#wish === 'listen' && this.#connection.up;
    const before = this.#consumer.active;
    if (wanted) this.#attach();
    else this.#detach();
    if (before !== wanted) this.#events.listener(this.status, cause);
  }

  #attach(): void {
    this.#consumer.active = true;
    for (const queue of this.#declared.queues) queue.attach(this.#consumer);
    this.#consumer.wake();
  }

  #detach(): void {
    this.#consumer.active = false;
    for (const queue of this.#declared.queues) queue.detach(this.#consumer);
  }
}
