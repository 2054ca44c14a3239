import { decodeEnvelopedBytes, type PlainObject, type PlainValue } from '@ebbgate/core';
import {
  type NotificationEndpoint,
  NotificationListener,
  type NotificationListenerOptions,
  Notifier,
  PRIORITIES,
  type Priority,
  type ReceivedNotification,
  REQUEUE,
} from '@ebbgate/notify';
import type { AmqpEvent } from '../../support/rigs/amqp-peer.js';
import { eventually, within } from '../../support/rigs/deadline.js';
import { type Capture, textIn, type WireEvent, wireEvents, without } from './capture.js';
import { camelCase, type OurSide, recordedForm, recordedProperties } from './our-side.js';
import type { Settled } from './server.js';

const LIMIT_MS = 8_000;
const DECLARING = /^(?:exchange\.declare|queue\.(?:declare|bind)|basic\.consume)$/;

type Table = Readonly<Record<string, unknown>>;

/** How our listener is made in a recorded case, where nothing is said: it handles all. */
export interface NotifyCase {
  readonly options?: NotificationListenerOptions & { readonly batch?: undefined };
  /** The messages that its endpoint hands back; by number, from 1. */
  readonly back?: readonly number[];
  /** What becomes of the deliveries; acknowledged where nothing is said. */
  readonly settled?: readonly Settled[];
}

/** One row for each recorded case of notifications. */
export const NOTIFY_CASES: Readonly<Record<string, NotifyCase>> = {
  notify_batch: {},
  // W35: what an endpoint has failed with is not acknowledged as if it had been handled.
  notify_exception_acked: { back: [1], settled: ['requeue'] },
  notify_levels: {},
  notify_no_listener: {},
  notify_pool: { options: { pool: 'pool-a' } },
  notify_publisher: {},
  notify_requeue: { back: [1, 2], settled: ['requeue', 'requeue', 'ack'] },
  notify_v1: {},
  notify_v2_types: {},
  'head/notify_levels': {},
};

/** A notification of a recording: where it went, and its inner object. */
export interface RecordedNotification {
  readonly event: WireEvent;
  readonly inner: PlainObject;
  /** Without an envelope. */
  readonly isBare: boolean;
}

/** What the notifier of a case published. */
export function recordedNotifications(capture: Capture): RecordedNotification[] {
  return wireEvents(capture)
    .filter(({ method, conn }) => method === 'basic.publish' && conn.startsWith('client'))
    .map((event) => read(event));
}

function read(event: WireEvent): RecordedNotification {
  return { event, inner: decodeEnvelopedBytes(event.body), isBare: !isEnveloped(event.body) };
}

export function isEnveloped(body: Buffer): boolean {
  return 'oslo.message' in (JSON.parse(body.toString()) as object);
}

/** What was declared on one side of a case, without what is random or of the recording. */
export function recordedDeclarations(capture: Capture, conn: string): object[] {
  return wireEvents(capture)
    .filter((event) => event.conn === conn && event.dir === 'C>S' && DECLARING.test(event.method))
    .map(({ method, args }) => ({ method, args: without(args, 'consumer_tag', 'arguments__amqp_types') }));
}

/** What we declared, in the same words. */
export function ourDeclarations(events: readonly AmqpEvent[]): object[] {
  return events
    .filter(({ name }) => DECLARING.test(name))
    .map(recordedForm)
    .map(({ method, args }) => ({ method, args: without(args, 'consumer_tag') }));
}

/** Each once. */
export function distinct(declared: readonly object[]): object[] {
  return [...new Map(declared.map((one) => [JSON.stringify(one), one])).values()];
}

/** Sends again what was recorded, and gives what we published for it. */
export async function sendAgain(side: OurSide, one: RecordedNotification): Promise<AmqpEvent> {
  const { inner, isBare, event } = one;
  const key = String(event.args['routing_key']);
  const notifier = new Notifier(side.transport, {
    publisherId: textIn(inner, 'publisher_id') || null,
    topics: [key.slice(0, key.lastIndexOf('.'))],
    exchange: String(event.args['exchange']),
    drivers: [isBare ? 'messaging' : 'messagingv2'],
  });
  const sent = side.peer.received('basic.publish').length;
  const priority = textIn(inner, 'priority').toLowerCase() as Priority; // of the recorded ones
  const { payload } = inner;
  const sending = notifier.notify(priority, contextIn(inner), textIn(inner, 'event_type'), payload);
  await within(key, LIMIT_MS, sending);
  const published = side.peer.received('basic.publish')[sent];
  if (!published) throw new Error('Nothing was published');
  return published;
}

function contextIn(inner: PlainObject): Table {
  const prefix = '_context_';
  const members = Object.entries(inner).filter(([key]) => key.startsWith(prefix));
  return Object.fromEntries(members.map(([key, value]) => [key.slice(prefix.length), value]));
}

