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
  type PublishOptions,
  type ReplyQueue,
  type ServerSource,
  type WireMessage,
} from '@ebbgate/core';
import { Keys } from './keys.js';
import { RedisListener } from './listener.js';
import type { RedisSettings } from './options.js';
import { Publisher } from './publisher.js';
import { RedisReplyQueue } from './reply-queue.js';
import type { StoreClient } from './store-client.js';
import { type ConnectionUser, StoreConnection } from './store-connection.js';
import { unsuitableSettings } from './store-settings.js';
import { Sweeper } from './sweeper.js';

/** What streams can do. */
const FEATURES: Omit<DriverFeatures, 'maxMessageBytes'> = Object.freeze({
  undeliverable: true,
  expiry: true,
  release: true,
  redelivered: true,
  fanout: true,
  durable: true,
  crossProcess: true,
  ordered: true,
  isolatedNames: true,
});

/** Where something goes. */
interface Route {
  readonly key: string;
  readonly place: string;
}

/** Redis streams by ioredis: one connection for all that does not block, and one for each listener and for the replies. */
export class RedisDriver implements Driver, ConnectionUser {
  readonly features: DriverFeatures;
  readonly replyRetryMs: number;
  readonly #settings: RedisSettings;
  readonly #context: DriverContext;
  readonly #keys: Keys;
  readonly #connection: StoreConnection;
  readonly #publisher: Publisher;
  readonly #sweeper: Sweeper;
  readonly #loopWatch: EventLoopWatch;
  readonly #routes = new WeakMap<Destination, Route>();
  readonly #listeners = new Set<RedisListener>();
  readonly #replyQueues = new Set<RedisReplyQueue>();
  #isChecked = false;

  constructor(settings: RedisSettings, context: DriverContext) {
    this.features = Object.freeze({ ...FEATURES, maxMessageBytes: settings.maxMessageBytes });
    this.replyRetryMs = settings.missingReplyRetryMs;
    this.#settings = settings;
    this.#context = context;
    this.#keys = new Keys(settings.keyPrefix);
    this.#connection = new StoreConnection(settings, context.logger, {
      changed: (state: ConnectionState, cause?: Error): void => {
        context.events.connection(state, cause);
      },
    });
    this.#publisher = new Publisher(this.#connection, settings);
    this.#sweeper = new Sweeper(this.#connection, settings);
    this.#loopWatch = new EventLoopWatch(context.logger, 'no lease was renewed');
    this.#connection.users.add(this);
  }

  async connect(deadline: Deadline): Promise<void> {
    this.#loopWatch.start();
    this.#connection.open();
    await this.#connection.whenUp(deadline, undefined);
  }

  async reach(deadline: Deadline, retry: number): Promise<void> {
    await this.#connection.whenUp(deadline, retry);
  }

  async close(): Promise<void> {
    this.#loopWatch.end();
    this.#sweeper.end();
    const listeners = [...this.#listeners];
    await Promise.all(listeners.map((listener) => listener.close()));
    const answers = listeners.every(({ silent }) => !silent); // else the store is not asked again
    if (answers) await Promise.all([...this.#replyQueues].map((queue) => queue.close()));
    await this.#connection.close(answers);
    for (const queue of this.#replyQueues) await queue.close();
  }

  status(): DriverStatus {
    const { state, cause } = this.#connection;
    return { connection: state, cause, listeners: [...this.#listeners].map((listener) => listener.status) };
  }

  publish(destination: Destination, message: WireMessage, options: PublishOptions): Promise<void> {
    const { key, place } = this.#route(destination);
    const { deadline, mandatory, retry } = options;
    const body = asBuffer(message.body.encode());
    if (body.byteLength > this.#settings.maxMessageBytes) throw tooLarge(body.byteLength, this.#settings);
    const isReply = destination.kind === 'reply';
    const isFanout = destination.kind === 'fanout';
    const expires = message.deadline ? String(this.#connection.clock.toStore(message.deadline)) : '';
    if (message.deadline && !isReply && !isFanout) this.#sweeper.sent(key, message.deadline.remainingMs);
    return this.#publisher.send({
      ...{ key, place, isFanout, body, expires, deadline, mandatory, retry },
      repeatable: isReply,
    });
  }

  async listen(
    source: ServerSource,
    { credit }: ListenOptions,
    onDelivery: (delivery: Delivery) => void,
  ): Promise<Listener> {
    const { events, logger } = this.#context;
    const listener = new RedisListener({
      connection: this.#connection,
      settings: this.#settings,
      keys: this.#keys,
      ...{ events, logger, source, credit, onDelivery },
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
    const queue = new RedisReplyQueue({
      connection: this.#connection,
      settings: this.#settings,
      keys: this.#keys,
      ...{ events, logger, onReply },
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

  /** The first time it looks for settings of the store that defeat delivery. */
  onUp(client: StoreClient): void {
    if (this.#isChecked) return;
    this.#isChecked = true;
    void unsuitableSettings(client).then((faults) => {
      if (faults !== '')
        this.#context.logger.warn({ driver: 'redis' }, `The store is not set for messages: ${faults}`);
    });
  }

  onDown(): void {
    // everybody who uses the connection hears of it
  }

  #route(destination: Destination): Route {
    const known = this.#routes.get(destination);
    if (known) return known;
    const route = this.#routeOf(destination);
    this.#routes.set(destination, route);
    return route;
  }

  #routeOf(destination: Destination): Route {
    if (destination.kind === 'reply')
      return {
        key: this.#keys.ofReplies(destination.address),
        place: `reply queue "${destination.address}"`,
      };
    const keys = this.#keys.ofTopic(destination);
    const { topic } = destination;
    switch (destination.kind) {
      case 'topic':
        return { key: keys.topic.stream, place: `topic "${topic}"` };
      case 'server':
        return {
          key: keys.server(destination.server).stream,
          place: `server "${destination.server}" of topic "${topic}"`,
        };
      case 'fanout':
        return { key: keys.subscribers, place: `fanout of topic "${topic}"` };
    }
  }
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function tooLarge(bytes: number, { maxMessageBytes }: RedisSettings): MessageDeliveryError {
  return new MessageDeliveryError(
    `The message has ${String(bytes)} bytes; at most ${String(maxMessageBytes)} are sent (max_message_bytes)`,
  );
}
