import { createHash } from 'node:crypto';
import type { Transport } from '@ebbgate/core';
import { createRedisDriver, type RedisOptions } from '@ebbgate/driver-redis';
import { eventually } from '../support/rigs/deadline.js';
import { FaultProxy } from '../support/rigs/fault-proxy.js';
import type { RedisProcess } from '../support/rigs/redis-process.js';
import { RedisView } from '../support/rigs/redis-view.js';
import { RespPeer } from '../support/rigs/resp-peer.js';
import { savedRedis } from '../support/rigs/saved-redis.js';
import { DriverBed } from './bed.js';

/** Short waits, so that what was lost is noticed, and back soon. */
export const FAST: RedisOptions = Object.freeze({
  command_timeout: 1.5,
  connect_timeout: 1.5,
  heartbeat: 1,
  retry_interval: 0.02,
  retry_interval_max: 0.5,
});

/** What is held belongs to its holder for so long after its last sign of life. */
export const LEASE_MS = 800;
export const SHORT_LEASE: RedisOptions = Object.freeze({
  lease: LEASE_MS / 1000,
  heartbeat: LEASE_MS / 4000,
});

/** What a test of the Redis driver works with, whatever server it is against. */
export class RedisDriverBed extends DriverBed<RedisOptions> {
  constructor() {
    super((options) => createRedisDriver({ ...FAST, ...options }));
  }

  /** Does what takes the connection away; resolves when a transport has lost it. It may be back already. */
  async lose(transport: Transport, how: () => unknown): Promise<void> {
    let lost = false;
    const deaf = transport.events.on('connection', ({ state }) => void (lost ||= state === 'disconnected'));
    await how();
    await eventually('the loss', 20_000, () => lost);
    deaf();
  }

  /** Resolves when the connection is there and all that listens is subscribed. */
  async whole(...transports: readonly Transport[]): Promise<void> {
    await eventually('the connection and all subscriptions', 20_000, () => transports.every(isWhole));
  }
}

/** Texts and hashes of the scripts with this word, of those that were given to the store: signs to know their calls by. */
export function scriptsWith(peer: RespPeer, word: string): string[] {
  const texts = peer.received('SCRIPT LOAD').map(({ args }) => String(args[1]));
  const found = texts.filter((text) => text.includes(word));
  return found.flatMap((text) => [text, createHash('sha1').update(text).digest('hex')]);
}

/** Connected, and subscribed to all that is listened to. */
export function isWhole(transport: Transport): boolean {
  const { connection, listeners } = transport.status();
  return connection === 'connected' && listeners.every(({ subscribed }) => subscribed);
}

/** The Redis of the fault tests, emptied, with and without a proxy in front of it. */
export class RedisBed extends RedisDriverBed {
  readonly server: RedisProcess;
  readonly view: RedisView;
  readonly proxy: FaultProxy;
  readonly direct: string;
  /** Through the proxy. */
  readonly url: string;

  private constructor(server: RedisProcess, proxy: FaultProxy) {
    super();
    this.server = server;
    this.view = new RedisView(server);
    this.proxy = proxy;
    this.direct = `redis://127.0.0.1:${server.port}/0`;
    this.url = `redis://127.0.0.1:${proxy.port}/0`;
  }

  static async start(): Promise<RedisBed> {
    const server = await savedRedis();
    await server.ask('FLUSHALL');
    const proxy = await FaultProxy.start({ port: server.port });
    const bed = new RedisBed(server, proxy);
    bed.onEnd(() => proxy.close());
    return bed;
  }

  override async end(): Promise<void> {
    await this.proxy.heal();
    await super.end();
  }

  /** A peer in front of the server, which can be told to answer in its place. */
  async peer(): Promise<RespPeer> {
    const peer = await RespPeer.start(this.server.port);
    this.onEnd(() => peer.close());
    return peer;
  }
}
