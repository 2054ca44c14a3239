import * as core from '@ebbgate/core';
import { messageOf, nameOf, type OnDelivery, openListener, queueOf } from './my-listener.js';
import { Client } from './broker-client.js';

const features: core.DriverFeatures = {
  ...{ undeliverable: true, expiry: false, release: true, redelivered: true, fanout: true },
  ...{ notifications: false, durable: false, crossProcess: true },
  ...{ ordered: true, isolatedNames: true, maxMessageBytes: 2 ** 23 },
};

class MyDriver implements core.Driver {
  readonly features: core.DriverFeatures = features;
  readonly #client: Client;
  readonly #tell: core.DriverEvents['connection'];
  readonly #listeners = new Set<Awaited<ReturnType<typeof openListener>>>();
  readonly #replyQueues = new Set<core.ReplyQueue>();
  #connection: core.ConnectionState = 'idle';

  constructor(url: core.TransportUrl, { events }: core.DriverContext) {
    if (url.query.size > 0) throw new core.ConfigurationError('The driver mine: has no options');
    this.#client = new Client(url.format());
    this.#tell = (state, cause) => {
      this.#connection = state;
      events.connection(state, cause);
    };
  }

  async connect({ remainingMs: timeoutMs }: core.Deadline): Promise<void> {
    const late = (): Error => new core.MessageDeliveryError('Not connected in time');
    await core.within(this.#client.connect(), { timeoutMs }, late);
    this.#tell('connected');
  }

  async close(): Promise<void> {
    await Promise.all([...this.#listeners, ...this.#replyQueues].map((each) => each.close()));
    this.#listeners.clear();
    await this.#client.close();
    this.#tell('closed');
  }

  status(): core.DriverStatus {
    return { connection: this.#connection, listeners: [...this.#listeners].map((each) => each.status()) };
  }

  async publish(
    to: core.Destination,
    message: core.WireMessage,
    options: core.PublishOptions,
  ): Promise<void> {
    const { id, body, deadline } = message;
    const bytes = body.encode();
    if (bytes.length > features.maxMessageBytes) throw new core.MessageDeliveryError('Message too long');
    const headers = { id, deadline: deadline?.epochMs };
    const sent =
      to.kind === 'fanout'
        ? this.#client.publishToGroup(nameOf(to.topic), bytes, headers)
        : this.#client.publish(queueOf(to), bytes, headers);
    const late = (): Error => new core.MessageDeliveryError('Not confirmed in time', { outcome: 'unknown' });
    const known = await core.within(sent, { timeoutMs: options.deadline.remainingMs }, late);
    if (!known && options.mandatory) throw new core.MessageUndeliverableError(`Unknown ${to.kind}`);
  }

  async listen(
    source: core.ServerSource,
    { credit }: core.ListenOptions,
    onDelivery: OnDelivery,
  ): Promise<core.Listener> {
    const listener = await openListener(this.#client, source, credit, onDelivery);
    this.#listeners.add(listener);
    const close = async (): Promise<readonly string[]> => {
      this.#listeners.delete(listener);
      return listener.close();
    };
    return { ...listener, close };
  }

  async openReplyQueue(onReply: (message: core.WireMessage) => void): Promise<core.ReplyQueue> {
    const address = `reply_${core.secretId()}`;
    await this.#client.declare(address);
    const consumer = await this.#client.consume([address], 1000, (incoming) => {
      incoming.ack(); // replies are not settled by anybody else
      onReply(messageOf(incoming));
    });
    const close = async (): Promise<void> => {
      await consumer.cancel();
      await this.#client.remove(address);
    };
    const queue = { address, close };
    this.#replyQueues.add(queue);
    return queue;
  }
}

export const myDriver: core.DriverFactory = {
  name: 'mine',
  schemes: ['mine'],
  create: (url, context) => new MyDriver(url, context),
};
