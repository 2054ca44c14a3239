import { connect } from 'amqplib';
import type { RabbitNode } from './rabbitmq.js';

/** The plugin that a node needs for it. */
export const WITNESS_PLUGIN = 'rabbitmq_event_exchange';

const EVENTS = 'amq.rabbitmq.event';
const KEPT_IN = 'witness';

/** Sees every queue, exchange and binding that is deleted on a node, also when another takes its place at once. */
export class RabbitWitness {
  readonly #url: string;

  private constructor(url: string) {
    this.#url = url;
  }

  static async start(node: RabbitNode): Promise<RabbitWitness> {
    await node.view.permit(node.user, '/'); // the events are there, of all virtual hosts
    const witness = new RabbitWitness(node.url('/', { scheme: 'amqp' }));
    const connection = await connect(witness.#url);
    const channel = await connection.createChannel();
    await channel.assertQueue(KEPT_IN, { durable: true }); // outlives restarts of the node
    for (const kind of ['queue', 'exchange', 'binding'])
      await channel.bindQueue(KEPT_IN, EVENTS, `${kind}.deleted`);
    await connection.close();
    return witness;
  }

  /** What was deleted in a virtual host since the last time, as `queue.deleted name`. */
  async deletions(vhost: string): Promise<string[]> {
    const connection = await connect(this.#url);
    try {
      const channel = await connection.createChannel();
      const seen: string[] = [];
      for (;;) {
        const event = await channel.get(KEPT_IN, { noAck: true });
        if (!event) return seen;
        const headers = (event.properties.headers ?? {}) as Record<string, string | undefined>; // of these, all are text
        const { name, source_name: from = '', destination_name: to = '' } = headers;
        if (headers['vhost'] === vhost) seen.push(`${event.fields.routingKey} ${name ?? `${from} -> ${to}`}`);
      }
    } finally {
      await connection.close();
    }
  }
}
