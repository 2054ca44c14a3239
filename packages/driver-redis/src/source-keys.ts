import { ConfigurationError, type NotificationSource, type ServerSource, type Source } from '@ebbgate/core';
import { type Keys, poolsOf, type QueueKeys } from './keys.js';

/** A script tells the queues of a listener apart by one byte. */
const MOST_QUEUES = 255;

/** All keys of one listener. */
export interface SourceKeys {
  readonly base: string;
  readonly declared: string;
  /** What it declares. */
  readonly members: readonly string[];
  readonly subscribers: string;
  readonly leases: string;
  /** Of each of its queues: the list, that of what was given back, the bell. */
  readonly queues: readonly string[];
  /** What their lists have after the base. */
  readonly names: readonly string[];
  readonly bells: readonly string[];
  /** Of the queue that is its own. */
  readonly ownBell: string;
  /** The first part of the names of its consumers. */
  readonly reader: string;
  /** The list of a pool, and where it is to be named: one for each topic. */
  readonly pool:
    { readonly list: string; readonly namedIn: readonly string[]; readonly ephemeral: boolean } | undefined;
}

/** What a consumer has fetched and not settled. */
export function heldBy(base: string, consumer: string): string {
  return `${base}:held:${consumer}`;
}

/** @param listener - random */
export function sourceKeys(keys: Keys, source: Source, listener: string): SourceKeys {
  return 'topics' in source ? notificationKeys(keys, source, listener) : serverKeys(keys, source, listener);
}

function serverKeys(keys: Keys, source: ServerSource, listener: string): SourceKeys {
  const ofTopic = keys.ofTopic(source);
  const { base, declared, subscribers, leases, topic } = ofTopic;
  const shared = [topic, ofTopic.server(source.server)];
  return {
    ...{ base, declared, subscribers, leases, reader: source.server, pool: undefined },
    members: ofTopic.members(source.server),
    ...queueKeysOf(base, [...shared, ofTopic.fanout(listener)]),
  };
}

/** A pool that is this listener's alone has the list that is its own. */
function notificationKeys(keys: Keys, source: NotificationSource, listener: string): SourceKeys {
  const all = keys.ofNotifications();
  const { base, declared, subscribers, leases } = all;
  const topics = source.topics.map(({ exchange, topic }) => all.topic(exchange, topic));
  const own = all.fanout(listener);
  const pool = source.ephemeral ? own : source.pool === undefined ? undefined : all.pool(source.pool);
  const shared = pool === undefined ? topics : source.ephemeral ? [] : [pool];
  if (shared.length >= MOST_QUEUES)
    throw new ConfigurationError(
      `A listener on Redis has at most ${String(MOST_QUEUES - 1)} topics with a priority, and not ${String(shared.length)}`,
    );
  return {
    ...{ base, declared, subscribers, leases, reader: 'notifications' },
    members: shared.map(({ list }) => nameIn(base, list)),
    ...queueKeysOf(base, [...shared, own]),
    pool: pool && { list: pool.list, namedIn: topics.map(poolsOf), ephemeral: source.ephemeral },
  };
}

/** @param queues - the last one is its own */
function queueKeysOf(
  base: string,
  queues: readonly QueueKeys[],
): Pick<SourceKeys, 'queues' | 'names' | 'bells' | 'ownBell'> {
  const bells = queues.map(({ bell }) => bell);
  return {
    queues: queues.flatMap(({ list, back, bell }) => [list, back, bell]),
    names: queues.map(({ list }) => nameIn(base, list)),
    bells,
    ownBell: bells.at(-1) ?? '',
  };
}

const nameIn = (base: string, list: string): string => list.slice(base.length + 1);
