import type { DriverFactory } from '@ebbgate/core';
import { rabbitDriver } from '@ebbgate/driver-amqp';
import { redisDriver } from '@ebbgate/driver-redis';
import { startBroker, startRedis } from './measure.js';

/** A private broker, and how it is reached. */
export interface OneBroker {
  readonly url: string;
  readonly driver: DriverFactory;
  readonly dispose: () => Promise<void>;
}

/** @throws RangeError for another than rabbit and redis */
export async function startOne(transport: string): Promise<OneBroker> {
  if (transport === 'redis') {
    const store = await startRedis();
    return { url: store.url(), driver: redisDriver, dispose: () => store.dispose() };
  }
  if (transport !== 'rabbit') throw new RangeError('--transport must be rabbit or redis');
  const broker = await startBroker();
  return { url: await broker.vhost(), driver: rabbitDriver, dispose: () => broker.dispose() };
}
