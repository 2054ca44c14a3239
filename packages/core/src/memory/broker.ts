import { AsyncLocalStorage } from 'node:async_hooks';
import type { Destination, NotificationDestination, NotificationSource, ServerSource } from '../driver.js';
import { BackpressureError, MessageUndeliverableError } from '../errors.js';
import type { WireMessage } from '../message.js';
import type { MemoryConsumer, Rounds } from './consumer.js';
import { joined } from './joined-names.js';
import { NotificationQueues } from './notification-queues.js';
import { MemoryQueue } from './queue.js';

/** Bounds of one queue; beyond them a send is refused, nothing that is stored is dropped. */
export interface MemoryLimits {
  readonly maxQueueLength: number;
  readonly maxQueueBytes: number;
  /** The longest body in bytes. */
  readonly maxMessageBytes: number;
}

/** Where the replies of one client arrive. */
export interface ReplyBox {
  readonly address: string;
  readonly waiting: WireMessage[];
  onReply: (message: WireMessage) => void;
  /** False while its client is cut off: replies wait for it. */
  connected: boolean;
}

/** After so many messages in one go timers and sockets get their turn, as they would with a broker outside. */
const BURST = 256;
/** … or after so long, since handlers may take long at each: looked at after every few messages. */
const BURST_MS = 10;
const LOOK_AFTER = 8;

/** Runs what it is given outside any caller's async context: a handler must not find its sender's. */
const outside = AsyncLocalStorage.snapshot();

/**
 * A broker in the process: queues by topic and by server, fanout, reply boxes. Declaring is explicit and lasting, as on
 * a network broker: a queue is there from the first `listen` on, also while nobody listens.
 */
export class MemoryBroker implements Rounds {
  readonly limits: MemoryLimits;
  readonly #queues = new Map<string, MemoryQueue>();
  readonly #fanouts = new Map<string, Set<MemoryQueue>>();
  readonly #notifications = new NotificationQueues();
  readonly #boxes = new Map<string, ReplyBox>();
  readonly #fullBoxes: ReplyBox[] = [];
  #due: MemoryQueue[] = [];
  #roundPlanned = false;
  #burst = 0;
  #burstSince = 0;
  #lookAt = LOOK_AFTER;
  /** Neither confirms nor delivers while set. */
  #stalled = false;

  constructor(limits: MemoryLimits) {
    this.limits = limits;
  }

  /** The queues of a server, declared if they were not. The last one is its fanout queue, its own alone. */
  declare(source: ServerSource): MemoryQueue[] {
    const { exchange, topic, server } = source;
    const fanout = new MemoryQueue(`fanout ${topic}`);
    const subscribers = this.#fanouts.get(topic) ?? new Set();
    this.#fanouts.set(topic, subscribers.add(fanout));
    return [
      this.#declareQueue(joined(exchange, topic, server)),
      this.#declareQueue(joined(exchange, topic)),
      fanout,
    ];
  }

  /** Removes a fanout queue and what is in it. */
  removeFanout(topic: string, queue: MemoryQueue): void {
    queue.alive = false;
    const subscribers = this.#fanouts.get(topic);
    subscribers?.delete(queue);
    if (subscribers?.size === 0) this.#fanouts.delete(topic);
  }

  /** The queues of a listener to notifications, declared if they were not. */
  declareNotifications(source: NotificationSource): MemoryQueue[] {
    return this.#notifications.declare(source);
  }

  /** Removes the queue of a pool that was one listener's alone, and what is in it. */
  removePool(queue: MemoryQueue): void {
    this.#notifications.remove(queue);
  }

  /** The queue of a destination; undefined when it was never declared. */
  find(destination: Destination): MemoryQueue | undefined {
    if (destination.kind === 'topic')
      return this.#queues.get(joined(destination.exchange, destination.topic));
    if (destination.kind === 'server') {
      return this.#queues.get(joined(destination.exchange, destination.topic, destination.server));
    }
    return undefined;
  }

  /** Stores a message in one queue. */
  store(queue: MemoryQueue, message: WireMessage): void {
    this.#checkRoom(queue, message);
    queue.push(message);
    this.schedule(queue);
  }

  /** A copy for each server of the topic, or, when one has no room, for nobody; no server is no error. The topic's servers share it over all exchanges, as on RabbitMQ. */
  storeFanout(topic: string, message: WireMessage): void {
    this.#storeCopies(this.#fanouts.get(topic) ?? [], message);
  }

  /** Into the queue of its topic, and a copy into each pool; when one has no room, into none. */
  storeNotification(destination: Omit<NotificationDestination, 'kind'>, message: WireMessage): void {
    this.#storeCopies(this.#notifications.of(destination), message);
  }

