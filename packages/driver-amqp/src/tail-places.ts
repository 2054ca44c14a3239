import type { Destination, TailSource } from '@ebbgate/core';
import { brokerName } from './broker-names.js';

/** Where the requests of a topic pass at the broker, and where one that passes there goes. */
export interface TailPlaces {
  readonly topic: { readonly exchange: string; readonly key: string };
  /** The exchange of its fanouts; undefined when one server is asked for. */
  readonly fanout: string | undefined;
  /** Undefined: it is no concern of the topic. */
  destinationOf(exchange: string, routingKey: string): Destination | undefined;
}

/** The places of the topic, or of the one server of it. */
export function tailPlaces(source: TailSource): TailPlaces {
  const { exchange, topic, server } = source;
  const all = brokerName(topic);
  const one = server === undefined ? undefined : brokerName(`${topic}.${server}`);
  const topicExchange = brokerName(exchange);
  const fanoutExchange = brokerName(`${topic}_fanout`);
  return {
    topic: { exchange: topicExchange, key: one ?? `${all}.#` }, // no word, or any, after the topic
    fanout: one === undefined ? fanoutExchange : undefined,
    destinationOf(from, key) {
      if (from === '') return { kind: 'reply', address: key };
      if (from === fanoutExchange) return one === undefined ? { kind: 'fanout', exchange, topic } : undefined;
      if (from !== topicExchange) return undefined;
      if (server !== undefined) return key === one ? { kind: 'server', exchange, topic, server } : undefined;
      if (key === all) return { kind: 'topic', exchange, topic };
      const isServer = key.startsWith(`${all}.`);
      return isServer ? { kind: 'server', exchange, topic, server: key.slice(all.length + 1) } : undefined;
    },
  };
}
