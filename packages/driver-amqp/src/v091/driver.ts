import {
  type ConnectionState,
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
  MessageDeliveryError,
  type NotificationSource,
  type PublishOptions,
  type ReplyQueue,
  type ServerSource,
  type Source,
  type WireMessage,
} from '@ebbgate/core';
import type { RabbitSettings } from '../options.js';
import { publishProperties } from '../properties.js';
import { RabbitTopology, type SourceTopology } from '../topology.js';
import { BrokerConnection } from './connection.js';
import { ConsumingConnections } from './consuming-connections.js';
import { RabbitListener } from './listener.js';
import { Publisher } from './publisher.js';
import { RabbitReplyQueue } from './reply-queue.js';
import type { Outgoing } from './unconfirmed.js';

/** What RabbitMQ can do by the way oslo.messaging uses it. */
const FEATURES: Omit<DriverFeatures, 'maxMessageBytes'> = Object.freeze({
  undeliverable: true,
  expiry: true,
  release: true,
  redelivered: true,
  fanout: true,
  notifications: true,
  durable: true,
  crossProcess: true,
  ordered: true,
  isolatedNames: false,
});

/** Worst first: a driver is as well as the worst of its connections. */
const WORST: readonly ConnectionState[] = [
  'closed',
  'disconnected',
  'connecting',
  'idle',
  'blocked',
  'connected',
];

/** AMQP 0-9-1 by amqplib, on two connections whatever the load: one publishes, the other consumes, up to a thousand servers. */
export class RabbitDriver implements Driver {
  readonly features: DriverFeatures;
  readonly replyRetryMs: number;
  readonly #settings: RabbitSettings;
  readonly #context: DriverContext;
  readonly #topology: RabbitTopology;
  readonly #publishing: BrokerConnection;
  readonly #consuming: ConsumingConnections;
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
    this.#consuming = new ConsumingConnections(
      () => new BrokerConnection('consume', settings, context.logger, hooks),
    );
    this.#publisher = new Publisher(this.#publishing, context.logger);
    this.#fanoutPublisher = new Publisher(this.#publishing, context.logger);
    this.#loopWatch = new EventLoopWatch(context.logger, 'no heartbeat was sent');
  }

  async connect(deadline: Deadline): Promise<void> {
    this.#loopWatch.start();
    this.#publishing.open();
    this.#consuming.open();
    await Promise.all(this.#connections().map((connection) => connection.whenUp(deadline, undefined)));
  }

  async reach(deadline: Deadline, retry: number): Promise<void> {
    await this.#publishing.whenUp(deadline, retry);
  }

  async close(): Promise<void> {
    this.#loopWatch.end();
    const listeners = [...this.#listeners];
    await Promise.all(listeners.map((listener) => listener.close()));
    const answers = listeners.every(({ silent }) => !silent); // else the broker is not asked again
    if (answers) await Promise.all([...this.#replyQueues].map((queue) => queue.close()));
    await Promise.all(this.#connections().map((connection) => connection.close(answers)));
  }

  status(): DriverStatus {
    const connection = this.#connectionState();
    const all = this.#connections();
    const which = all.find(({ state }) => state === connection);
    return {
      connection,
      cause: which?.cause ?? all.find(({ cause }) => cause !== undefined)?.cause,
      listeners: [...this.#listeners].map((listener) => listener.status),
    };
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
    const listener = new RabbitListener({
      connection: this.#consuming.forServer(),
      settings: this.#settings,
      events: this.#context.events,
      source,
      topology,
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
    const queue = new RabbitReplyQueue({
      connection: this.#consuming.first,
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

  #connections(): readonly BrokerConnection[] {
    return [this.#publishing, ...this.#consuming.all];
  }

  #connectionState(): ConnectionState {
    const states = this.#connections().map(({ state }) => state);
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
