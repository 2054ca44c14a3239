import type { Destination, NotificationSource, ServerSource } from '@ebbgate/core';
import { brokerName } from '../broker-names.js';
import type { RabbitSettings } from '../options.js';
import { notificationTopology, routeTo, type SourceTopology } from '../topology.js';

/** Where a message goes, as the broker has it. */
export interface TargetNode {
  readonly address: string;
  readonly isFanout: boolean;
  /** The queue behind it, where the broker tells only a receiver that there is none. */
  readonly asksAt: string | undefined;
  /** Where a notification waits for a listener: declared before the first is sent. */
  readonly waitsIn: SourceTopology | undefined;
  /** For errors. */
  readonly place: string;
}

/** What has names that are addressed: each of its members is a text. */
type Named = Destination | ServerSource | { readonly pool: string };

/** The addresses of one kind of broker, and how far its AMQP 1.0 goes. */
export interface AddressForm {
  readonly name: 'rabbitmq-3' | 'rabbitmq-4' | 'plain';
  /** The queues are declared over AMQP 0-9-1. */
  readonly declares: boolean;
  /**
   * How credit is taken back. `drain`, as AMQP 1.0 has it. `flow`: by one that grants none, which the broker answers: RabbitMQ 3.10
   * answers a drain of a classic queue by ending the session.
   */
  readonly takesBack: 'drain' | 'flow';
  /** `released` says that the message had nowhere to go; elsewhere it says: not now. */
  readonly releasedIsUnroutable: boolean;
  /** The name under which a source is declared and addressed. */
  readonly reachable: <Names extends Named>(names: Names) => Names;
  /** A queue, by its name at the broker. */
  queue(name: string): string;
  target(settings: RabbitSettings, destination: Destination): TargetNode;
}

/** RabbitMQ 3 knows this one escape: a name that holds it by itself would be another name. */
const ESCAPED_SLASH = /%((?:25)*)2F/g;

/** Bytes of UTF-8, each as a character: RabbitMQ 3 makes bytes of characters, and knows none beyond the first 256. */
function asBytes(name: string): string {
  return Buffer.from(name.replaceAll('/', '%2F')).toString('latin1');
}

function reachableOn3<Names extends Named>(names: Names): Names {
  const entries = Object.entries(names).map(([part, value]: [string, string]) => [
    part,
    value.replace(ESCAPED_SLASH, '%25$12F'),
  ]);
  return Object.fromEntries(entries) as Names; // the same members, each a text
}

/** RabbitMQ 3 with its plugin: a send to an exchange cannot tell that no queue takes it, so the queue is asked for. */
const rabbitMq3: AddressForm = {
  name: 'rabbitmq-3',
  declares: true,
  takesBack: 'flow',
  releasedIsUnroutable: false,
  reachable: reachableOn3,
  queue: (name) => `/amq/queue/${asBytes(name)}`,
  target(settings, destination) {
    const reachable = reachableOn3(destination);
    const { exchange, routingKey } = routeTo(settings, reachable);
    const waitsIn = waitingPlace(settings, reachable);
    const place = placeOf(destination);
    const isFanout = destination.kind === 'fanout';
    // Also with a fanout a key: without one RabbitMQ 3 fails to hand the message to peers that speak 0-9-1.
    const key = asBytes(isFanout ? 'fanout' : routingKey);
    const address = exchange ? `/exchange/${asBytes(exchange.name)}/${key}` : this.queue(routingKey);
    const asksAt = isFanout || waitsIn ? undefined : this.queue(routingKey);
    return { address, isFanout, asksAt, waitsIn, place };
  },
};

/** RabbitMQ 4, version 2 of its addresses. */
const rabbitMq4: AddressForm = {
  name: 'rabbitmq-4',
  declares: true,
  takesBack: 'drain',
  releasedIsUnroutable: true,
  reachable: (names) => names,
  queue: (name) => `/queues/${encodeURIComponent(name)}`,
  target(settings, destination) {
    const { exchange, routingKey } = routeTo(settings, destination);
    const key = routingKey === '' ? '' : `/${encodeURIComponent(routingKey)}`;
    const address = exchange
      ? `/exchanges/${encodeURIComponent(exchange.name)}${key}`
      : this.queue(routingKey);
    const isFanout = destination.kind === 'fanout';
    const waitsIn = waitingPlace(settings, destination);
    return { address, isFanout, asksAt: undefined, waitsIn, place: placeOf(destination) };
  },
};

const encoded = (name: string): string => encodeURIComponent(brokerName(name));

/** Any other broker: names of our own that tell by their beginning who receives. */
const plain: AddressForm = {
  name: 'plain',
  declares: false,
  takesBack: 'drain',
  releasedIsUnroutable: false,
  reachable: (names) => names,
  queue: (name) => name,
  target(_settings, destination) {
    const isFanout = destination.kind === 'fanout';
    const place = placeOf(destination);
    const address = plainAddress(destination);
    return { address, isFanout, asksAt: undefined, waitsIn: undefined, place };
  },
};

/** `queue/EXCHANGE/TOPIC`, `queue/EXCHANGE/TOPIC/SERVER`, `fanout/EXCHANGE/TOPIC`; replies as the caller says. */
export function plainAddress(destination: Destination): string {
  if (destination.kind === 'reply') return destination.address;
  const { kind, exchange, topic } = destination;
  const base = `${kind === 'fanout' ? 'fanout' : 'queue'}/${encoded(exchange)}/${encoded(topic)}`;
  return kind === 'server' ? `${base}/${encoded(destination.server)}` : base;
}

/** The names of what notifications are received from, as they are declared and addressed. */
export function reachableSource(
  { reachable }: AddressForm,
  { topics, pool, ephemeral }: NotificationSource,
): NotificationSource {
  return {
    topics: topics.map(({ exchange, topic }) => reachable({ kind: 'notification', exchange, topic })),
    pool: pool === undefined ? undefined : reachable({ pool }).pool,
    ephemeral,
  };
}

function waitingPlace(settings: RabbitSettings, destination: Destination): SourceTopology | undefined {
  if (destination.kind !== 'notification') return undefined;
  return notificationTopology(settings, { topics: [destination], pool: undefined, ephemeral: false });
}

function placeOf(destination: Destination): string {
  if (destination.kind === 'reply') return `reply queue "${destination.address}"`;
  const server = destination.kind === 'server' ? `server "${destination.server}" of ` : '';
  return `${destination.kind === 'fanout' ? 'fanout of ' : server}topic "${destination.topic}"`;
}

export const FORMS: Readonly<Record<AddressForm['name'], AddressForm>> = {
  'rabbitmq-3': rabbitMq3,
  'rabbitmq-4': rabbitMq4,
  plain,
};

/** The form that fits what the peer says of itself; undefined: it is no RabbitMQ. */
export function detectedForm(properties: unknown): AddressForm | undefined {
  if (typeof properties !== 'object' || properties === null) return undefined;
  const { product, version } = properties as Readonly<Record<string, unknown>>; // both are looked at
  if (product !== 'RabbitMQ') return undefined;
  return /^[0-3]\./.test(String(version)) ? rabbitMq3 : rabbitMq4;
}
