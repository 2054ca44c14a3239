import type { Destination, NotificationSource, ServerSource } from '@ebbgate/core';
import { brokerName, fitsShortString } from './broker-names.js';
import type { QueueSettings, RabbitSettings } from './options.js';
import { type QueueNames, queueNames } from './queue-names.js';

/** An integer with the width it has on the wire, in amqplib's notation. Python writes `I` while it fits. */
export interface WireInteger {
  readonly '!': 'int' | 'long';
  readonly value: number;
}

/** Arguments of a queue or consumer, in the order in which they are written. */
export type AmqpArguments = Readonly<Record<string, string | boolean | WireInteger>>;

/** `exchange.declare`: never passive, internal or nowait, without arguments. */
export interface ExchangeDeclaration {
  readonly name: string;
  readonly type: 'topic' | 'fanout';
  readonly options: { readonly durable: boolean; readonly autoDelete: boolean };
}

/** `queue.declare`: never passive, exclusive or nowait. */
export interface QueueDeclaration {
  readonly name: string;
  readonly options: {
    readonly durable: boolean;
    readonly autoDelete: boolean;
    readonly arguments: AmqpArguments;
  };
}

/** One queue of a listener: declare the exchange, declare the queue, bind it, consume it. */
export interface SourceQueue {
  readonly kind: 'topic' | 'server' | 'fanout' | 'notification';
  readonly exchange: ExchangeDeclaration;
  readonly queue: QueueDeclaration;
  /** The keys by which the queue is bound to the exchange. */
  readonly bindings: readonly string[];
  readonly consumeArguments: AmqpArguments;
  /**
   * Read from an offset: after a reconnect `x-stream-offset` of the consumer is the header of that name of the last
   * message seen, plus one; a `basic.cancel` sets it back.
   */
  readonly isStream: boolean;
}

/** What is listened to, in the order in which oslo.messaging declares it. */
export interface SourceTopology {
  /** Of a server those of the topic, of the server and of the fanout. A queue that stands here twice is consumed once. */
  readonly queues: readonly SourceQueue[];
  /** The queue that is deleted on an orderly end: it is this process's alone, and nobody will ask for its name again. */
  readonly privateQueue: string | undefined;
}

/** The queue where replies arrive, which the default exchange reaches by its name: the address that peers are told. */
export interface ReplyTopology {
  readonly queue: QueueDeclaration;
  readonly consumeArguments: AmqpArguments;
  /** As {@link SourceTopology.privateQueue}. */
  readonly privateQueue: string | undefined;
}

/** Where a message is published to. */
export interface Route {
  /** To be declared once on each connection before the first publish; undefined: the default exchange, `''`. */
  readonly exchange: ExchangeDeclaration | undefined;
  readonly routingKey: string;
  /** To be declared and bound by the routing key after the exchange: where notifications wait for a listener. */
  readonly queue: QueueDeclaration | undefined;
  /** May a send be mandatory? A fanout to nobody is no error, and replies are as `direct_mandatory_flag` says. */
  readonly canReturn: boolean;
}

/** The topology of one driver: the functions below with its settings and its names. */
export class RabbitTopology {
  readonly #settings: RabbitSettings;
  readonly #names: QueueNames;
  /** The transport hands in the same object again and again. */
  readonly #routes = new WeakMap<Destination, Route>();

  constructor(settings: RabbitSettings, names: QueueNames = queueNames(settings)) {
    this.#settings = settings;
    this.#names = names;
  }

