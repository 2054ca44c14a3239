import type { ServerSource } from '@ebbgate/core';

/** The one group of every stream: its consumers are the listeners. */
export const GROUP = 'servers';
/** Between the parts of a key and of a consumer's name; in no encoded name. */
const BETWEEN_NAMES = '/';

/**
 * A name as it is in keys: letters, digits and `_ - .` stay, all else is percent-encoded, so that no two names, nor a name
 * and what surrounds it, can be taken for one another. A lone surrogate, which UTF-8 cannot hold, is `%u` and its number.
 */
export function encodeName(name: string): string {
  return name.replace(/[^\w.-]/gu, (sign) =>
    /^\p{Surrogate}$/u.test(sign) ? `%u${sign.charCodeAt(0).toString(16)}` : encodeSign(sign),
  );
}

/** `encodeURIComponent` leaves these as they are. */
function encodeSign(sign: string): string {
  return "!~*'()".includes(sign)
    ? `%${sign.charCodeAt(0).toString(16).toUpperCase()}`
    : encodeURIComponent(sign);
}

/** A stream that servers share, and the one for what they gave back, which is read first. */
export interface QueueKeys {
  readonly stream: string;
  readonly back: string;
}

/**
 * The keys of one topic of one exchange. They share a hash tag, and with it a slot of a cluster, so that one script may
 * touch all of them.
 */
export class TopicKeys {
  /** What each of its keys begins with. */
  readonly base: string;
  readonly topic: QueueKeys;
  /** Names of those that get fanouts, by the time until which they are there. */
  readonly subscribers: string;
  /** Consumers, by the time until which what they hold is theirs. */
  readonly leases: string;
  /** Consumers that are no more, by the time at which they are looked at once more. */
  readonly ended: string;

  constructor(prefix: string, exchange: string, topic: string) {
    this.base = `${prefix}:{${encodeName(exchange)}${BETWEEN_NAMES}${encodeName(topic)}}`;
    this.topic = queueKeys(`${this.base}:topic`);
    this.subscribers = `${this.base}:fanout`;
    this.leases = `${this.base}:leases`;
    this.ended = `${this.base}:ended`;
  }

  server(server: string): QueueKeys {
    return queueKeys(`${this.base}:server:${encodeName(server)}`);
  }

  /** @param listener - random, without signs that would be encoded */
  fanout(listener: string): string {
    return `${this.subscribers}:${listener}`;
  }
}

function queueKeys(stream: string): QueueKeys {
  return { stream, back: `${stream}:back` };
}

/** Who reads: the server, its listener, and how often that one has subscribed. Scripts find the keys of both by it. */
export function consumerName(server: string, listener: string, time: number): string {
  return [encodeName(server), listener, String(time)].join(BETWEEN_NAMES);
}

/** All keys of a driver. */
export class Keys {
  readonly #prefix: string;

  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  ofTopic({ exchange, topic }: Pick<ServerSource, 'exchange' | 'topic'>): TopicKeys {
    return new TopicKeys(this.#prefix, exchange, topic);
  }

  /** The address comes from peers: any text. */
  ofReplies(address: string): string {
    return `${this.#prefix}:{${encodeName(address)}}:replies`;
  }
}
