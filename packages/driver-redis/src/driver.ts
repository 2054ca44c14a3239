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
import { entryOf } from './entry.js';
import { type DestinationKeys, Keys, poolsOf } from './keys.js';
import { RedisListener } from './listener.js';
import type { RedisSettings } from './options.js';
import type { Route } from './outgoing.js';
import { Publisher } from './publisher.js';
import { RedisReplyQueue } from './reply-queue.js';
import { FANOUT, NOTIFY, PUBLISH } from './scripts.js';
import type { StoreClient } from './store-client.js';
import { type ConnectionUser, StoreConnection } from './store-connection.js';
import { unsuitableSettings } from './store-settings.js';
import { Sweeper } from './sweeper.js';

/** What the store can do with our scripts. */
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
  isolatedNames: true,
});

/** Redis by ioredis: one connection for all that does not block, and one for each listener and for the replies. */
export class RedisDriver implements Driver, ConnectionUser {
  readonly features: DriverFeatures;
  readonly replyRetryMs: number;
  readonly #settings: RedisSettings;
  readonly #context: DriverContext;
  readonly #keys: Keys;
  readonly #connection: StoreConnection;
  /** What is sent goes by it: one of its own when each send waits for replicas, as nothing else of a connection goes on then. */
  readonly #sending: StoreConnection;
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
    this.#sending =
      settings.waitReplicas === 0
        ? this.#connection
        : new StoreConnection(settings, context.logger, { changed: () => undefined });
    this.#publisher = new Publisher(this.#sending, settings);
    this.#sweeper = new Sweeper(this.#connection, settings);
    this.#loopWatch = new EventLoopWatch(context.logger, 'no lease was renewed');
    this.#connection.users.add(this);
  }

  async connect(deadline: Deadline): Promise<void> {
    this.#loopWatch.start();
    this.#connection.open();
    this.#sending.open();
    await this.#connection.whenUp(deadline, undefined);
    await this.#sending.whenUp(deadline, undefined);
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
    await Promise.all([this.#connection.close(answers), this.#sending.close(answers)]);
    for (const queue of this.#replyQueues) await queue.close();
  }

  status(): DriverStatus {
    const { state, cause } = this.#connection;
    return { connection: state, cause, listeners: [...this.#listeners].map((listener) => listener.status) };
  }

  publish(destination: Destination, message: WireMessage, options: PublishOptions): Promise<void> {
    const route = this.#route(destination);
    const { deadline, mandatory, retry } = options;
    const body = message.body.encode();
    if (body.byteLength > this.#settings.maxMessageBytes) throw tooLarge(body.byteLength, this.#settings);
    const repeatable = destination.kind === 'reply'; // its receiver knows duplicates
    const isSwept = destination.kind === 'topic' || destination.kind === 'server';
    if (message.deadline && isSwept) this.#sweeper.sent(route.key, message.deadline.remainingMs);
    const expires = message.deadline ? String(this.#connection.clock.toStore(message.deadline)) : '';
    const entry = entryOf(body, expires);
    return this.#publisher.send({ route, entry, deadline, mandatory, retry, repeatable });
  }

  listen(
    source: ServerSource,
    options: ListenOptions,
    onDelivery: (delivery: Delivery) => void,
  ): Promise<Listener> {
    return this.#listen(source, options, onDelivery);
  }

  listenForNotifications(
    source: NotificationSource,
    options: ListenOptions,
    onDelivery: (delivery: Delivery) => void,
  ): Promise<Listener> {
    return this.#listen(source, options, onDelivery);
  }

  async #listen(
    source: Source,
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
      return this.#to(this.#keys.ofReplies(destination.address), `reply queue "${destination.address}"`);
    const { exchange, topic } = destination;
    if (destination.kind === 'notification') {
      const queue = this.#keys.ofNotifications().topic(exchange, topic);
      const to = [queue.list, poolsOf(queue)];
      return {
        key: queue.list,
        script: NOTIFY,
        keys: to,
        args: this.#limits(),
        place: `notifications of "${topic}"`,
      };
    }
    const keys = this.#keys.ofTopic(destination);
    switch (destination.kind) {
      case 'topic':
        return this.#to(keys.destination(undefined), `topic "${topic}"`);
      case 'server': {
        const { server } = destination;
        return this.#to(keys.destination(server), `server "${server}" of topic "${topic}"`);
      }
      case 'fanout': {
        const [key, place] = [keys.subscribers, `fanout of topic "${topic}"`];
        return { key, script: FANOUT, keys: [key], args: this.#limits(), place };
      }
    }
  }

  #to({ list, declared, bell, member }: DestinationKeys, place: string): Route {
    const [keys, args] = [
      [list, declared, bell],
      [member, ...this.#limits()],
    ];
    return { key: list, script: PUBLISH, keys, args, place };
  }

  #limits(): readonly number[] {
    return [this.#settings.maxLength, this.#settings.maxBytes];
  }
}

function tooLarge(bytes: number, { maxMessageBytes }: RedisSettings): MessageDeliveryError {
  return new MessageDeliveryError(
    `The message has ${String(bytes)} bytes; at most ${String(maxMessageBytes)} are sent (max_message_bytes)`,
  );
}
