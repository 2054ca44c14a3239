import {
  type Deadline,
  type Logger,
  MessageDeliveryError,
  type ReplyQueue,
  SerializationError,
  TransportClosedError,
  type WireMessage,
  within,
} from '@ebbgate/core';
import type { HeldConnection } from '../held-connection.js';
import type { SourceListener } from '../source-listener.js';
import type { Amqp10Delivery } from './delivery.js';
import type { PeerConnection } from './peer-connection.js';

/** What a reply queue is made of. */
export interface ReplyQueueParts {
  readonly connection: HeldConnection<PeerConnection>;
  readonly logger: Logger;
  /** The name that we have chosen, or that the broker has given to the node of now. */
  readonly address: () => string;
  readonly onReply: (message: WireMessage) => void;
}

/** Where replies arrive: a listener on one node of our own, which takes everything at once. */
export class Amqp10ReplyQueue implements ReplyQueue {
  readonly #parts: ReplyQueueParts;
  #listener: SourceListener<PeerConnection> | undefined;
  #isClosed = false;
  /** Requests that wait until their replies can arrive. */
  #waiting: (() => void)[] = [];

  constructor(parts: ReplyQueueParts) {
    this.#parts = parts;
  }

  get address(): string {
    return this.#parts.address();
  }

  /** Replies arrive. */
  get isConsumed(): boolean {
    return this.#listener?.status.subscribed === true;
  }

  /** Resolves when replies can arrive; rejects when they never will: a conflict, or no permission. */
  async open(listener: SourceListener<PeerConnection>): Promise<void> {
    this.#listener = listener;
    await listener.ready();
  }

  /**
   * Resolves when it is consumed (AMQP-35).
   *
   * @throws MessageDeliveryError (`ERR_DELIVERY`, not sent) at the deadline, or after `retry` failed rounds; what else
   * keeps the connection away.
   */
  async whenConsumed(deadline: Deadline, retry: number | undefined): Promise<void> {
    await this.#parts.connection.whenUp(deadline, retry);
    if (this.isConsumed) return;
    const consumed = new Promise<void>((resolve) => this.#waiting.push(resolve));
    const late = (): Error =>
      new MessageDeliveryError('The reply queue is not consumed: no reply could arrive');
    await within(consumed, { timeoutMs: deadline.remainingMs }, late);
    if (this.#isClosed) throw new TransportClosedError('The transport was closed');
  }

  /** Its listener has told how it is. */
  onStatus(): void {
    if (this.isConsumed || this.#isClosed) for (const resolve of this.#waiting.splice(0)) resolve();
  }

  onDelivery(delivery: Amqp10Delivery): void {
    void delivery.accept();
    if (this.#isClosed) return;
    try {
      delivery.message.body.encode();
    } catch (error) {
      if (!(error instanceof SerializationError)) throw error;
      const { size } = delivery.message.body;
      this.#parts.logger.warn({ size }, 'A reply that cannot be read was dropped');
      return;
    }
    this.#parts.onReply(delivery.message);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.onStatus();
    await this.#listener?.close();
  }
}
