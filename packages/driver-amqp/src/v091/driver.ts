import {
  type Deadline,
  type Delivery,
  type Destination,
  type Driver,
  type DriverContext,
  type DriverFeatures,
  type DriverStatus,
  EventLoopWatch,
  type Listener,
  type ListenOptions,
  type NotificationSource,
  type PublishOptions,
  type ReplyQueue,
  type ServerSource,
  type Source,
  type WireMessage,
} from '@ebbgate/core';
import type { ChannelModel } from 'amqplib';
import type { RabbitSettings } from '../options.js';
import { RABBIT_FEATURES } from '../rabbit-features.js';
import { publishProperties } from '../properties.js';
import { tooLarge } from '../too-large.js';
import { RabbitTopology, type SourceTopology } from '../topology.js';
import { asBrokerError } from '../broker-errors.js';
import { DriverConnections } from '../driver-connections.js';
import { SourceListener } from '../source-listener.js';
import { brokerConnection } from './connection.js';
import { Publisher } from './publisher.js';
import { RabbitReplyQueue } from './reply-queue.js';
import { StreamOffsets } from './stream-offsets.js';
import { Subscription } from './subscription.js';
import type { Outgoing } from './unconfirmed.js';

/** AMQP 0-9-1 by amqplib, on two connections whatever the load: one publishes, the other consumes, up to a thousand servers. */
export class RabbitDriver implements Driver {
  readonly features: DriverFeatures;
  readonly replyRetryMs: number;
  readonly #settings: RabbitSettings;
  readonly #context: DriverContext;
  readonly #topology: RabbitTopology;
  readonly #connections: DriverConnections<ChannelModel>;
  readonly #publisher: Publisher;
  /** Fanout exchanges vanish with their last queue, and a publish to one that is missing ends the channel. */
  readonly #fanoutPublisher: Publisher;
  readonly #loopWatch: EventLoopWatch;
  readonly #listeners = new Set<SourceListener<ChannelModel>>();
  readonly #replyQueues = new Set<RabbitReplyQueue>();

  constructor(settings: RabbitSettings, context: DriverContext) {
    this.features = Object.freeze({ ...RABBIT_FEATURES, maxMessageBytes: settings.maxMessageBytes });
    this.replyRetryMs = settings.missingConsumerRetryMs;
    this.#settings = settings;
    this.#context = context;
    this.#topology = new RabbitTopology(settings);
    this.#connections = new DriverConnections(
      (role, hooks) => brokerConnection(role, settings, context.logger, hooks),
      (state, cause) => {
        context.events.connection(state, cause);
      },
    );
    this.#publisher = new Publisher(this.#connections.publishing, context.logger);
    this.#fanoutPublisher = new Publisher(this.#connections.publishing, context.logger);
    this.#loopWatch = new EventLoopWatch(context.logger, 'no heartbeat was sent');
  }

  async connect(deadline: Deadline): Promise<void> {
    this.#loopWatch.start();
    await this.#connections.open(deadline);
  }

  async reach(deadline: Deadline, retry: number): Promise<void> {
    await this.#connections.publishing.whenUp(deadline, retry);
  }

  async close(): Promise<void> {
    this.#loopWatch.end();
    const listeners = [...this.#listeners];
    await Promise.all(listeners.map((listener) => listener.close()));
    const answers = listeners.every(({ silent }) => !silent); // else the broker is not asked again
    if (answers) await Promise.all([...this.#replyQueues].map((queue) => queue.close()));
    await this.#connections.close(answers);
  }

  status(): DriverStatus {
    const listeners = [...this.#listeners].map((listener) => listener.status);
    return { ...this.#connections.status, listeners };
  }

  publish(destination: Destination, message: WireMessage, options: PublishOptions): Promise<void> {
    const { exchange, routingKey, queue, canReturn } = this.#topology.route(destination);
    const isReply = destination.kind === 'reply';
    const kind = { isReply, isMandatory: options.mandatory && canReturn };
    const { body, properties } = publishProperties(message, this.#settings, kind);
    if (body.byteLength > this.#settings.maxMessageBytes) throw tooLarge(body.byteLength, this.#settings);
    const publisher = destination.kind === 'fanout' ? this.#fanoutPublisher : this.#publisher;
    const outgoing = {
      exchange,
      routingKey,
      queue,
      body,
      properties,
      deadline: options.deadline,
      retry: options.retry,
      repeatable: isReply,
    };
    const deaf = isReply || message.expirationMs === undefined ? undefined : this.#deafQueue();
    return deaf ? this.#sendWhenHeard(deaf, publisher, outgoing) : publisher.send(outgoing);
  }

  async listen(
    source: ServerSource,
    options: ListenOptions,
    onDelivery: (delivery: Delivery) => void,
  ): Promise<Listener> {
    return this.#listen(source, await this.#topology.ofSource(source), options, onDelivery);
  }

  async listenForNotifications(
    source: NotificationSource,
    options: ListenOptions,
    onDelivery: (delivery: Delivery) => void,
  ): Promise<Listener> {
    return this.#listen(source, this.#topology.ofNotifications(source), options, onDelivery);
  }

  async #listen(
    source: Source,
    topology: SourceTopology,
    options: ListenOptions,
    onDelivery: (delivery: Delivery) => void,
  ): Promise<Listener> {
    const { prefetch, acceptance } = this.#settings;
    const credit = prefetch > 0 ? Math.min(prefetch, options.credit) : options.credit;
    const offsets = new StreamOffsets();
    const listener = new SourceListener<ChannelModel>({
      connection: this.#connections.consuming.forServer(),
      settings: this.#settings,
      events: this.#context.events,
      source,
      pausesByHolding: this.#settings.autoDelete,
      subscription: (onLost) =>
        new Subscription({ topology, credit, acceptance, offsets, hooks: { onDelivery, onLost } }),
      asError: asBrokerError,
      onClosed: () => this.#listeners.delete(listener),
    });
    this.#listeners.add(listener);
    try {
      await listener.ready();
      return listener;
    } catch (error) {
      await listener.close();
      throw error;
    }
  }

  async openReplyQueue(onReply: (message: WireMessage) => void): Promise<ReplyQueue> {
    const { events, logger } = this.#context;
    const topology = await this.#topology.replyQueue();
    const queue = new RabbitReplyQueue({
      connection: this.#connections.consuming.first,
      topology,
      events,
      logger,
      onReply,
      onClosed: () => this.#replyQueues.delete(queue),
    });
    this.#replyQueues.add(queue);
    try {
      await queue.open();
      return queue;
    } catch (error) {
      await queue.close(); // else it would be tried for ever, beside that of the next call
      throw error;
    }
  }

  /** A reply queue that is not consumed now: calls wait for it, as nobody would hear their answers. */
  #deafQueue(): RabbitReplyQueue | undefined {
    for (const queue of this.#replyQueues) if (!queue.isConsumed) return queue;
    return undefined;
  }

  async #sendWhenHeard(queue: RabbitReplyQueue, publisher: Publisher, outgoing: Outgoing): Promise<void> {
    await queue.whenConsumed(outgoing.deadline, outgoing.retry);
    await publisher.send(outgoing);
  }
}
