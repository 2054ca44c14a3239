import { deflateSync } from 'node:zlib';
import type { PlainObject } from '@ebbgate/core';
import { type RemoteErrorRegistry, RpcClient, type RpcClientOptions } from '@ebbgate/rpc';
import type { AmqpTable } from '../../support/rigs/amqp-fields.js';
import type { AmqpEvent } from '../../support/rigs/amqp-peer.js';
import { within } from '../../support/rigs/deadline.js';
import {
  type Capture,
  innerOf,
  isNotification,
  type Seen,
  textIn,
  textOf,
  type WireEvent,
  wireEvents,
} from './capture.js';
import { camelCase, type OurSide, recordedProperties } from './our-side.js';

const LIMIT_MS = 10_000;

/** A send of the recording, and what came of it. */
export interface Sent {
  readonly event: WireEvent;
  readonly inner: PlainObject;
  /** What arrived for it, in order. */
  readonly replies: readonly WireEvent[];
  /** What its caller saw, where the recording tells. */
  readonly seen: Seen | undefined;
}

/** What the Python client sent in a case. Parsed once: the bodies hold all that its user said. */
export function recordedSends(capture: Capture): Sent[] {
  const events = wireEvents(capture);
  const arrived = events.filter(
    ({ method, conn, dir }) => method === 'basic.deliver' && conn.startsWith('client') && dir === 'S>C',
  );
  return events
    .filter(({ method, conn }) => method === 'basic.publish' && conn.startsWith('client'))
    .filter((event) => !isNotification(event))
    .map((event) => {
      const inner = innerOf(event);
      const id = inner['_msg_id'];
      const replies = id === undefined ? [] : arrived.filter((reply) => innerOf(reply)['_msg_id'] === id);
      return { event, inner, replies, seen: seenOf(capture, event, inner) };
    });
}

function seenOf({ events, outcome }: Capture, event: WireEvent, inner: PlainObject): Seen | undefined {
  const before = events.slice(0, events.indexOf(event)).flatMap((one) => ('mark' in one ? [one.mark] : []));
  const mark = before.findLast((text) => text in outcome);
  const n = (inner['args'] as PlainObject | undefined)?.['n']; // of the recorded requests
  // Of calls at once each is named by its argument; it is answered with that.
  const key = typeof n === 'number' && inner['_msg_id'] !== undefined ? `call ${n}` : mark;
  return (
    (key === undefined ? undefined : outcome[key]?.[0]) ??
    (mark === undefined ? undefined : outcome[mark]?.[0])
  );
}

/** The reply came when nobody waited any more: after the call's time-out, or after its monitor's. */
function isLate({ event, inner }: Sent, reply: WireEvent, previous: WireEvent | undefined): boolean {
  const timeoutMs = Number(event.properties['expiration']);
  const monitorS = inner['_timeout'];
  const silence = reply.t_ms - (previous ?? event).t_ms;
  return reply.t_ms - event.t_ms > timeoutMs || (typeof monitorS === 'number' && silence > monitorS * 1000);
}

/** Sends again what the recording sent, by our client, and gives it the recorded replies. */
export class ClientReplay {
  readonly #side: OurSide;
  readonly #remoteErrors: RemoteErrorRegistry;
  readonly #tags = new Map<string, number>();
  #current: Sent | undefined;
  /** What our client published, by the recorded send. */
  readonly published: Map<Sent, AmqpEvent & { readonly atMs: number }> = new Map();

  /** @param remoteErrors - what our client knows */
  constructor(side: OurSide, remoteErrors: RemoteErrorRegistry) {
    this.#side = side;
    this.#remoteErrors = remoteErrors;
    side.peer.script('basic.publish', (event, connection) => {
      const sent = this.#current;
      if (sent) this.published.set(sent, { ...event, atMs: Date.now() });
      const isReturned = event.args['mandatory'] === true && sent?.event.routed === false;
      if (isReturned) {
        const { exchange, routingKey } = event.args;
        const args = { replyCode: 312, replyText: 'NO_ROUTE', exchange, routingKey };
        connection.send(event.channel, 'basic.return', args, content(event));
      }
      connection.answer(event);
      if (sent && !isReturned) this.#reply(sent, event, false);
    });
  }

