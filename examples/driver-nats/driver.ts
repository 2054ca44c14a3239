import * as core from '@ebbgate/core';
import type { Destination, ListenOptions, PublishOptions, ServerSource, WireMessage } from '@ebbgate/core';
import { Link } from './link.js';
import { inTime, type Listener, type OnDelivery, openListener } from './listener.js';
import { driverError, headOf, isNobody } from './messages.js';
import { privateQueue, sharedQueue, subjectOf } from './queues.js';

const MOST_BYTES = 1_000_000; // the server takes 2 ** 20 if it is not told otherwise, and the headers count

class NatsDriver implements core.Driver {
  readonly features: core.DriverFeatures = {
    ...{ undeliverable: true, expiry: false, release: true, redelivered: true, fanout: true },
    ...{ notifications: false, durable: true, crossProcess: true },
    ...{ ordered: true, isolatedNames: true, maxMessageBytes: MOST_BYTES },
  };
  readonly #link: Link;

  constructor({ scheme, hosts, virtualHost, query }: core.TransportUrl, events: core.DriverEvents) {
    core.refuseUnknown(Object.fromEntries(query), ['ack_wait']);
    if (hosts.length === 0 || virtualHost || scheme !== 'nats')
      throw new core.ConfigurationError('A URL for NATS is nats://user:password@host:port/ with options');
    const text = query.get('ack_wait') ?? '30';
    const seconds = Number(text);
    if (!(seconds > 0 && seconds < 1e6))
      throw new core.ConfigurationError(`ack_wait must be seconds above 0, not "${text}"`);
    this.#link = new Link(hosts, seconds * 1000, events);
  }

  async connect({ remainingMs }: core.Deadline): Promise<void> {
    await this.#link.ready(remainingMs);
  }

  status(): core.DriverStatus {
    const { state: connection, cause, listeners } = this.#link;
    return { connection, cause, listeners: [...listeners].flatMap((each) => each.status() ?? []) };
  }

  async publish(to: Destination, message: WireMessage, options: PublishOptions): Promise<void> {
    const { deadline, mandatory, retry } = options;
    const body = message.body.encode();
    if (body.length > MOST_BYTES) throw new core.MessageDeliveryError(`${body.length} bytes are too many`);
    const { manager } = await this.#link.ready(retry === 0 ? 0 : deadline.remainingMs);
    const send = async (): Promise<void> => {
      const { stream, name } = privateQueue(to); // its stream takes what nobody waits for, and says nothing
      if (to.kind === 'reply') await manager.consumers.info(stream.name, name);
      const timeout = Math.min(Math.max(deadline.remainingMs, 1), 2 ** 31 - 1); // Node's timers hold no more
      await manager.jetstream().publish(subjectOf(to), body, { headers: headOf(message), timeout });
    };
    await this.#link.unlessClosed(send()).catch((error: unknown) => {
      if (!isNobody(error)) throw driverError(error, 'unknown');
      if (mandatory && to.kind !== 'fanout') throw new core.MessageUndeliverableError(`No such ${to.kind}`);
    });
  }

  listen(source: ServerSource, { credit }: ListenOptions, onDelivery: OnDelivery): Promise<Listener> {
    const queues = [
      sharedQueue({ ...source, kind: 'server' }),
      sharedQueue({ ...source, kind: 'topic' }),
      privateQueue({ ...source, kind: 'fanout' }, core.secretId()),
    ];
    return openListener(this.#link, queues, { credit, source, onDelivery });
  }

  async openReplyQueue(onReply: (message: WireMessage) => void): Promise<core.ReplyQueue> {
    const address = core.secretId();
    const queues = [privateQueue({ kind: 'reply', address })];
    const onDelivery = (delivery: core.Delivery): void => {
      void delivery.accept();
      onReply(delivery.message);
    };
    const listener = await openListener(this.#link, queues, { credit: 256, onDelivery });
    return { address, close: () => listener.close().then(() => undefined) };
  }

  async close(): Promise<void> {
    this.#link.closing.abort(new core.TransportClosedError('The NATS driver is closed'));
    // What is left by then the server gives to others.
    await inTime(Promise.all([...this.#link.listeners].map((each) => each.close())), 3000);
    await this.#link.close();
  }
}

/** The driver of `nats://`. */
export const natsDriver: core.DriverFactory = {
  name: 'nats',
  schemes: ['nats'],
  create: (url, { events }) => new NatsDriver(url, events),
};
