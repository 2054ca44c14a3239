import type {
  Delivery,
  Destination,
  Driver,
  DriverContext,
  DriverFactory,
  DriverStatus,
  ListenOptions,
  Listener,
  MaybePromise,
  NotificationSource,
  PublishOptions,
  ReplyQueue,
  ServerSource,
} from '../driver.js';
import type { Deadline } from '../deadline.js';
import { MessageDeliveryError, MessageUndeliverableError } from '../errors.js';
import type { DriverFeatures } from '../features.js';
import { secretId } from '../ids.js';
import type { WireMessage } from '../message.js';
import type { TransportUrl } from '../transport-url.js';
import type { MemoryBroker, MemoryLimits, ReplyBox } from './broker.js';
import { MemoryConnection } from './connection.js';
import { limitsOf } from './limits.js';
import { type Declared, MemoryListener } from './listener.js';
import type { MemoryQueue } from './queue.js';
import { acquireBroker, releaseBroker } from './registry.js';

const FEATURES: DriverFeatures = Object.freeze({
  undeliverable: true,
  expiry: true,
  release: true,
  redelivered: true,
  fanout: true,
  notifications: true,
  durable: false,
  crossProcess: false,
  ordered: true,
  isolatedNames: true,
  maxMessageBytes: Infinity,
});

/** A client of the broker in the process. */
export class MemoryDriver implements Driver {
  readonly features: DriverFeatures;
  readonly connection: MemoryConnection;
  readonly listeners: Set<MemoryListener> = new Set();
  readonly #key: string;
  readonly #limits: MemoryLimits;
  readonly #context: DriverContext;
  readonly #routes = new WeakMap<Destination, MemoryQueue>();
  readonly #boxes = new Set<ReplyBox>();
  #broker: MemoryBroker | undefined;

  constructor(key: string, limits: MemoryLimits, context: DriverContext) {
    this.#key = key;
    this.#limits = limits;
    const { maxMessageBytes } = limits;
    this.features = maxMessageBytes === Infinity ? FEATURES : Object.freeze({ ...FEATURES, maxMessageBytes });
    this.#context = context;
    this.connection = new MemoryConnection(context.events);
  }

  async connect(deadline: Deadline): Promise<void> {
    const shared = acquireBroker(this.#key, this.#limits, this);
    this.#broker = shared.broker;
    if (shared.cut) this.connection.begin();
    else this.connection.open();
    if (!this.connection.up) await this.connection.whenUp(deadline);
  }

  async close(): Promise<void> {
    if (this.connection.state === 'closed') return;
    this.connection.close(); // first: nothing is handed out any more, what waits is told
    for (const box of this.#boxes) this.#broker?.closeReplyBox(box);
    this.#boxes.clear();
    await Promise.all([...this.listeners].map((listener) => listener.close()));
    this.listeners.clear();
    this.#broker = undefined;
    releaseBroker(this.#key, this);
  }

  /** The broker was stalled or resumed: tells it, and lets look again what waits for it. */
  brokerChanged(): void {
    this.connection.wakeAll();
    if (this.connection.up) this.#context.events.connection(this.status().connection);
  }

  status(): DriverStatus {
    const { state } = this.connection;
    return {
      connection: state === 'connected' && this.#broker?.stalled ? 'blocked' : state,
      listeners: [...this.listeners].map((listener) => listener.status),
    };
  }

  publish(destination: Destination, message: WireMessage, options: PublishOptions): MaybePromise<void> {
    const broker = this.#broker;
    if (!broker || !this.connection.up || broker.stalled)
      return this.#publishLater(destination, message, options);
    this.#store(broker, destination, message, options.mandatory);
  }

  async listen(
    source: ServerSource,
    options: ListenOptions,
    onDelivery: (delivery: Delivery) => void,
  ): Promise<Listener> {
    const broker = this.#usable ?? (await this.#whenUsable());
    const queues = broker.declare(source);
    const remove = (): void => {
      const fanout = queues.at(-1);
      if (fanout) broker.removeFanout(source.topic, fanout);
    };
    return this.#listen(broker, { source, queues, remove }, options, onDelivery);
  }

  async listenForNotifications(
    source: NotificationSource,
    options: ListenOptions,
    onDelivery: (delivery: Delivery) => void,
  ): Promise<Listener> {
    const broker = this.#usable ?? (await this.#whenUsable());
    const queues = broker.declareNotifications(source);
    const remove = (): void => {
      if (source.ephemeral) for (const queue of queues) broker.removePool(queue);
    };
    return this.#listen(broker, { source, queues, remove }, options, onDelivery);
  }

  async openReplyQueue(onReply: (message: WireMessage) => void): Promise<ReplyQueue> {
    const broker = this.#usable ?? (await this.#whenUsable());
    const { connection } = this;
    const box = broker.openReplyBox(`reply_${secretId()}`, onReply);
    this.#boxes.add(box);
    const attached = {
      onCut: (): void => {
        box.connected = false;
      },
      onRestored: (): void => {
        box.connected = true;
        broker.wakeBox(box);
      },
    };
    connection.attached.add(attached);
    const close = (): Promise<void> => {
      connection.attached.delete(attached);
      broker.closeReplyBox(box);
      this.#boxes.delete(box);
      return Promise.resolve();
    };
    return { address: box.address, close };
  }

  #listen(
    broker: MemoryBroker,
    declared: Declared,
    options: ListenOptions,
    onDelivery: (delivery: Delivery) => void,
  ): Listener {
    const { events } = this.#context;
    const listener = new MemoryListener(broker, this.connection, events, declared, options, onDelivery);
    this.listeners.add(listener);
    return new ClosingListener(listener, this.listeners);
  }

  /** The broker, when it can be used at once. */
  get #usable(): MemoryBroker | undefined {
    return this.connection.up && !this.#broker?.stalled ? this.#broker : undefined;
  }

  /** A broker that is cut off or stalled is waited for: until the deadline, or until the driver is closed. */
  async #whenUsable(deadline?: Deadline): Promise<MemoryBroker> {
    for (;;) {
      await this.connection.whenUp(deadline);
      const broker = this.#open();
      if (!broker.stalled) return broker;
      await this.connection.untilChanged(deadline, 'The broker did not answer before the deadline');
    }
  }

