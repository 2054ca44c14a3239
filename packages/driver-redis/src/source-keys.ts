import type { ServerSource } from '@ebbgate/core';
import type { Keys } from './keys.js';

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
  readonly held: (consumer: string) => string;
}

/** @param listener - random */
export function sourceKeys(keys: Keys, source: ServerSource, listener: string): SourceKeys {
  const ofTopic = keys.ofTopic(source);
  const { base, declared, subscribers, leases, topic } = ofTopic;
  const queues = [topic, ofTopic.server(source.server), ofTopic.fanout(listener)];
  return {
    ...{ base, declared, subscribers, leases },
    members: ofTopic.members(source.server),
    queues: queues.flatMap(({ list, back, bell }) => [list, back, bell]),
    names: queues.map(({ list }) => list.slice(base.length + 1)),
    bells: queues.map(({ bell }) => bell),
    ownBell: ofTopic.fanout(listener).bell,
    held: (consumer) => ofTopic.held(consumer),
  };
}
