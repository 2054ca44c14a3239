import {
  type Deadline,
  type Delivery,
  type Destination,
  type Driver,
  type DriverContext,
  type DriverFeatures,
  type DriverStatus,
  type ConnectionState,
  type ListenOptions,
  type Listener,
  type PublishOptions,
  MessageDeliveryError,
  type ReplyQueue,
  type ServerSource,
  type WireMessage,
} from '@ebbgate/core';
import type { RabbitSettings } from '../options.js';
import { publishProperties } from '../properties.js';
import { RabbitTopology } from '../topology.js';
import { BrokerConnection } from './connection.js';
import { EventLoopWatch } from './event-loop-watch.js';
import { RabbitListener } from './listener.js';
import { Publisher } from './publisher.js';
import { RabbitReplyQueue } from './reply-queue.js';

/** What RabbitMQ can do by the way oslo.messaging uses it. */
const FEATURES: Omit<DriverFeatures, 'maxMessageBytes'> = Object.freeze({
  undeliverable: true,
  expiry: true,
  release: true,
  redelivered: true,
  fanout: true,
  durable: true,
  crossProcess: true,
  ordered: true,
  isolatedNames: false,
});

/** Worst first: a driver is as well as the worse of its two connections. */
const WORST: readonly ConnectionState[] = [
  'closed',
  'disconnected',
  'connecting',
  'idle',
  'blocked',
  'connected',
];

/** AMQP 0-9-1 by amqplib, on two connections whatever the load: one publishes, the other consumes. */
export class RabbitDriver implements Driver {
  readonly features: DriverFeatures;
  readonly replyRetryMs: number;
  readonly #settings: RabbitSettings;
  readonly #context: DriverContext;
  readonly #topology: RabbitTopology;
  readonly #publishing: BrokerConnection;
  readonly #consuming: BrokerConnection;
  readonly #publisher: Publisher;
  /** Fanout exchanges vanish with their last queue, and a publish to one that is missing ends the channel. */
  readonly #fanoutPublisher: Publisher;
  readonly #loopWatch: EventLoopWatch;
  readonly #listeners = new Set<RabbitListener>();
  readonly #replyQueues = new Set<RabbitReplyQueue>();
  #told: ConnectionState = 'idle';

  constructor(settings: RabbitSettings, context: DriverContext) {
    this.features = Object.freeze({ ...FEATURES, maxMessageBytes: settings.maxMessageBytes });
    this.replyRetryMs = settings.missingConsumerRetryMs;
    this.#settings = settings;
    this.#context = context;
    this.#topology = new RabbitTopology(settings);
    const hooks = {
      changed: (_state: ConnectionState, cause?: Error): void => {
        this.#tell(cause);
      },
    };
    this.#publishing = new BrokerConnection('publish', settings, context.logger, hooks);
    this.#consuming = new BrokerConnection('consume', settings, context.logger, hooks);
    this.#publisher = new Publisher(this.#publishing, context.logger);
    this.#fanoutPublisher = new Publisher(this.#publishing, context.logger);
    this.#loopWatch = new EventLoopWatch(context.logger);
  }

  async connect(deadline: Deadline): Promise<void> {
    const connections = [this.#publishing, this.#consuming];
    this.#loopWatch.start();
    for (const connection of connections) connection.open();
    await Promise.all(connections.map((connection) => connection.whenUp(deadline, undefined)));
  }

  async reach(deadline: Deadline, retry: number): Promise<void> {
    await this.#publishing.whenUp(deadline, retry);
  }

  async close(): Promise<void> {
    this.#loopWatch.end();
    const unconfirmed = await Promise.all([...this.#listeners].map((listener) => listener.close()));
    const answers = unconfirmed.every((list) => list.length === 0); // else the broker is not asked again
    if (answers) await Promise.all([...this.#replyQueues].map((queue) => queue.close()));
    await Promise.all([this.#publishing.close(answers), this.#consuming.close(answers)]);
  }

  status(): DriverStatus {
    return {
      connection: this.#connectionState(),
      listeners: [...this.#listeners].map((listener) => listener.status),
    };
  }

  publish(destination: Destination, message: WireMessage, options: PublishOptions): Promise<void> {
    const { exchange, routingKey, canReturn } = this.#topology.route(destination);
    const isReply = destination.kind === 'reply';
    const kind = { isReply, isMandatory: options.mandatory && canReturn };
    const { body, properties } = publishProperties(message, this.#settings, kind);
    if (body.byteLength > this.#settings.maxMessageBytes) throw tooLarge(body.byteLength, this.#settings);
    const publisher = destination.kind === 'fanout' ? this.#fanoutPublisher : this.#publisher;
    return publisher.send({
      exchange,
      routingKey,
      body,
      properties,
      deadline: options.deadline,
      retry: options.retry,
      repeatable: isReply,
    });
  }

  async listen(
    source: ServerSource,
    options: ListenOptions,
    onDelivery: (delivery: Delivery) => void,
  ): Promise<Listener> {
    const listener = new RabbitListener({
      connection: this.#consuming,
      settings: this.#settings,
      events: this.#context.events,
      source,
      topology: await this.#topology.ofSource(source),
      credit:
        this.#settings.prefetch > 0 ? Math.min(this.#settings.prefetch, options.credit) : options.credit,
      onDelivery,
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
    const queue = new RabbitReplyQueue(this.#consuming, topology, onReply, events, logger);
    this.#replyQueues.add(queue);
    await queue.open();
    return queue;
  }

  #connectionState(): ConnectionState {
    const states = [this.#publishing.state, this.#consuming.state];
    return WORST.find((state) => states.includes(state)) ?? 'idle';
  }

  #tell(cause: Error | undefined): void {
    const state = this.#connectionState();
    if (state === this.#told) return;
    this.#told = state;
    this.#context.events.connection(state, cause);
  }
}

function tooLarge(bytes: number, { maxMessageBytes }: RabbitSettings): MessageDeliveryError {
  return new MessageDeliveryError(
    `The message has ${String(bytes)} bytes; at most ${String(maxMessageBytes)} are sent (max_message_bytes)`,
  );
}
