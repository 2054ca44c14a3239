import {
  AuthenticationError,
  ConfigurationError,
  type Deadline,
  type DriverEvents,
  type Logger,
  MessageDeliveryError,
  redactedCause,
  type ReplyQueue,
  RetryPause,
  TimerEntry,
  timers,
  TransportClosedError,
  type WireMessage,
  within,
} from '@ebbgate/core';
import type { Channel, ChannelModel, ConsumeMessage } from 'amqplib';
import { asBrokerError } from '../broker-errors.js';
import { readMessage } from '../properties.js';
import type { ReplyTopology } from '../topology.js';
import { openChannel } from './channel.js';
import type { ConnectionUser } from '../held-connection.js';
import type { BrokerConnection } from './connection.js';
import { closedInOrder } from './orderly-close.js';

const CLOSE_MS = 3_000;
const LONGEST_PAUSE_MS = 10_000;
/** Replies are acknowledged after so many, or after so long. */
const ACK_AFTER = 64;
const ACK_WITHIN_MS = 50;

/** What a reply queue is made of. */
export interface ReplyQueueParts {
  readonly connection: BrokerConnection;
  readonly topology: ReplyTopology;
  readonly events: DriverEvents;
  readonly logger: Logger;
  readonly onReply: (message: WireMessage) => void;
  readonly onClosed: () => void;
}

/** The queue at which a process gets its replies: one name as long as the process lives, consumed again after each loss. */
export class RabbitReplyQueue implements ReplyQueue, ConnectionUser<ChannelModel> {
  readonly #connection: BrokerConnection;
  readonly #topology: ReplyTopology;
  readonly #onReply: (message: WireMessage) => void;
  readonly #events: DriverEvents;
  readonly #logger: Logger;
  #channel: Channel | undefined;
  readonly #abort = new AbortController();
  readonly #pause = new RetryPause({ retryIntervalMaxMs: LONGEST_PAUSE_MS });
  readonly #acks = new ReplyAcks();
  #consuming: Promise<void> | undefined;
  readonly #onClosed: () => void;
  #first: { readonly resolve: () => void; readonly reject: (error: Error) => void } | undefined;
  /** Requests that wait until their replies can arrive. */
  #waiting: (() => void)[] = [];

  constructor({ connection, topology, events, logger, onReply, onClosed }: ReplyQueueParts) {
    this.#connection = connection;
    this.#topology = topology;
    this.#events = events;
    this.#logger = logger;
    this.#onReply = onReply;
    this.#onClosed = onClosed;
    connection.users.add(this);
  }

  /** It is consumed: replies arrive. */
  get isConsumed(): boolean {
    return this.#channel !== undefined;
  }