  openReplyBox(address: string, onReply: (message: WireMessage) => void): ReplyBox {
    const box: ReplyBox = { address, waiting: [], onReply, connected: true };
    this.#boxes.set(address, box);
    return box;
  }

  closeReplyBox(box: ReplyBox): void {
    box.connected = false;
    this.#boxes.delete(box.address);
  }

  /** @throws MessageUndeliverableError when no such box exists. */
  storeReply(address: string, message: WireMessage): void {
    const box = this.#boxes.get(address);
    if (!box) throw new MessageUndeliverableError('The reply queue does not exist: its caller is gone');
    if (box.waiting.length >= this.limits.maxQueueLength) throw full(this.limits);
    box.waiting.push(message);
    if (box.waiting.length === 1) this.wakeBox(box);
  }

  /** The client of a box is back, or a first reply has come. */
  wakeBox(box: ReplyBox): void {
    this.#fullBoxes.push(box);
    this.#planRound();
  }

  schedule(queue: MemoryQueue): void {
    if (queue.scheduled) return;
    queue.scheduled = true;
    this.#due.push(queue);
    this.#planRound();
  }

  get stalled(): boolean {
    return this.#stalled;
  }

  /** From now on nothing is confirmed and nothing delivered. */
  stall(): void {
    this.#stalled = true;
  }

  resume(): void {
    this.#stalled = false;
    this.#planRound();
  }

  #declareQueue(name: string): MemoryQueue {
    const known = this.#queues.get(name);
    if (known) return known;
    const queue = new MemoryQueue(name);
    this.#queues.set(name, queue);
    return queue;
  }

  #storeCopies(queues: Iterable<MemoryQueue>, message: WireMessage): void {
    for (const queue of queues) this.#checkRoom(queue, message);
    for (const queue of queues) this.store(queue, { ...message, body: message.body.fork() });
  }

  #checkRoom(queue: MemoryQueue, message: WireMessage): void {
    if (!this.#isFull(queue, message)) return;
    queue.purgeExpired();
    if (this.#isFull(queue, message)) throw full(this.limits);
  }

  #isFull(queue: MemoryQueue, message: WireMessage): boolean {
    const { maxQueueLength, maxQueueBytes } = this.limits;
    return (
      queue.length >= maxQueueLength || (queue.bytes > 0 && queue.bytes + message.body.size > maxQueueBytes)
    );
  }

  #planRound(): void {
    if (this.#roundPlanned || this.#stalled) return;
    this.#roundPlanned = true;
    if (this.#othersAreDue()) setImmediate(this.#afterOthers);
    else queueMicrotask(this.#round);
  }

  #othersAreDue(): boolean {
    if (this.#burst < this.#lookAt) return false;
    if (this.#burst >= BURST) return true;
    if (performance.now() - this.#burstSince > BURST_MS) this.#burst = BURST;
    else this.#lookAt = this.#burst + LOOK_AFTER;
    return this.#burst >= BURST;
  }

  readonly #afterOthers = (): void => {
    this.#burst = 0;
    this.#burstSince = performance.now();
    this.#lookAt = LOOK_AFTER;
    this.#round();
  };

  readonly #round = (): void => {
    this.#roundPlanned = false;
    outside(() => {
      this.#handOut();
    });
  };

  #handOut(): void {
    if (this.#stalled) return;
    for (const box of this.#fullBoxes.splice(0)) this.#emptyBox(box);
    const due = this.#due;
    this.#due = [];
    for (const queue of due) {
      queue.scheduled = false;
      this.#serve(queue);
    }
  }

  #emptyBox(box: ReplyBox): void {
    if (!box.connected) return;
    this.#burst += box.waiting.length;
    for (const reply of box.waiting.splice(0)) box.onReply(reply);
  }

  #serve(queue: MemoryQueue): void {
    while (queue.length > 0) {
      if (this.#othersAreDue()) {
        this.schedule(queue);
        return;
      }
      const consumer: MemoryConsumer | undefined = queue.nextConsumer();
      if (!consumer) return;
      const entry = queue.shift();
      if (!entry || entry.message.deadline?.expired) continue;
      this.#burst += 1;
      consumer.deliver(entry, queue);
    }
  }
}

function full(limits: MemoryLimits): BackpressureError {
  const { maxQueueLength, maxQueueBytes } = limits;
  return new BackpressureError(
    `The queue is full: it takes ${String(maxQueueLength)} messages and ${String(maxQueueBytes)} bytes (max_queue_length, max_queue_bytes)`,
  );
}