/** What can be compared of a publish. */
export function comparablePublish(args: Table, properties: Table, body: Buffer): object {
  const inner = decodeEnvelopedBytes(body);
  return {
    args: without(args, 'mandatory'), // W34
    properties,
    keys: Object.keys(inner),
    inner: without(inner, 'message_id', 'timestamp', '_unique_id'),
    ids: ['message_id', 'timestamp', '_unique_id'].map((name) => shapeOf(inner[name])),
  };
}

/** An id or a time with each digit made a 0. */
function shapeOf(value: PlainValue | undefined): string {
  return typeof value === 'string' ? value.replace(/[0-9a-f]/g, '0') : typeof value;
}

export function ourPublish(event: AmqpEvent): object {
  const { args } = recordedForm(event);
  return comparablePublish(args, recordedProperties(event), event.body ?? Buffer.alloc(0));
}

/** The listeners of a case that were given anything: their connections. */
export function recordedListeners(
  capture: Capture,
): { readonly conn: string; readonly deliveries: WireEvent[] }[] {
  const events = wireEvents(capture).filter(({ method }) => method === 'basic.deliver');
  return [...new Set(events.map(({ conn }) => conn))].map((conn) => ({
    conn,
    deliveries: events.filter((event) => event.conn === conn),
  }));
}

/** Gives our listener what the recorded one was given. */
export class ListenerReplay {
  /** What its endpoint saw, in the words of the recordings. */
  readonly seen: object[] = [];
  readonly #side: OurSide;
  readonly #row: NotifyCase;
  readonly listener: NotificationListener;

  private constructor(side: OurSide, row: NotifyCase, queues: readonly string[]) {
    this.#side = side;
    this.#row = row;
    const keys = queues.map((key) => [
      key.slice(0, key.lastIndexOf('.')),
      key.slice(key.lastIndexOf('.') + 1),
    ]);
    const targets = [...new Set(keys.map(([topic]) => topic))].map((topic) => ({ topic }));
    const wanted = PRIORITIES.filter((priority) => keys.some(([, own]) => own === priority));
    const methods = wanted.map((priority) => [priority, this.#take] as const);
    const endpoint = Object.fromEntries(methods) as NotificationEndpoint;
    const options = { requeueDelayMs: 1, ...row.options };
    this.listener = new NotificationListener(side.transport, targets, [endpoint], options);
  }

  /** @param keys - of the bindings of the recorded listener */
  static async start(side: OurSide, row: NotifyCase, keys: readonly string[]): Promise<ListenerReplay> {
    const replay = new ListenerReplay(side, row, keys);
    await within('the start', LIMIT_MS, replay.listener.start());
    return replay;
  }

  readonly #take = (_context: unknown, notification: ReceivedNotification): unknown => {
    const { priority: level, publisherId, eventType, payload, messageId, timestamp, context } = notification;
    const metadata = { message_id: messageId, timestamp };
    const ctxt = { ...context.values };
    this.seen.push({ level, ctxt, publisher_id: publisherId, event_type: eventType, payload, metadata });
    return this.#row.back?.includes(this.seen.length) ? REQUEUE : undefined;
  };

  /** Delivers one at the consumer of the queue that it came from, and gives what became of it. */
  async deliver(event: WireEvent, number: number): Promise<Settled> {
    const consumes = this.#side.peer.received('basic.consume');
    const key = this.#row.options?.pool ?? event.args['routing_key'];
    const consume = consumes.find(({ args }) => args['queue'] === key);
    if (!consume) throw new Error(`Our listener has no consumer of ${String(key)}`);
    consume.connection.deliver(consume.channel, `amq.ctag-${String(key)}`, number, {
      properties: camelCase(event.properties),
      body: event.body,
      redelivered: event.args['redelivered'] === true,
    });
    return eventually('the settling', LIMIT_MS, () => this.#settling(number));
  }

  #settling(number: number): Settled | undefined {
    const isOf = ({ args }: AmqpEvent): boolean => args['deliveryTag'] === number;
    const rejected = this.#side.peer.received('basic.reject').find(isOf);
    if (rejected) return rejected.args['requeue'] === true ? 'requeue' : 'reject';
    return this.#side.peer.received('basic.ack').some(isOf) ? 'ack' : undefined;
  }
}

/** What the endpoints of a case saw, where the recording tells; W8: no context has a member that nobody gave. */
export function recordedSeen({ outcome }: Capture): object[] | undefined {
  const received = (outcome as Readonly<Record<string, unknown>>)['received'];
  if (!Array.isArray(received)) return undefined;
  return (received as Table[]).map((one) => ({
    ...one,
    ctxt: without(one['ctxt'] as object, 'client_timeout'), // an object in each
  }));
}