  /** Does one send; settles as the user's promise does. */
  async send(sent: Sent): Promise<unknown> {
    this.#current = sent;
    const { event, inner } = sent;
    const { exchange, routing_key: key } = event.args as Record<string, string>; // of a publish
    const fanout = exchange !== undefined && exchange.endsWith('_fanout');
    const [topic, server] = fanout ? [exchange.replace(/_fanout$/, '')] : (key ?? '').split('.');
    const namespace = inner['namespace'] as string | undefined; // text or missing
    const version = inner['version'] as string | undefined; // the same
    const target = { exchange: fanout ? undefined : exchange, topic, server, fanout, namespace, version };
    const client = new RpcClient(this.#side.transport, target, {
      remoteErrors: this.#remoteErrors,
      ...timesOf(sent),
    });
    const args = inner['args'] as PlainObject; // of the recorded requests
    const method = textIn(inner, 'method');
    const isCall = inner['_msg_id'] !== undefined;
    const work = isCall
      ? client.call(contextOf(inner), method, args)
      : client.cast(contextOf(inner), method, args);
    try {
      return await within(method, LIMIT_MS, work);
    } finally {
      const published = this.published.get(sent);
      if (published) this.#reply(sent, published, true);
    }
  }

  #reply(sent: Sent, published: AmqpEvent, late: boolean): void {
    sent.replies.forEach((reply, index) => {
      if (isLate(sent, reply, sent.replies[index - 1]) === late) this.#deliver(reply, published);
    });
  }

  /** With our id in the place of the recorded one. */
  #deliver(reply: WireEvent, published: AmqpEvent): void {
    const consume = this.#side.peer.received('basic.consume').at(-1);
    if (!consume) throw new Error('Our client consumes no reply queue');
    const ownId = textIn(innerOf(asRecorded(published)), '_msg_id');
    const recordedId = textIn(innerOf(reply), '_msg_id');
    const queue = String(consume.args['queue']);
    const tag = (this.#tags.get(queue) ?? 0) + 1;
    this.#tags.set(queue, tag);
    const text = textOf(reply.body, reply.properties).replaceAll(recordedId, ownId);
    consume.connection.deliver(consume.channel, `amq.ctag-${queue}`, tag, {
      properties: camelCase(reply.properties),
      body: isPacked(reply) ? deflateSync(text) : text,
    });
  }
}

function isPacked({ properties }: WireEvent): boolean {
  const headers = properties['headers'] as PlainObject | undefined; // a table or missing
  return headers?.['compression'] !== undefined;
}

/** What we published, as the recordings have it. */
export function asRecorded(event: AmqpEvent): Pick<WireEvent, 'body' | 'properties'> {
  return { body: event.body ?? Buffer.alloc(0), properties: recordedProperties(event) };
}

function content({ body, properties }: AmqpEvent): { body: Buffer; properties?: AmqpTable } {
  return { body: body ?? Buffer.alloc(0), ...(properties && { properties }) };
}

function contextOf(inner: PlainObject): PlainObject {
  const prefix = '_context_';
  const entries = Object.entries(inner).filter(([key]) => key.startsWith(prefix));
  return Object.fromEntries(entries.map(([key, value]) => [key.slice(prefix.length), value]));
}

function timesOf({ event, inner }: Sent): RpcClientOptions {
  const { expiration } = event.properties;
  const monitorS = inner['_timeout'];
  return {
    timeoutMs: expiration === undefined ? null : Number(expiration),
    callMonitorTimeoutMs: typeof monitorS === 'number' ? monitorS * 1000 : null,
  };
}
