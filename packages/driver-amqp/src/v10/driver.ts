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
  MessageDeliveryError,
  type NotificationSource,
  type PublishOptions,
  type ReplyQueue,
  type ServerSource,
  type Source,
  type WireMessage,
} from '@ebbgate/core';
import { DriverConnections } from '../driver-connections.js';
import { type QueueNames, queueNames } from '../queue-names.js';
import { SourceListener } from '../source-listener.js';
import { tooLarge } from '../too-large.js';
import { notificationTopology, replyTopology, sourceTopology, type SourceTopology } from '../topology.js';
import { reachableSource } from './address-form.js';
import { heldPeer } from './connection.js';
import { Declarer } from './declarer.js';
import { featuresOf } from './features.js';
import { bodyLength, toAmqp } from './messages.js';
import type { Amqp10Settings } from './options.js';
import type { PeerConnection } from './peer-connection.js';
import { asPeerError } from './peer-errors.js';
import { Publisher } from './publisher.js';
import { Amqp10ReplyQueue } from './reply-queue.js';
import type { Outgoing } from './sending.js';
import { declaredNodes, declaredReplyNode, plainNodes, plainReplyNode, replyAddress } from './sources.js';
import { Subscription, type SubscriptionParts } from './subscription.js';

/** Replies are taken at once, so many under way. */
const REPLY_CREDIT = 512;
/** At the end what was sent may still be settled. */
const LAST_OUTCOMES_MS = 1_000;

type SourceParts = Pick<SubscriptionParts, 'prepare' | 'remove'>;

/** AMQP 1.0 by rhea, on two connections whatever the load: one sends, the other receives, up to a thousand servers. */
export class Amqp10Driver implements Driver {
  readonly features: DriverFeatures;
  readonly replyRetryMs: number;
  readonly #settings: Amqp10Settings;
  readonly #context: DriverContext;
  readonly #names: QueueNames;
  readonly #connections: DriverConnections<PeerConnection>;
  readonly #declarer: Declarer;
  readonly #publisher: Publisher;
  readonly #loopWatch: EventLoopWatch;
  readonly #listeners = new Set<SourceListener<PeerConnection>>();
  readonly #replyQueues = new Set<Amqp10ReplyQueue>();

