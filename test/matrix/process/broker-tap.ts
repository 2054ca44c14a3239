import { type ChannelModel, connect, type ConsumeMessage } from 'amqplib';

/** A request on its way to a service. */
export interface SeenMessage {
  readonly topic: string;
  /** Null: to whichever server of the topic is free. */
  readonly host: string | null;
  readonly method: string;
  readonly args: Readonly<Record<string, unknown>>;
  /** All of it, with its context. */
  readonly text: string;
}

const EXCHANGE = 'nova';

/** A queue of our own that gets a copy of every request of a cloud, when the queue that it is meant for does. */
export class BrokerTap {
  readonly #connection: ChannelModel;
  readonly #lookers = new Set<(message: SeenMessage) => void>();

  private constructor(connection: ChannelModel) {
    this.#connection = connection;
  }

  /** @param url - of a virtual host on which a daemon of the cloud serves already */
  static async open(url: string): Promise<BrokerTap> {
    const connection = await connect(url.replace(/^rabbit:/, 'amqp:'));
    const tap = new BrokerTap(connection);
    const channel = await connection.createChannel();
    const { queue } = await channel.assertQueue('', { exclusive: true, autoDelete: true });
    await channel.bindQueue(queue, EXCHANGE, '#');
    await channel.consume(queue, (message) => tap.#take(message), { noAck: true });
    return tap;
  }

  /** Is told of every message from now on; gives what ends that. */
  look(looker: (message: SeenMessage) => void): () => void {
    this.#lookers.add(looker);
    return () => void this.#lookers.delete(looker);
  }

  async close(): Promise<void> {
    await this.#connection.close();
  }

  #take(message: ConsumeMessage | null): void {
    const seen = message && read(message);
    if (seen) for (const looker of this.#lookers) looker(seen);
  }
}

function read({ fields, content }: ConsumeMessage): SeenMessage {
  const { routingKey } = fields;
  const [topic = '', ...server] = routingKey.split('.');
  const envelope = JSON.parse(content.toString('utf8')) as { readonly 'oslo.message': string }; // of our own daemons
  const text = envelope['oslo.message'];
  const { method, args } = JSON.parse(text) as Pick<SeenMessage, 'method' | 'args'>;
  return { topic, host: server.length === 0 ? null : server.join('.'), method, args, text };
}
