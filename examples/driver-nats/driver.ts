import * as core from '@ebbgate/core';
import { type ApiError, JetStreamApiError } from '@nats-io/jetstream';
import { Link, type Session } from './link.js';
import { NatsListener, type ListenerParts } from './listener.js';
import { driverError, headOf, isNobody } from './messages.js';
import { nameOf, privateQueue, type Queue, SHARED, sharedQueue, subjectOf } from './queues.js';

const REPLY_CREDIT = 256;
const CLOSE_LIMIT_MS = 3000;
/** Node's timers hold no more. */
const LONGEST_MS = 2 ** 31 - 1;
/** The server takes 2 ** 20 if it is not told otherwise, and the header counts. */
const MOST_BYTES = 1_000_000;
/** The options of a URL, in seconds. */
const DEFAULTS = { ack_wait: 30, heartbeat: 10 };

class NatsDriver implements core.Driver {
  readonly features: core.DriverFeatures = {
    ...{ undeliverable: true, expiry: false, release: true, redelivered: true, fanout: true },
    ...{ durable: true, crossProcess: true, ordered: true, isolatedNames: true, maxMessageBytes: MOST_BYTES },
  };
  readonly #ackWaitMs: number;
  readonly #events: core.DriverEvents;
  readonly #link: Link;
  /** The reply queue is one, too: of replies alone. */
  readonly #listeners = new Set<NatsListener>();

  constructor(url: core.TransportUrl, events: core.DriverEvents) {
    core.refuseUnknown(Object.fromEntries(url.query), Object.keys(DEFAULTS));
    if (url.hosts.length === 0 || url.virtualHost || url.scheme !== 'nats')
      throw new core.ConfigurationError('A URL for NATS is nats://user:password@host:port/ with options');
    this.#ackWaitMs = seconds(url, 'ack_wait') * 1000;
    this.#events = events;
    this.#link = new Link(url, seconds(url, 'heartbeat') * 1000, {
      connection: (state, cause) => events.connection(state, cause),
      error: (error) => events.error(error),
      begun: () => this.#listeners.forEach((each) => void each.revive()),
      lost: (cause) => this.#listeners.forEach((each) => each.lost(cause)),
    });
  }

  async connect(deadline: core.Deadline): Promise<void> {
    await this.#link.ready(deadline);
  }

  status(): core.DriverStatus {
    const { state: connection, cause } = this.#link;
    return { connection, cause, listeners: [...this.#listeners].flatMap(({ status }) => status ?? []) };
  }

  async publish(
    to: core.Destination,
    message: core.WireMessage,
    { deadline, mandatory, retry }: core.PublishOptions,
  ): Promise<void> {
    const { length } = message.body.encode();
    if (length > MOST_BYTES) throw new core.MessageDeliveryError(`${length} bytes are too many`);
    const { session, cause, closing } = this.#link;
    if (retry === 0 && !session && !closing.signal.aborted)
      throw new core.MessageDeliveryError('Not connected', { cause });
    const sent = this.#send(await this.#link.ready(deadline), to, message, deadline);
    const late = (): Error => new core.MessageDeliveryError('Not confirmed in time', { outcome: 'unknown' });
    const limits = { timeoutMs: deadline.remainingMs, signal: closing.signal };
    const isTaken = await core.within(sent, limits, late);
    if (!isTaken && mandatory && to.kind !== 'fanout')
      throw new core.MessageUndeliverableError(`There is no such ${to.kind}`);
  }

  async listen(
    source: core.ServerSource,
    { credit }: core.ListenOptions,
    onDelivery: (delivery: core.Delivery) => void,
  ): Promise<core.Listener> {
    const { exchange, topic } = source;
    const queues = [
      sharedQueue({ kind: 'server', ...source }, this.#ackWaitMs),
      sharedQueue({ kind: 'topic', exchange, topic }, this.#ackWaitMs),
      privateQueue(`fanout_${core.secretId()}`, { kind: 'fanout', exchange, topic }, this.#ackWaitMs),
    ];
    return this.#open({ queues, credit, source, onDelivery });
  }

  async openReplyQueue(onReply: (message: core.WireMessage) => void): Promise<core.ReplyQueue> {
    const address = core.secretId();
    const onDelivery = (delivery: core.Delivery): void => {
      void delivery.accept();
      onReply(delivery.message);
    };
    const queues = [this.#replyQueue(address)];
    const listener = await this.#open({ queues, credit: REPLY_CREDIT, source: undefined, onDelivery });
    const close = async (): Promise<void> => {
      await listener.close();
    };
    return { address, close };
  }

  async close(): Promise<void> {
    this.#link.closing.abort(new core.TransportClosedError('The NATS driver is closed'));
    const closing = Promise.all([...this.#listeners].map((each) => each.close()));
    const late = (): Error => new Error('late'); // the server gives away what is left
    await core.within(closing, { timeoutMs: CLOSE_LIMIT_MS }, late).catch(() => undefined);
    this.#listeners.clear();
    await this.#link.close();
  }

  async #open(
    parts: Omit<ListenerParts, 'link' | 'events' | 'ackWaitMs' | 'onClosed'>,
  ): Promise<NatsListener> {
    const onClosed = () => this.#listeners.delete(listener);
    const shared = { link: this.#link, events: this.#events, ackWaitMs: this.#ackWaitMs };
    const listener: NatsListener = new NatsListener({ ...parts, ...shared, onClosed });
    this.#listeners.add(listener);
    try {
      const never = (): Error => new Error('it has no limit');
      await core.within(listener.start(), { signal: this.#link.closing.signal }, never);
      return listener;
    } catch (error) {
      void listener.close();
      throw driverError(error);
    }
  }

  #replyQueue(address: string): Queue {
    const to = { kind: 'reply', address } as const;
    return privateQueue(`reply_${nameOf(to)}`, to, this.#ackWaitMs);
  }

  /** Resolves with true when it is stored, and with false when nobody is there for whom it could be. */
  async #send(
    { connection, manager }: Session,
    to: core.Destination,
    message: core.WireMessage,
    { remainingMs }: core.Deadline,
  ): Promise<boolean> {
    const how = { headers: headOf(message), timeout: Math.min(Math.max(remainingMs, 1), LONGEST_MS) };
    try {
      // The shared stream takes what nobody waits for, and says nothing.
      if (to.kind === 'reply')
        await manager.consumers.info(SHARED.name, this.#replyQueue(to.address).consumer);
    } catch (error) {
      if (isNobody(error)) return false;
      throw driverError(error);
    }
    try {
      const answer = await connection.request(subjectOf(to), message.body.encode(), how);
      const { error } = answer.json<{ readonly error?: ApiError }>();
      if (error) throw new JetStreamApiError(error);
      return true;
    } catch (error) {
      if (isNobody(error)) return false;
      throw driverError(error, 'unknown');
    }
  }
}

/** An option in seconds. @throws ConfigurationError with the name, the value and what would be right */
function seconds({ query }: core.TransportUrl, name: keyof typeof DEFAULTS): number {
  const value = Number(query.get(name) ?? DEFAULTS[name]);
  if (value > 0 && value < 1e6) return value;
  throw new core.ConfigurationError(`${name} must be seconds above 0, not "${String(query.get(name))}"`);
}

/** The driver of `nats://`. */
export const natsDriver: core.DriverFactory = {
  name: 'nats',
  schemes: ['nats'],
  create: (url, { events }) => new NatsDriver(url, events),
};
