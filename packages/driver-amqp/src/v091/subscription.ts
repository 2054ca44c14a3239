import type { WireMessage } from '@ebbgate/core';
import type { Channel, ChannelModel, ConsumeMessage } from 'amqplib';
import { readMessage } from '../properties.js';
import type { SourceSubscription } from '../source-listener.js';
import type { SourceQueue, SourceTopology } from '../topology.js';
import { Acknowledger } from './acknowledger.js';
import { openChannel } from './channel.js';
import { RabbitDelivery } from './delivery.js';
import { closedInOrder } from './orderly-close.js';
import type { StreamOffsets } from './stream-offsets.js';
import { unreadableMessage } from '../unreadable-message.js';

/** What a subscription tells its listener. */
export interface SubscriptionHooks {
  onDelivery(delivery: RabbitDelivery): void;
  /** It is of no use any more: its channel has ended, or the broker has cancelled a consumer. Told once, not after `close`. */
  onLost(cause: Error | undefined): void;
}

/** What a subscription is made of. */
export interface SubscriptionParts {
  /** What is declared and consumed. */
  readonly topology: SourceTopology;
  /** Most deliveries handed over and not settled. */
  readonly credit: number;
  readonly acceptance: 'written' | 'confirmed';
  /** Where streams go on; kept by the listener, as it outlives each subscription. */
  readonly offsets: StreamOffsets;
  readonly hooks: SubscriptionHooks;
}

/** One try at consuming: a channel, its consumers, and what they have brought and is not settled. */
export class Subscription implements SourceSubscription<ChannelModel> {
  readonly #topology: SourceTopology;
  readonly #hooks: SubscriptionHooks;
  readonly #acceptance: 'written' | 'confirmed';
  readonly #offsets: StreamOffsets;
  readonly #credit: number;
  /** Handed over and not settled: never more than the credit. */
  readonly #held = new Set<RabbitDelivery>();
  /** Fetched beyond it: each consumer has the whole credit, as any of the queues may be the busy one. */
  #kept: RabbitDelivery[] = [];
  readonly #consumers: string[] = [];
  #channel: Channel | undefined;
  #acks: Acknowledger | undefined;
  #ended = false;
  #endedBy: Error | undefined;
  /** How much was settled, and how much of that the broker has processed for sure. */
  #settled = 0;
  #confirmed = 0;
  /** What comes is kept, not handed over. */
  #holding = false;

  constructor(parts: SubscriptionParts) {
    this.#topology = parts.topology;
    this.#credit = parts.credit;
    this.#acceptance = parts.acceptance;
    this.#offsets = parts.offsets;
    this.#hooks = parts.hooks;
  }

  /** Something was settled on its channel of which the broker has not said that it has processed it. */
  get isUnsure(): boolean {
    return this.#settled > this.#confirmed;
  }

