import type { DriverFactory } from '@ebbgate/core';
import { rabbitDriver } from '@ebbgate/driver-amqp';
import { connect } from 'amqplib';
import type { RabbitNode } from '../../support/rigs/rabbitmq.js';
import type { BrokerPlace, WaitingQueue } from './broker.js';
import { BrokerTap } from './broker-tap.js';
import { EXCHANGE } from './exchange.js';

/** A virtual host of a RabbitMQ. */
export class RabbitPlace implements BrokerPlace {
  readonly url: string;
  readonly driver: DriverFactory;
  readonly #node: RabbitNode;

  constructor(node: RabbitNode, url: string, driver: DriverFactory = rabbitDriver) {
    this.#node = node;
    this.url = url;
    this.driver = driver;
  }

  /** A queue of our own gets a copy of every request, when the queue that it is meant for does. */
  async tap(): Promise<BrokerTap> {
    const connection = await connect(this.url.replace(/^[^:]+:/, 'amqp:'));
    const tap = new BrokerTap(() => connection.close());
    const channel = await connection.createChannel();
    const { queue } = await channel.assertQueue('', { exclusive: true, autoDelete: true });
    await channel.bindQueue(queue, EXCHANGE, '#');
    const take = (key: string, content: Buffer): void => {
      const [topic = '', ...server] = key.split('.');
      tap.take(topic, server.length === 0 ? null : server.join('.'), content.toString('utf8'));
    };
    await channel.consume(queue, (one) => one && take(one.fields.routingKey, one.content), { noAck: true });
    return tap;
  }

  async queues(): Promise<readonly WaitingQueue[]> {
    const all = await this.#node.view.queues(decodeURIComponent(new URL(this.url).pathname.slice(1)));
    return all.filter(({ name }) => /^(compute|compute-ops|conductor|scheduler)(\.|$)/.test(name));
  }
}
