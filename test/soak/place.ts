import { setTimeout as pause } from 'node:timers/promises';
import { DIRECTIONS } from '../support/rigs/fault-link.js';
import { FaultProxy } from '../support/rigs/fault-proxy.js';
import { RabbitNode } from '../support/rigs/rabbitmq.js';
import { RedisProcess, SAVED } from '../support/rigs/redis-process.js';
import { RedisView } from '../support/rigs/redis-view.js';
import type { Promises, Stored } from './evidence.js';
import type { FaultKind, PlannedFault } from './plan.js';
import { SERVERS, TOPIC } from './role.js';

export const DRIVERS = ['memory', 'rabbit', 'redis', 'amqp10'] as const;
export type DriverName = (typeof DRIVERS)[number];

/** When a handler starts: `docs/design/decisions.md` 1. */
export const ACCEPTANCES = ['confirmed', 'written'] as const;
type Acceptance = Promises['acceptance'];

/** A broker, the way to it, and what can be done to both. */
export interface Place {
  readonly url: string;
  readonly hasNotifications: boolean;
  readonly kinds: readonly FaultKind[];
  readonly promises: Promises;
  /** Resolves when it is over. */
  strike(fault: PlannedFault): Promise<void>;
  /** What waits or is held by somebody, by where it is; undefined when that cannot be seen. */
  stored(): Promise<Stored | undefined>;
  dispose(): Promise<void>;
}

/** What differs between brokers. */
interface Broker {
  kill(): Promise<void>;
  stop(): Promise<void>;
  start(): Promise<void>;
  /** Ends subscriptions and leaves connections. */
  cancel(which: number): Promise<void>;
  stored(): Promise<Stored>;
  dispose(): Promise<void>;
}

const PROCESS_FAULTS: readonly FaultKind[] = [
  'broker-kill',
  'broker-restart',
  'cut',
  'cut-all',
  'stall',
  'black-hole',
  'cancel',
  'server-roll',
  'server-kill',
];
const LISTENER_FAULTS: readonly FaultKind[] = ['listener-roll', 'listener-kill'];

/** Of the drivers, so that a lost link is noticed and back soon. */
const HEARTBEAT_S = 2;
/** Less than a heartbeat notices, and more than all of them need. */
const STALL_MS = 1_000;
const BLACK_HOLE_MS = { least: 3_000, more: 6_000 };
const RABBIT = `amqp_durable_queues=true&heartbeat_timeout_threshold=${HEARTBEAT_S}&connect_timeout=2&kombu_reconnect_delay=0.1&rabbit_interval_max=2`;
const REDIS = `heartbeat=1&command_timeout=${HEARTBEAT_S}&connect_timeout=2&lease=4&retry_interval_max=1`;

/** A broker that is a process, behind a proxy that does what networks do. */
class NetworkPlace implements Place {
  readonly url: string;
  readonly hasNotifications: boolean;
  readonly kinds: readonly FaultKind[];
  readonly promises: Promises;
  readonly #broker: Broker;
  readonly #proxy: FaultProxy;

  constructor(
    broker: Broker,
    proxy: FaultProxy,
    parts: Pick<Place, 'url' | 'hasNotifications' | 'promises'>,
  ) {
    this.#broker = broker;
    this.#proxy = proxy;
    this.url = proxy.url(parts.url);
    this.hasNotifications = parts.hasNotifications;
    this.promises = parts.promises;
    this.kinds = parts.hasNotifications ? [...PROCESS_FAULTS, ...LISTENER_FAULTS] : PROCESS_FAULTS;
  }

  async strike({ kind, size, which }: PlannedFault): Promise<void> {
    switch (kind) {
      case 'broker-kill':
        await this.#broker.kill();
        return this.#broker.start();
      case 'broker-restart':
        await this.#broker.stop();
        return this.#broker.start();
      case 'cancel':
        return this.#broker.cancel(which);
      case 'cut':
        this.#proxy.links[Math.floor(which * this.#proxy.links.length)]?.cut(size < 0.5 ? 'fin' : 'rst');
        return;
      case 'cut-all':
        this.#proxy.cut(size < 0.5 ? 'fin' : 'rst');
        return;
      case 'stall':
        this.#proxy.blackHole('both');
        await pause(STALL_MS * size);
        return this.#proxy.heal();
      case 'black-hole':
        this.#proxy.blackHole([...DIRECTIONS, 'both' as const][Math.floor(which * 3)]);
        await pause(BLACK_HOLE_MS.least + BLACK_HOLE_MS.more * size);
        return this.#proxy.heal();
      default:
        throw new RangeError(`${kind} is done to a process`);
    }
  }