  #open(): MemoryBroker {
    if (!this.#broker) throw new MessageDeliveryError('The driver is not connected');
    return this.#broker;
  }

  #store(broker: MemoryBroker, destination: Destination, message: WireMessage, mandatory: boolean): void {
    if (this.#limits.maxMessageBytes !== Infinity) this.#checkSize(message);
    if (destination.kind === 'fanout') {
      broker.storeFanout(destination.topic, message);
      return;
    }
    if (destination.kind === 'notification') {
      broker.storeNotification(destination, message);
      return;
    }
    if (destination.kind === 'reply') {
      broker.storeReply(destination.address, message);
      return;
    }
    let queue = this.#routes.get(destination);
    if (!queue) {
      queue = broker.find(destination);
      if (queue) this.#routes.set(destination, queue);
    }
    if (queue) broker.store(queue, message);
    else if (mandatory)
      throw new MessageUndeliverableError(`Nobody has ever listened on ${named(destination)}`);
  }

  #checkSize(message: WireMessage): void {
    const bytes = message.body.encode().byteLength;
    const { maxMessageBytes } = this.#limits;
    if (bytes <= maxMessageBytes) return;
    throw new MessageDeliveryError(
      `The message has ${String(bytes)} bytes; the broker takes ${String(maxMessageBytes)} (max_message_bytes)`,
    );
  }

  async #publishLater(
    destination: Destination,
    message: WireMessage,
    options: PublishOptions,
  ): Promise<void> {
    if (options.retry === 0 && !this.connection.up && this.connection.state !== 'closed') {
      throw new MessageDeliveryError('Not connected to the broker, and no retry is wanted');
    }
    const broker = await this.#whenUsable(options.deadline);
    this.#store(broker, destination, message, options.mandatory);
  }
}

/** Leaves the driver's list when it is closed. */
class ClosingListener implements Listener {
  readonly #listener: MemoryListener;
  readonly #list: Set<MemoryListener>;

  constructor(listener: MemoryListener, list: Set<MemoryListener>) {
    this.#listener = listener;
    this.#list = list;
  }

  stop(): Promise<void> {
    return this.#listener.stop();
  }

  pause(): Promise<void> {
    return this.#listener.pause();
  }

  resume(): Promise<void> {
    return this.#listener.resume();
  }

  close(): Promise<readonly string[]> {
    this.#list.delete(this.#listener);
    return this.#listener.close();
  }
}

function named(destination: {
  readonly exchange: string;
  readonly topic: string;
  readonly server?: string;
}): string {
  const { exchange, topic, server } = destination;
  return `topic "${topic}"${server === undefined ? '' : `, server "${server}"`} of exchange "${exchange}"`;
}

/**
 * `memory:` — a broker in the process. Transports with the same URL meet: `memory:`, or `memory://name/` for one of
 * their own. Options: `max_queue_length`, `max_queue_bytes`, `max_message_bytes`. Always there; needs not be handed to
 * `createTransport`.
 */
export const memoryDriver: DriverFactory = Object.freeze({
  name: 'memory',
  schemes: Object.freeze(['memory']),
  create: (url: TransportUrl, context: DriverContext): Driver =>
    new MemoryDriver(url.format(), limitsOf(url), context),
});
