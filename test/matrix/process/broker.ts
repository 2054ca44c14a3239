import type { DriverFactory } from '@ebbgate/core';
import { amqp10Driver } from '@ebbgate/driver-amqp';
import { RabbitNode } from '../../support/rigs/rabbitmq.js';
import { NOT_SAVED, RedisProcess } from '../../support/rigs/redis-process.js';
import type { BrokerTap } from './broker-tap.js';
import { RabbitPlace } from './rabbit-place.js';
import { RedisPlace } from './redis-place.js';

/** What the services of a cloud talk over. */
export const TRANSPORTS = ['rabbit', 'amqp10', 'redis'] as const;
export type TransportName = (typeof TRANSPORTS)[number];

/** Messages for a topic, or for one server of it as `topic.server`. */
export interface WaitingQueue {
  readonly name: string;
  /** Those that are held by somebody included. */
  readonly messages: number;
}

/** A part of a broker that one cloud has for itself, and what can be seen of it. */
export interface BrokerPlace {
  readonly url: string;
  readonly driver: DriverFactory;
  /** Tells of every request from now on; a daemon of the cloud serves already. */
  tap(): Promise<BrokerTap>;
  /** Those of the topics and their servers. */
  queues(): Promise<readonly WaitingQueue[]>;
}

/** A broker, with a place for each cloud. */
export interface MatrixBroker {
  readonly transport: TransportName;
  place(): Promise<BrokerPlace>;
}

export function onRabbit(node: RabbitNode): MatrixBroker {
  return { transport: 'rabbit', place: async () => new RabbitPlace(node, await node.vhost()) };
}

/** The same by AMQP 1.0; the node has the plugin. */
export function onAmqp10(node: RabbitNode): MatrixBroker {
  const place = async (): Promise<BrokerPlace> =>
    new RabbitPlace(node, (await node.vhost()).replace(/^rabbit:/, 'amqp10:'), amqp10Driver);
  return { transport: 'amqp10', place };
}

export function onRedis(server: RedisProcess): MatrixBroker {
  return { transport: 'redis', place: () => Promise.resolve(new RedisPlace(server)) };
}

/** A broker of our own, and what ends it. */
export async function startBroker(
  transport: TransportName,
): Promise<{ readonly broker: MatrixBroker; readonly dispose: () => Promise<void> }> {
  if (transport !== 'redis') {
    const node = await RabbitNode.start({ plugins: ['rabbitmq_amqp1_0'] });
    const broker = transport === 'rabbit' ? onRabbit(node) : onAmqp10(node);
    return { broker, dispose: () => node.dispose() };
  }
  const server = await RedisProcess.start({ config: NOT_SAVED });
  return { broker: onRedis(server), dispose: () => server.dispose() };
}