  /**
   * Resolves when it is consumed (AMQP-35).
   *
   * @throws MessageDeliveryError (`ERR_DELIVERY`, not sent) at the deadline, or after `retry` failed rounds; what else
   * keeps the connection away.
   */
  async whenConsumed(deadline: Deadline, retry: number | undefined): Promise<void> {
    await this.#connection.whenUp(deadline, retry);
    if (this.isConsumed) return;
    const consumed = new Promise<void>((resolve) => this.#waiting.push(resolve));
    const late = (): Error =>
      new MessageDeliveryError('The reply queue is not consumed: no reply could arrive');
    await within(consumed, { timeoutMs: deadline.remainingMs }, late);
    if (this.#abort.signal.aborted) throw new TransportClosedError('The transport was closed');
  }

  #tellWaiting(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  get address(): string {
    return this.#topology.queue.name;
  }

  /** Resolves when replies can arrive; rejects when they never will: a conflict, or no permission. */
  open(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#first = { resolve, reject };
      this.#pursue();
    });
  }

  onUp(_model: ChannelModel): void {
    this.#pursue();
  }

  onDown(): void {
    this.#channel = undefined;
  }

  async close(): Promise<void> {
    if (this.#abort.signal.aborted) return;
    this.#abort.abort();
    this.#connection.users.delete(this);
    this.#onClosed();
    this.#tellWaiting();
    const channel = this.#channel;
    if (!channel) return;
    this.#acks.write();
    const { privateQueue } = this.#topology;
    const work = async (): Promise<void> => {
      if (privateQueue !== undefined) await channel.deleteQueue(privateQueue);
      await closedInOrder(channel);
    };
    await within(work(), { timeoutMs: CLOSE_MS }, () => new Error('late')).catch(() => undefined);
  }

  #pursue(): void {
    const { model } = this.#connection;
    if (this.#abort.signal.aborted || this.#consuming || this.#channel || !model) return;
    this.#consuming = this.#consume(model).finally(() => {
      this.#consuming = undefined;
      this.#pursue();
    });
  }

  async #consume(model: ChannelModel): Promise<void> {
    let channel: Channel | undefined;
    const state: { ended: boolean; cause: Error | undefined } = { ended: false, cause: undefined };
    const onEnd = (cause: Error | undefined): void => {
      state.ended = true;
      state.cause ??= cause;
      if (channel) this.#lost(channel, cause);
    };
    try {
      channel = await openChannel(model, onEnd);
      const consuming = channel;
      const { queue, consumeArguments } = this.#topology;
      await channel.assertQueue(queue.name, queue.options);
      const take = (message: ConsumeMessage | null): void => {
        if (message) this.#onMessage(consuming, message);
        else onEnd(new Error('The broker cancelled the consumer of the reply queue'));
      };
      await channel.consume(queue.name, take, { arguments: consumeArguments });
      if (state.ended) throw new Error('The channel of the reply queue was closed'); // in the same packet as the answer
      this.#channel = channel;
      this.#pause.succeeded();
      this.#first?.resolve();
      this.#first = undefined;
      this.#tellWaiting();
    } catch (error) {
      if (this.#abort.signal.aborted || this.#connection.model !== model) return;
      this.#failed(asBrokerError(state.cause ?? error, 'Cannot consume the reply queue'));
      void channel?.close().catch(() => undefined); // after a cancel it is still open
      await this.#pause.wait(this.#abort.signal);
    }
  }

  /** Whoever waits for the first subscription is told what will not change; all else is tried again. */
  #failed(failure: Error): void {
    if (this.#first && (failure instanceof ConfigurationError || failure instanceof AuthenticationError)) {
      this.#first.reject(failure);
      this.#first = undefined;
    } else this.#events.error(failure);
  }

  /** @param cause - undefined when it went with its connection: what comes next comes with the next one */
  #lost(channel: Channel, cause: Error | undefined): void {
    if (this.#channel !== channel) return;
    this.#channel = undefined;
    void channel.close().catch(() => undefined); // after a cancel by the broker it is still open
    if (!cause || this.#abort.signal.aborted) return;
    this.#logger.warn(
      { err: redactedCause(cause) },
      'The reply queue is not consumed any more; it is tried again',
    );
    this.#consuming = this.#pause.wait(this.#abort.signal).finally(() => {
      this.#consuming = undefined;
      this.#pursue();
    });
  }

  /**
   * Replies need no settling of their own: they are acknowledged many at a time, as each acknowledgement is a write to the
   * socket. Those that a lost connection brings again find no call that waits for them.
   */
  #onMessage(channel: Channel, raw: ConsumeMessage): void {
    this.#acks.onReply(channel, raw.fields.deliveryTag);
    let message: WireMessage;
    try {
      message = readMessage(raw);
    } catch {
      this.#logger.warn({ size: raw.content.byteLength }, 'A reply that cannot be read was dropped');
      return;
    }
    this.#onReply(message);
  }
}

/** The acknowledgements of replies, many by one frame. */
class ReplyAcks extends TimerEntry {
  #channel: Channel | undefined;
  #lastTag = 0;
  #count = 0;

  onReply(channel: Channel, tag: number): void {
    if (this.#channel !== channel) this.#count = 0; // the tags of another channel
    this.#channel = channel;
    this.#lastTag = tag;
    this.#count += 1;
    if (this.#count === ACK_AFTER) this.write();
    else if (this.#count === 1) timers.add(this, ACK_WITHIN_MS);
  }

  write(): void {
    timers.remove(this);
    if (this.#count === 0) return;
    this.#count = 0;
    const message = { fields: { deliveryTag: this.#lastTag } } as Parameters<Channel['ack']>[0]; // amqplib reads the tag alone
    try {
      this.#channel?.ack(message, true);
    } catch {
      // the channel is gone: the broker sends them again, and no call waits for them twice
    }
  }

  override onTime(): void {
    this.write();
  }
}