  /**
   * Declares everything, then consumes everything: when it resolves a message sent by anyone arrives here. Rejects with
   * what ended the channel first, which may come in the same packet as an answer.
   */
  async open(model: ChannelModel): Promise<void> {
    try {
      await this.#open(model);
    } catch (error) {
      throw this.#endedBy ?? error;
    }
    if (this.#ended) throw this.#endedBy ?? new Error('The channel was closed');
  }

  async #open(model: ChannelModel): Promise<void> {
    const channel = await openChannel(model, (error) => {
      this.#lost(error);
    });
    this.#channel = channel;
    for (const { exchange, queue, bindings } of this.#topology.queues) {
      await channel.assertExchange(exchange.name, exchange.type, exchange.options);
      await channel.assertQueue(queue.name, queue.options);
      for (const key of bindings) await channel.bindQueue(queue.name, exchange.name, key);
    }
    const probe = this.#acceptance === 'confirmed' ? this.#topology.queues[0]?.queue.name : undefined;
    this.#acks = new Acknowledger(channel, probe);
    await channel.prefetch(this.#credit); // each consumer's: RabbitMQ's `global` is not to be had with quorum queues
    await this.consume();
  }

  /** Consumes everything that was declared: once more after `cancel`; or takes `hold` back. */
  async consume(): Promise<void> {
    const channel = this.#channel;
    const acks = this.#acks;
    if (!channel || !acks) return;
    if (this.#holding) {
      this.#holding = false;
      queueMicrotask(this.#handOverNext);
      return;
    }
    const queues = new Map(this.#topology.queues.map((source) => [source.queue.name, source]));
    for (const source of queues.values()) {
      const take = (message: ConsumeMessage | null): void => {
        if (message) this.#onMessage(message, acks, source);
        else this.#cancelled(source);
      };
      const options = { arguments: this.#offsets.startOf(source) };
      const { consumerTag } = await channel.consume(source.queue.name, take, options);
      this.#consumers.push(consumerTag);
    }
  }

  /**
   * Hands nothing over until `consume`, and leaves the consumers where they are: for queues that go with their last one,
   * and all that waits in them too. What comes meanwhile is kept: no more than the credit of each consumer.
   */
  hold(): void {
    this.#holding = true;
  }

  /**
   * Resolves when the broker has confirmed that it sends no more, and with that what was settled before; or when the channel
   * is gone, which ends the first as well.
   */
  async cancel(): Promise<void> {
    const channel = this.#channel;
    if (!channel) return;
    this.#holding = false;
    this.#acks?.flush();
    const settled = this.#settled;
    const answers = this.#consumers.splice(0).map((tag) =>
      channel.cancel(tag).then(
        () => true,
        () => false,
      ),
    );
    if ((await Promise.all(answers)).includes(true)) this.#confirmed = settled; // a channel's commands are processed in order
    this.#releaseKept();
  }

  /**
   * Ends the channel in order: the broker has processed every acknowledgement then. False when it did not say so.
   * @param forGood - the private queue is deleted, too
   */
  async close(forGood: boolean): Promise<boolean> {
    const channel = this.#channel;
    const alive = !this.#ended;
    this.#ended = true;
    this.#acks?.flush();
    this.#releaseKept();
    for (const delivery of [...this.#held]) delivery.release();
    this.#acks?.end();
    if (!channel || !alive) return alive;
    try {
      const { privateQueue } = this.#topology;
      if (forGood && privateQueue !== undefined) await channel.deleteQueue(privateQueue);
      return await closedInOrder(channel);
    } catch {
      return false;
    }
  }

  #onMessage(raw: ConsumeMessage, acks: Acknowledger, source: SourceQueue): void {
    this.#offsets.seen(source, raw.properties.headers);
    let message: WireMessage;
    try {
      message = readMessage(raw);
    } catch (error) {
      message = unreadableMessage(error, raw.content.byteLength); // its server refuses, counts and reports it
    }
    const delivery = new RabbitDelivery(message, raw.fields, acks, this.#onSettled);
    if (this.#held.size < this.#credit && !this.#holding) this.#handOver(delivery);
    else this.#kept.push(delivery);
  }

  #handOver(delivery: RabbitDelivery): void {
    this.#held.add(delivery);
    this.#hooks.onDelivery(delivery);
  }

  /** False when it was settled before, or went back with its channel. */
  readonly #onSettled = (delivery: RabbitDelivery): boolean => {
    if (!this.#held.delete(delivery)) return false;
    this.#settled += 1;
    if (this.#kept.length > 0) queueMicrotask(this.#handOverNext); // never from within a call of the owner
    return true;
  };

  readonly #handOverNext = (): void => {
    while (this.#held.size < this.#credit && !this.#holding) {
      const next = this.#kept.shift();
      if (!next) return;
      this.#handOver(next);
    }
  };

  /** Back to their queues, in order. */
  #releaseKept(): void {
    for (const delivery of this.#kept.splice(0)) {
      this.#held.add(delivery);
      delivery.release();
    }
  }

  #cancelled(source: SourceQueue): void {
    this.#offsets.cancelled(source);
    this.#lost(new Error(`The broker cancelled the consumer of "${source.queue.name}"`));
  }

  #lost(cause: Error | undefined): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#endedBy = cause;
    this.#held.clear(); // the broker gives them to somebody
    this.#kept = [];
    this.#acks?.end();
    this.#hooks.onLost(cause);
    void this.#channel?.close().catch(() => undefined); // after a cancel it is still open
  }
}