  route(destination: Destination): Route {
    if (destination.kind === 'reply') return routeTo(this.#settings, destination); // each is asked for once
    let route = this.#routes.get(destination);
    if (!route) {
      route = routeTo(this.#settings, destination);
      this.#routes.set(destination, route);
    }
    return route;
  }

  /** With a fanout queue of a new name. Rejects as `QueueNames.next` does. */
  async ofSource(source: ServerSource): Promise<SourceTopology> {
    return sourceTopology(this.#settings, source, await this.#names.next());
  }

  /** What a listener to notifications listens on. */
  ofNotifications(source: NotificationSource): SourceTopology {
    return notificationTopology(this.#settings, source);
  }

  /** With a new name. Rejects as `QueueNames.next` does. */
  async replyQueue(): Promise<ReplyTopology> {
    return replyTopology(this.#settings, await this.#names.next());
  }
}

const INT = 0x7fff_ffff;

/**
 * What a server listens on: the topic, its own name, and the topic's fanout (`wire.md` 1.1, 1.2).
 *
 * @param unique The last part of the name of its fanout queue, of `QueueNames`.
 */
export function sourceTopology(
  settings: QueueSettings,
  source: ServerSource,
  unique: string,
): SourceTopology {
  const { exchange, topic, server } = source;
  const fanout = fanoutQueue(settings, topic, unique);
  return {
    queues: [
      sharedQueue(settings, exchange, { kind: 'topic', name: topic }),
      sharedQueue(settings, exchange, { kind: 'server', name: serverName(topic, server) }),
      fanout,
    ],
    privateQueue: fanout.isStream || settings.useQueueManager ? undefined : fanout.queue.name,
  };
}

/** The queue of each topic; or that of the pool, bound to each of them (`wire.md` 1.2). */
export function notificationTopology(
  settings: QueueSettings,
  { topics, pool, ephemeral }: NotificationSource,
): SourceTopology {
  const queues = topics.map(({ exchange, topic }): SourceQueue => {
    const own = sharedQueue(settings, exchange, { kind: 'notification', name: topic });
    if (pool === undefined) return own;
    const { queue } = sharedQueue(settings, exchange, { kind: 'notification', name: pool });
    return { ...own, queue: ephemeral ? privateQueue(settings, pool) : queue };
  });
  return { queues, privateQueue: ephemeral ? queues[0]?.queue.name : undefined };
}

/** @param unique The last part of its name, of `QueueNames`. */
export function replyTopology(settings: QueueSettings, unique: string): ReplyTopology {
  const queue = privateQueue(settings, `reply_${unique}`);
  return {
    queue,
    consumeArguments: consumeArguments(settings),
    privateQueue: settings.useQueueManager ? undefined : queue.name,
  };
}

/** The way to a destination (`wire.md` 1.3). The exchange of a fanout's target plays no part. */
export function routeTo(settings: RabbitSettings, destination: Destination): Route {
  switch (destination.kind) {
    case 'reply':
      return {
        exchange: undefined,
        routingKey: replyKey(destination.address),
        queue: undefined,
        canReturn: settings.directMandatory,
      };
    case 'fanout':
      return {
        exchange: fanoutExchange(settings, destination.topic),
        routingKey: '',
        queue: undefined,
        canReturn: false,
      };
    case 'topic':
      return toShared(settings, destination.exchange, destination.topic);
    case 'server':
      return toShared(settings, destination.exchange, serverName(destination.topic, destination.server));
    case 'notification':
      return toNotifications(settings, destination.exchange, destination.topic);
  }
}

/**
 * The address as the caller gave it, whatever it is: `amq.rabbitmq.reply-to` is one too. Only what AMQP cannot carry is
 * changed: no queue has that name, so the reply comes back as undeliverable.
 */
function replyKey(address: string): string {
  return fitsShortString(address) ? address : brokerName(address);
}

function toShared(settings: QueueSettings, exchange: string, name: string): Route {
  return {
    exchange: topicExchange(settings, exchange),
    routingKey: brokerName(name),
    queue: undefined,
    canReturn: true,
  };
}

function toNotifications(settings: QueueSettings, exchange: string, name: string): Route {
  const { queue } = sharedQueue(settings, exchange, { kind: 'notification', name });
  return { ...toShared(settings, exchange, name), queue };
}

function serverName(topic: string, server: string): string {
  return `${topic}.${server}`;
}

function topicExchange({ durable, autoDelete }: QueueSettings, name: string): ExchangeDeclaration {
  return { name: brokerName(name), type: 'topic', options: { durable, autoDelete } };
}

function fanoutExchange(settings: QueueSettings, topic: string): ExchangeDeclaration {
  const durable = settings.transientQuorum || settings.streamFanout;
  return { name: brokerName(`${topic}_fanout`), type: 'fanout', options: { durable, autoDelete: true } };
}

function sharedQueue(
  settings: QueueSettings,
  exchange: string,
  { kind, name }: { readonly kind: Exclude<SourceQueue['kind'], 'fanout'>; readonly name: string },
): SourceQueue {
  const { durable, autoDelete, quorum } = settings;
  const key = brokerName(name);
  return {
    kind,
    exchange: topicExchange(settings, exchange),
    queue: { name: key, options: { durable, autoDelete, arguments: queueArguments(settings, quorum) } },
    bindings: [key],
    consumeArguments: consumeArguments(settings),
    isStream: false,
  };
}

function fanoutQueue(settings: QueueSettings, topic: string, unique: string): SourceQueue {
  const isStream = settings.streamFanout;
  const consume = consumeArguments(settings);
  return {
    kind: 'fanout',
    exchange: fanoutExchange(settings, topic),
    queue: isStream ? fanoutStream(settings, topic) : privateQueue(settings, `${topic}_fanout_${unique}`),
    bindings: [brokerName(topic)],
    consumeArguments: isStream ? { ...consume, 'x-stream-offset': 'last' } : consume,
    isStream,
  };
}

/** One for all servers of the topic. What is in it stays for as long as a private queue would. */
function fanoutStream({ transientTtlMs }: QueueSettings, topic: string): QueueDeclaration {
  const age: AmqpArguments = transientTtlMs > 0 ? { 'x-max-age': `${transientTtlMs / 1000}s` } : {};
  return {
    name: brokerName(`${topic}_fanout`),
    options: { durable: true, autoDelete: false, arguments: { 'x-queue-type': 'stream', ...age } },
  };
}

/**
 * A reply or fanout queue. Durable with an expiry, where oslo.messaging has transient ones: brokers deny these from
 * RabbitMQ 4.3 on, and a queue that nobody else declares may differ. The names of the queue manager are the same after
 * each restart, perhaps into a service in Python: there it is what oslo.messaging declares.
 */
function privateQueue(settings: QueueSettings, name: string): QueueDeclaration {
  const { transientQuorum, transientTtlMs } = settings;
  const expiry: AmqpArguments = transientTtlMs > 0 ? { 'x-expires': integer(transientTtlMs) } : {};
  return {
    name: brokerName(name),
    options: {
      durable: transientQuorum || !settings.useQueueManager,
      autoDelete: false,
      arguments: { ...queueArguments(settings, transientQuorum), ...expiry },
    },
  };
}

function queueArguments(settings: QueueSettings, quorum: boolean): AmqpArguments {
  const mirrored: AmqpArguments = settings.haQueues ? { 'x-ha-policy': 'all' } : {};
  if (!quorum) return mirrored;
  const limits = Object.entries({
    'x-delivery-limit': settings.quorumDeliveryLimit,
    'x-max-in-memory-length': settings.quorumMaxMemoryLength,
    'x-max-in-memory-bytes': settings.quorumMaxMemoryBytes,
  }).filter(([, value]) => value !== 0);
  return {
    ...mirrored,
    'x-queue-type': 'quorum',
    ...Object.fromEntries(limits.map(([name, value]) => [name, integer(value)])),
  };
}

function consumeArguments(settings: QueueSettings): AmqpArguments {
  return settings.cancelOnFailover ? { 'x-cancel-on-ha-failover': true } : {};
}

function integer(value: number): WireInteger {
  return Object.freeze({ '!': value <= INT ? 'int' : 'long', value });
}