  constructor(settings: Amqp10Settings, context: DriverContext) {
    this.features = featuresOf(settings);
    this.replyRetryMs = settings.missingConsumerRetryMs;
    this.#settings = settings;
    this.#context = context;
    this.#names = queueNames(settings);
    this.#connections = new DriverConnections(
      (role, hooks) => heldPeer(role, settings, context.logger, hooks),
      (state, cause) => {
        context.events.connection(state, cause);
      },
    );
    this.#declarer = new Declarer(settings, context.logger);
    this.#publisher = new Publisher(this.#connections.publishing, settings, this.#declarer);
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
    if (answers) await this.#publisher.settled(LAST_OUTCOMES_MS);
    await this.#declarer.close();
    await this.#connections.close(answers);
    await Promise.all([...this.#replyQueues].map((queue) => queue.close()));
  }

  status(): DriverStatus {
    const listeners = [...this.#listeners].map((listener) => listener.status);
    return { ...this.#connections.status, listeners };
  }

  publish(destination: Destination, message: WireMessage, options: PublishOptions): Promise<void> {
    const isReply = destination.kind === 'reply';
    const encoded = toAmqp(message, isReply);
    const bytes = bodyLength(encoded);
    if (bytes > this.#settings.maxMessageBytes) throw tooLarge(bytes, this.#settings);
    const { deadline, retry, mandatory } = options;
    const outgoing = { destination, message: encoded, deadline, retry, mandatory, repeatable: isReply };
    const deaf = isReply || message.expirationMs === undefined ? undefined : this.#deafQueue();
    return deaf ? this.#sendWhenHeard(deaf, outgoing) : this.#publisher.send(outgoing);
  }

  async listen(
    source: ServerSource,
    options: ListenOptions,
    onDelivery: (delivery: Delivery) => void,
  ): Promise<Listener> {
    return this.#listen(source, await this.#serverParts(source), options, onDelivery);
  }

  async listenForNotifications(
    source: NotificationSource,
    options: ListenOptions,
    onDelivery: (delivery: Delivery) => void,
  ): Promise<Listener> {
    const parts = this.#declared(({ form }) =>
      notificationTopology(this.#settings, reachableSource(form, source)),
    );
    return this.#listen(source, parts, options, onDelivery);
  }

  async #listen(
    source: Source,
    parts: SourceParts,
    options: ListenOptions,
    onDelivery: (delivery: Delivery) => void,
  ): Promise<Listener> {
    const { prefetch } = this.#settings;
    const credit = prefetch > 0 ? Math.min(prefetch, options.credit) : options.credit;
    const listener = new SourceListener<PeerConnection>({
      connection: this.#connections.consuming.forServer(),
      settings: this.#settings,
      events: this.#context.events,
      source,
      pausesByHolding: false,
      subscription: (onLost) => new Subscription({ credit, ...parts, onDelivery, onLost }),
      asError: asPeerError,
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
    const { name, ...parts } = await this.#replyParts();
    let subscription: Subscription | undefined;
    const isDynamic = this.#settings.replyNode === 'dynamic';
    const connection = this.#connections.consuming.first;
    const queue = new Amqp10ReplyQueue({
      connection,
      logger,
      address: () => (isDynamic ? (subscription?.address ?? name) : name),
      onReply,
    });
    const listener = new SourceListener<PeerConnection>({
      connection,
      settings: this.#settings,
      events: {
        error: events.error.bind(events),
        listener: () => {
          queue.onStatus();
        },
      },
      source: { exchange: '', topic: name, server: 'replies' },
      pausesByHolding: false,
      subscription: (onLost) => {
        const onDelivery = queue.onDelivery.bind(queue);
        subscription = new Subscription({ credit: REPLY_CREDIT, ...parts, onDelivery, onLost });
        return subscription;
      },
      asError: asPeerError,
      onClosed: () => this.#replyQueues.delete(queue),
    });
    this.#replyQueues.add(queue);
    try {
      await queue.open(listener);
      return queue;
    } catch (error) {
      await queue.close(); // else it would be tried for ever, beside that of the next call
      throw error;
    }
  }

  /** With a fanout queue of a new name. */
  async #serverParts(source: ServerSource): Promise<SourceParts> {
    if (this.#settings.addressForm === 'plain') return existing([...plainNodes(source)]);
    const unique = await this.#names.next();
    return this.#declared(({ form }) => sourceTopology(this.#settings, form.reachable(source), unique));
  }

  /** Queues that are declared on each connection anew; the private one is removed at the end. */
  #declared(topologyOn: (peer: PeerConnection) => SourceTopology): SourceParts {
    return {
      prepare: async (peer) => {
        const topology = topologyOn(peer);
        await this.#declarer.source(peer.host, topology);
        return declaredNodes(peer.form, topology);
      },
      remove: async (peer) => this.#remove(peer, topologyOn(peer).privateQueue),
    };
  }

  async #replyParts(): Promise<SourceParts & { readonly name: string }> {
    const { addressForm, replyNode } = this.#settings;
    if (addressForm === 'plain') {
      const name = replyAddress();
      return { name, ...existing([plainReplyNode(replyNode, name)]) };
    }
    const topology = replyTopology(this.#settings, await this.#names.next());
    return {
      name: topology.queue.name,
      prepare: async (peer) => {
        await this.#declarer.queue(peer.host, topology.queue);
        return [declaredReplyNode(peer.form, topology)];
      },
      remove: async (peer) => this.#remove(peer, topology.privateQueue),
    };
  }

  async #remove({ host }: PeerConnection, queue: string | undefined): Promise<void> {
    if (queue !== undefined) await this.#declarer.remove(host, queue);
  }

  /** A reply queue that is not consumed now: calls wait for it, as nobody would hear their answers. */
  #deafQueue(): Amqp10ReplyQueue | undefined {
    for (const queue of this.#replyQueues) if (!queue.isConsumed) return queue;
    return undefined;
  }

  async #sendWhenHeard(queue: Amqp10ReplyQueue, outgoing: Outgoing): Promise<void> {
    if (this.#settings.replyNode === 'dynamic')
      // the request names a node that is gone
      throw new MessageDeliveryError('There is no node for replies now; the broker names another one soon');
    await queue.whenConsumed(outgoing.deadline, outgoing.retry);
    await this.#publisher.send(outgoing);
  }
}

/** Nodes that nobody declares, and nobody removes. */
function existing(nodes: Awaited<ReturnType<SubscriptionParts['prepare']>>): SourceParts {
  return { prepare: async () => nodes, remove: async () => undefined };
}
