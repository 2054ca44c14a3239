import { randomBytes } from 'node:crypto';
import type { DriverFactory } from '@ebbgate/core';
import { redisDriver } from '@ebbgate/driver-redis';
import { PATIENCE } from '../../support/patience.js';
import { monitorRedis } from '../../support/rigs/redis-monitor.js';
import type { RedisProcess } from '../../support/rigs/redis-process.js';
import type { BrokerPlace, WaitingQueue } from './broker.js';
import { BrokerTap } from './broker-tap.js';
import { EXCHANGE } from './exchange.js';

/** What a process that was killed had fetched and not begun is given to others so late. */
const LEASE_S = 2 + PATIENCE;

/** Keys of a Redis that begin with a word of their own. */
export class RedisPlace implements BrokerPlace {
  readonly url: string;
  readonly driver: DriverFactory = redisDriver;
  readonly #server: RedisProcess;
  readonly #prefix = `matrix-${randomBytes(4).toString('hex')}`;

  constructor(server: RedisProcess) {
    this.#server = server;
    this.url = server.url(`key_prefix=${this.#prefix}&lease=${String(LEASE_S)}`);
  }

  /** Redis tells of every command that it runs. What is given back is no request: it was told before. */
  async tap(): Promise<BrokerTap> {
    const tap = new BrokerTap(() => {
      monitor.close();
    });
    const monitor = await monitorRedis(this.#server.port, (command) => {
      const [name = '', key = '', ...entries] = command;
      const queue = name.toUpperCase() === 'RPUSH' ? this.#queueOf(key) : undefined;
      if (!queue || queue.isBack) return;
      for (const entry of entries) tap.take(queue.topic, queue.host, entry.slice(entry.indexOf('\n') + 1));
    });
    return tap;
  }

  async queues(): Promise<readonly WaitingQueue[]> {
    const keys = (await this.#server.ask('KEYS', `${this.#prefix}:*`)) as string[];
    const messages = new Map<string, number>();
    for (const key of keys) {
      const queue = this.#queueOf(key);
      if (!queue) continue;
      const name = queue.host === null ? queue.topic : `${queue.topic}.${queue.host}`;
      messages.set(name, (messages.get(name) ?? 0) + Number(await this.#server.ask('LLEN', key)));
    }
    return [...messages].map(([name, count]) => ({ name, messages: count }));
  }

  /** Of a list of a topic, or of a server, of this cloud. */
  #queueOf(
    key: string,
  ): { readonly topic: string; readonly host: string | null; readonly isBack: boolean } | undefined {
    const pattern = new RegExp(
      `^${this.#prefix}:\\{${EXCHANGE}/([^}]*)\\}:(?:topic|server:([^:]*))(:back)?$`,
    );
    const [, topic, host = null, back] = pattern.exec(key) ?? [];
    return topic === undefined ? undefined : { topic, host, isBack: back !== undefined };
  }
}
