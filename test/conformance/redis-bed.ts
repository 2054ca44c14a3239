import {
  bytesBody,
  createTransport,
  Deadline,
  type Delivery,
  type Destination,
  type Listener,
  type ServerSource,
  type Transport,
  uniqueId,
} from '@ebbgate/core';
import { redisDriver } from '@ebbgate/driver-redis';
import { CapturedLog } from '../support/captured-log.js';
import { eventually } from '../support/rigs/deadline.js';
import type { RedisProcess } from '../support/rigs/redis-process.js';

/** One side of a test: a transport, its log, and what has arrived at it. */
export class Side {
  readonly transport: Transport;
  readonly log: CapturedLog;
  readonly arrived: Delivery[] = [];
  readonly errors: Error[] = [];
  /** How often a subscription was lost. */
  losses = 0;

  constructor(url: string) {
    this.log = new CapturedLog();
    this.transport = createTransport(url, { drivers: [redisDriver], logger: this.log });
    this.transport.events.on('error', (error) => this.errors.push(error));
    this.transport.events.on('listener', ({ subscribed }) => (this.losses += subscribed ? 0 : 1));
  }

  listen(source: ServerSource, credit = 10): Promise<Listener> {
    return this.transport.listen(source, { credit }, (delivery) => this.arrived.push(delivery));
  }

  /** @param expiresInMs - the deadline of the message, if it has one */
  async send(to: Destination, text: string, expiresInMs?: number): Promise<void> {
    const deadline = expiresInMs === undefined ? undefined : Deadline.after(expiresInMs);
    const message = { id: uniqueId(), body: bytesBody(Buffer.from(text)), deadline, expirationMs: undefined };
    const options = { deadline: Deadline.after(20_000), mandatory: true, retry: undefined };
    await this.transport.publish(to, message, options);
  }

  get texts(): string[] {
    return this.arrived.map(({ message }) => Buffer.from(message.body.encode()).toString());
  }

  async hasArrived(count: number): Promise<void> {
    await eventually(`${String(count)} have arrived`, 10_000, () => this.arrived.length >= count);
  }

  get subscribed(): boolean {
    return this.transport.status().listeners.every(({ subscribed }) => subscribed);
  }
}

/** What one queue has at the store, by the key of its list, and how much its consumers hold. */
export async function queueState(
  redis: RedisProcess,
  list: string,
): Promise<{ length: number; pending: number; consumers: number }> {
  const base = list.slice(0, list.lastIndexOf('}') + 1);
  const holders = (await redis.ask('keys', `${base}:held:*`)) as string[]; // texts, as Redis documents it
  const held = await Promise.all(holders.map(async (key) => Number(await redis.ask('hlen', key))));
  return {
    length: Number(await redis.ask('llen', list)) + Number(await redis.ask('llen', `${list}:back`)),
    pending: held.reduce((sum, count) => sum + count, 0),
    consumers: Number(await redis.ask('zcard', `${base}:leases`)),
  };
}

/** How often each command was run, until now. */
export async function commandCounts(redis: RedisProcess): Promise<ReadonlyMap<string, number>> {
  const info = String(await redis.ask('info', 'commandstats'));
  return new Map(
    [...info.matchAll(/cmdstat_([^:]+):calls=(\d+)/g)].map(([, name, calls]) => [name ?? '', Number(calls)]),
  );
}
