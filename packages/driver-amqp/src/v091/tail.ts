import {
  ConfigurationError,
  MessageUndeliverableError,
  MessagingError,
  secretId,
  type Tail,
  type TailHooks,
  type TailSource,
  type WireMessage,
} from '@ebbgate/core';
import type { Channel, ChannelModel, ConsumeMessage } from 'amqplib';
import { asBrokerError, isNotFound } from '../broker-errors.js';
import type { RabbitSettings } from '../options.js';
import { readMessage } from '../properties.js';
import { type TailPlaces, tailPlaces } from '../tail-places.js';
import { unreadableMessage } from '../unreadable-message.js';
import { openChannel } from './channel.js';
import { closeInTime } from './model-socket.js';
import { openInTime } from './open-model.js';

/** Told and not yet read, at most; and waiting at the broker, which drops the oldest beyond it. */
const PREFETCH = 256;
const MOST_WAITING = 10_000;

/** Where the broker tells what is published. */
const TRACE = 'amq.rabbitmq.trace';

/** A published message, bound for us as it was or told by the trace. */
interface Passed {
  readonly exchange: string;
  readonly routingKey: string;
  readonly message: () => WireMessage;
}

/**
 * Tails the RPC of a topic: a queue of this connection alone, beside those of the servers, bound to the exchanges that requests
 * go through; or to what RabbitMQ traces (`rabbitmqctl trace_on`), as replies go through the default exchange, to which nothing can
 * be bound. Ends with its connection.
 */
export async function openTail(
  settings: RabbitSettings,
  source: TailSource,
  hooks: TailHooks,
): Promise<Tail> {
  const model = await openAny(settings);
  const tail = new RabbitTail(model, tailPlaces(source), hooks);
  try {
    await (source.traced ? tail.openTraced() : tail.open(source));
    return tail;
  } catch (error) {
    await tail.close();
    if (error instanceof MessagingError) throw error;
    throw asBrokerError(error, `Cannot tail the topic "${source.topic}"`);
  }
}

/** The first host that answers. */
async function openAny(settings: RabbitSettings): Promise<ChannelModel> {
  let failure: unknown;
  for (const host of settings.hosts) {
    try {
      return await openInTime(settings, host, 'tail', new AbortController().signal);
    } catch (error) {
      failure = error;
    }
  }
  throw asBrokerError(failure, 'Cannot connect to the broker');
}

class RabbitTail implements Tail {
  readonly unseen: string[] = [];
  readonly #model: ChannelModel;
  readonly #places: TailPlaces;
  readonly #hooks: TailHooks;
  readonly #queue = `ebbgate-tail-${secretId()}`;
  #isOver = false;
  #endedBy: Error | undefined;