  stored(): Promise<Stored> {
    return this.#broker.stored();
  }

  async dispose(): Promise<void> {
    await this.#proxy.close();
    await this.#broker.dispose();
  }
}

async function rabbitPlace(scheme: 'rabbit' | 'amqp10', acceptance: Acceptance): Promise<Place> {
  const node = await RabbitNode.start(scheme === 'amqp10' ? { plugins: ['rabbitmq_amqp1_0'] } : {});
  const vhost = 'soak';
  await node.vhost(vhost);
  await node.view.storeObjects();
  const broker: Broker = {
    kill: () => node.kill(),
    stop: () => node.stop(),
    start: () => node.start(),
    // Of a server's own queue, to which nothing is cast: what waits in it are calls, whose callers are told by their time-outs.
    cancel: (which) =>
      node.view.deleteQueue(vhost, `${TOPIC}.${SERVERS[Math.floor(which * SERVERS.length)] ?? ''}`),
    stored: async () => {
      const queues = (await node.view.queues(vhost)).filter(({ name }) => !/^reply_|_fanout_/.test(name));
      return new Map(queues.map(({ name, messages }) => [name, messages]));
    },
    dispose: () => node.dispose(),
  };
  const options = scheme === 'rabbit' ? `${RABBIT}&acceptance=${acceptance}` : RABBIT;
  return new NetworkPlace(broker, await FaultProxy.start({ port: node.port }), {
    url: `${node.url(vhost, { scheme })}?${options}`,
    hasNotifications: scheme === 'rabbit',
    promises: { acceptance: scheme === 'rabbit' ? acceptance : 'written', killForgets: true },
  });
}

async function redisPlace(acceptance: Acceptance): Promise<Place> {
  const server = await RedisProcess.start({ config: SAVED });
  const view = new RedisView(server);
  const broker: Broker = {
    kill: () => server.kill(),
    stop: () => server.stop(),
    start: () => server.start(),
    // All leases are over at once; the first who renews its own takes what the others hold.
    cancel: async () => {
      for (const key of (await view.keys()).filter((name) => name.endsWith(':leases')))
        for (const consumer of (await server.ask('ZRANGE', key, 0, -1)) as string[])
          // texts, as Redis documents it
          await server.ask('ZADD', key, 'XX', 0, consumer);
    },
    stored: () => storedIn(server),
    dispose: () => server.dispose(),
  };
  return new NetworkPlace(broker, await FaultProxy.start({ port: server.port }), {
    url: server.url(`${REDIS}&acceptance=${acceptance}`),
    hasNotifications: true,
    promises: { acceptance, killForgets: false },
  });
}

/** The lists of a Redis but its bells, and what its consumers hold. */
async function storedIn(server: RedisProcess): Promise<Stored> {
  const stored = new Map<string, number>();
  for (const key of await new RedisView(server).keys()) {
    const type = await server.ask('TYPE', key);
    if (type === 'list' && !key.endsWith(':bell')) stored.set(key, Number(await server.ask('LLEN', key)));
    if (key.includes(':held:')) stored.set(key, Number(await server.ask('HLEN', key)));
  }
  return stored;
}

function memoryPlace(): Place {
  return {
    url: 'memory://soak/',
    hasNotifications: true,
    kinds: ['server-roll', 'server-close', 'listener-roll', 'listener-close'],
    promises: { acceptance: 'confirmed', killForgets: false },
    strike: ({ kind }) => Promise.reject(new RangeError(`${kind} is nothing that memory has`)),
    stored: () => Promise.resolve(undefined),
    dispose: () => Promise.resolve(),
  };
}

/** @param acceptance - where the driver has both: AMQP 1.0 has `written`, and in memory both are one */
export function startPlace(driver: DriverName, acceptance: Acceptance): Promise<Place> {
  if (driver === 'memory') return Promise.resolve(memoryPlace());
  return driver === 'redis' ? redisPlace(acceptance) : rabbitPlace(driver, acceptance);
}
