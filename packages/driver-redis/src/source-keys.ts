import type { ServerSource } from '@ebbgate/core';
import type { Keys, TopicKeys } from './keys.js';

/** Streams of which other servers read, too: what is fetched beyond the credit goes back at once. */
export const SHARED_STREAMS = 2;

/** All keys of one listener. */
export interface SourceKeys extends Pick<TopicKeys, 'base' | 'leases' | 'ended' | 'subscribers'> {
  /** In the order in which they are read: what was given back first; those of the topic, of the server, the fanouts. */
  readonly streams: readonly string[];
  /** Those of what was given back. */
  readonly backs: readonly string[];
  readonly fanout: string;
}

/** @param listener - random */
export function sourceKeys(keys: Keys, source: ServerSource, listener: string): SourceKeys {
  const ofTopic = keys.ofTopic(source);
  const server = ofTopic.server(source.server);
  const fanout = ofTopic.fanout(listener);
  const { base, leases, ended, subscribers, topic } = ofTopic;
  const streams = [topic.back, topic.stream, server.back, server.stream, fanout];
  return { base, leases, ended, subscribers, streams, backs: [topic.back, server.back], fanout };
}
