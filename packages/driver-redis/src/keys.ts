import type { ServerSource } from '@ebbgate/core';

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

/** A list, and what belongs to it. */
export interface QueueKeys {
  readonly list: string;
  /** What was given back: it is read first. */
  readonly back: string;
  /** A list on which readers block: a sign in it says that there is something. */
  readonly bell: string;
}

/** Where something is sent to: its list, and the set that says by a member that somebody has listened there. */
export interface DestinationKeys {
  readonly list: string;
  readonly bell: string;
  readonly declared: string;
  readonly member: string;
}

/**
 * The keys of one topic of one exchange. They share a hash tag, and with it a slot of a cluster, so that one script may
 * touch all of them.
 */
export class TopicKeys {
  /** What each of its keys begins with. */
  readonly base: string;
  readonly topic: QueueKeys;
  /** Names of the queues that were declared. */
  readonly declared: string;
  /** Names of those that get fanouts, by the time until which they are there. */
  readonly subscribers: string;
  /** Consumers, by the time until which what they hold is theirs. */
  readonly leases: string;

  constructor(prefix: string, exchange: string, topic: string) {
    this.base = `${prefix}:{${encodeName(exchange)}${BETWEEN_NAMES}${encodeName(topic)}}`;
    this.topic = queueKeys(`${this.base}:${TOPIC}`);
    this.declared = `${this.base}:declared`;
    this.subscribers = `${this.base}:fanout`;
    this.leases = `${this.base}:leases`;
  }

  server(server: string): QueueKeys {
    return queueKeys(`${this.base}:${serverMember(server)}`);
  }

  /** @param listener - random, without signs that would be encoded */
  fanout(listener: string): QueueKeys {
    return queueKeys(`${this.subscribers}:${listener}`);
  }

  /** What a server declares. */
  members(server: string): readonly string[] {
    return [TOPIC, serverMember(server)];
  }

  /** Of the topic, or of one server. */
  destination(server: string | undefined): DestinationKeys {
    const { list, bell } = server === undefined ? this.topic : this.server(server);
    return { list, bell, declared: this.declared, member: list.slice(this.base.length + 1) };
  }
}

const TOPIC = 'topic';

const serverMember = (server: string): string => `server:${encodeName(server)}`;

function queueKeys(list: string): QueueKeys {
  return { list, back: backOf(list), bell: `${list}:bell` };
}

/** What was given back of a list. */
export function backOf(list: string): string {
  return `${list}:back`;
}

/** The keys of one reply queue; they share a hash tag, too. */
export interface ReplyKeys extends DestinationKeys {
  /** Who reads, and how many were removed. */
  readonly state: string;
}

/**
 * The keys of notifications. All are in one slot of a cluster: a listener reads topics of several exchanges at once, and a
 * message goes into the queue of its topic and of its pools in one step.
 */
export class NotificationKeys {
  /** What each of its keys begins with. */
  readonly base: string;
  /** As those of {@link TopicKeys}: of listeners, which have private lists, too. */
  readonly declared: string;
  readonly subscribers: string;
  readonly leases: string;

  constructor(prefix: string) {
    this.base = `${prefix}:{notifications}`;
    this.declared = `${this.base}:declared`;
    this.subscribers = `${this.base}:fanout`;
    this.leases = `${this.base}:leases`;
  }

  topic(exchange: string, topic: string): QueueKeys {
    return queueKeys(`${this.base}:topic:${encodeName(exchange)}:${encodeName(topic)}`);
  }

  pool(pool: string): QueueKeys {
    return queueKeys(`${this.base}:pool:${encodeName(pool)}`);
  }

  /** @param listener - random, without signs that would be encoded */
  fanout(listener: string): QueueKeys {
    return queueKeys(`${this.subscribers}:${listener}`);
  }
}

/** The pools that get copies of what goes into the list of a topic, by the time until which they are there. */
export function poolsOf({ list }: QueueKeys): string {
  return `${list}:pools`;
}

/** Who reads: the server, its listener, and how often that one has subscribed. Scripts find the keys of both by it. */
export function consumerName(reader: string, listener: string, time: number): string {
  return [encodeName(reader), listener, String(time)].join(BETWEEN_NAMES);
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

  /** Those of all notifications. */
  ofNotifications(): NotificationKeys {
    return new NotificationKeys(this.#prefix);
  }

  /** The address comes from peers: any text. */
  ofReplies(address: string): ReplyKeys {
    const base = `${this.#prefix}:{${encodeName(address)}}`;
    const list = `${base}:replies`;
    return {
      list,
      bell: `${list}:bell`,
      declared: `${base}:declared`,
      member: 'replies',
      state: `${base}:state`,
    };
  }
}