  constructor(model: ChannelModel, places: TailPlaces, hooks: TailHooks) {
    this.#model = model;
    this.#places = places;
    this.#hooks = hooks;
    model.on('error', (error: Error) => (this.#endedBy ??= error));
    model.on('close', (error?: Error) => {
      this.#end(error);
    });
  }

  /** @throws MessageUndeliverableError when nobody has ever served on the exchange */
  async open({ exchange }: TailSource): Promise<void> {
    const { topic, fanout } = this.#places;
    if (!(await this.#exists(topic.exchange)))
      throw new MessageUndeliverableError(
        `There is no exchange "${exchange}" at the broker: nobody has ever listened there`,
      );
    const channel = await this.#openQueue();
    await channel.bindQueue(this.#queue, topic.exchange, topic.key);
    if (fanout && (await this.#exists(fanout))) await channel.bindQueue(this.#queue, fanout, '');
    else if (fanout) this.unseen.push('requests to all servers, as none listens now');
    this.unseen.push('replies, which only a trace of the broker shows');
    await this.#consume(channel, ({ fields, content, properties }) => ({
      exchange: fields.exchange,
      routingKey: fields.routingKey,
      message: () => readMessage({ content, properties }),
    }));
  }

  /** @throws ConfigurationError when the broker traces nothing */
  async openTraced(): Promise<void> {
    const { topic, fanout } = this.#places;
    const channel = await this.#openQueue();
    for (const exchange of ['', topic.exchange, ...(fanout ? [fanout] : [])])
      await channel.bindQueue(this.#queue, TRACE, `publish.${exchange}`);
    if (!(await this.#isTraced(channel)))
      throw new ConfigurationError(
        'The broker traces nothing in this virtual host, and only a trace shows replies: an operator turns it on by ' +
          '"rabbitmqctl trace_on -p VHOST"',
      );
    await this.#consume(channel, tracedMessage);
  }

  async close(): Promise<void> {
    this.#isOver = true;
    await closeInTime(this.#model); // its queue goes with it
  }

  async #openQueue(): Promise<Channel> {
    const channel = await openChannel(this.#model, (error) => {
      this.#end(error);
    });
    await channel.assertQueue(this.#queue, {
      ...{ exclusive: true, durable: false, autoDelete: true },
      arguments: { 'x-max-length': MOST_WAITING },
    });
    await channel.prefetch(PREFETCH);
    return channel;
  }

  async #consume(channel: Channel, read: (message: ConsumeMessage) => Passed | undefined): Promise<void> {
    await channel.consume(this.#queue, (raw) => {
      if (!raw) {
        this.#end(new Error('The broker has cancelled it'));
        return;
      }
      channel.ack(raw);
      const passed = read(raw);
      if (passed) this.#tell(passed, raw.content.byteLength);
    });
  }

  #tell({ exchange, routingKey, message }: Passed, size: number): void {
    if (this.#isOver) return;
    const destination = this.#places.destinationOf(exchange, routingKey);
    if (destination) this.#hooks.onMessage({ destination, message: readable(message, size) });
  }

  /**
   * Sends a message to nobody: a broker that traces has put a copy into the queue of this connection before it is asked for one.
   * The number of messages would not do: a queue that is busy tells it before it takes what came earlier.
   */
  async #isTraced(channel: Channel): Promise<boolean> {
    channel.publish('', `${this.#queue}-probe`, Buffer.alloc(0));
    return (await channel.get(this.#queue, { noAck: true })) !== false;
  }

  /** On a channel of its own: the answer no ends it. */
  async #exists(exchange: string): Promise<boolean> {
    let ended: Error | undefined;
    const channel = await openChannel(this.#model, (error) => (ended = error));
    try {
      await channel.checkExchange(exchange);
      await channel.close();
      return true;
    } catch (error) {
      if (isNotFound(ended ?? error)) return false;
      throw ended ?? error;
    }
  }

  #end(cause: Error | undefined): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const why = this.#endedBy ?? cause ?? new Error('The connection was lost');
    void closeInTime(this.#model);
    this.#hooks.onEnd(asBrokerError(why, 'The tail has ended'));
  }
}

function readable(message: () => WireMessage, size: number): WireMessage {
  try {
    return message();
  } catch (error) {
    return unreadableMessage(error, size);
  }
}

/** What RabbitMQ tells of a message is in headers; its body is the message's own. */
function tracedMessage({ content, properties }: ConsumeMessage): Passed | undefined {
  const headers: Readonly<Record<string, unknown>> = properties.headers ?? {};
  const { exchange_name: exchange, routing_keys: keys, properties: own } = headers;
  const routingKey: unknown = Array.isArray(keys) ? keys[0] : undefined;
  if (typeof exchange !== 'string' || typeof routingKey !== 'string') return undefined;
  const { content_type, expiration, headers: ownHeaders } = (own ?? {}) as Readonly<Record<string, unknown>>; // looked at by their reader
  return {
    exchange,
    routingKey,
    message: () =>
      readMessage({ content, properties: { contentType: content_type, expiration, headers: ownHeaders } }),
  };
}
