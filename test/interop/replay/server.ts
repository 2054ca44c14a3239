import type { PlainObject } from '@ebbgate/core';
import type { AmqpEvent } from '../../support/rigs/amqp-peer.js';
import { eventually } from '../../support/rigs/deadline.js';
import { type Capture, innerOf, type WireEvent, wireEvents } from './capture.js';
import { asRecorded } from './client.js';
import { comparable } from './client-expected.js';
import { type RecordedServer, recordedServers } from './declarations.js';
import { type OurServer, serveAs } from './endpoints.js';
import { camelCase, type OurSide, recordedForm, recordedProperties } from './our-side.js';

const LIMIT_MS = 8_000;

/** What became of a delivery: `ack`, or `reject` without a return to the queue. */
export type Settled = 'ack' | 'reject' | 'requeue' | 'open';

/** A request of the recording as its server got it. */
export interface Request {
  readonly event: WireEvent;
  /** Undefined for a body that is no message. */
  readonly inner: PlainObject | undefined;
  readonly settled: Settled;
  /** What the server sent for it, signs of life included. */
  readonly replies: readonly WireEvent[];
}

/** One server of a case with all that it was given. */
export interface Served {
  readonly recorded: RecordedServer;
  readonly requests: readonly Request[];
}

/** All that the servers of a case were given. */
export function recordedRequests(capture: Capture): Served[] {
  const events = wireEvents(capture);
  const replies = events.filter(
    ({ method, conn, args }) =>
      method === 'basic.publish' && conn.startsWith('server') && args['exchange'] === '',
  );
  return recordedServers(capture).map((recorded) => {
    const same = recordedConns(capture, recorded);
    const delivered = events.filter(({ method, conn }) => method === 'basic.deliver' && same.has(conn));
    const requests = delivered.map((event) => {
      const inner = readInner(event);
      const id = inner?.['_msg_id'];
      const own = id === undefined ? [] : replies.filter((reply) => innerOf(reply)['_msg_id'] === id);
      return { event, inner, settled: settlingOf(events, event), replies: own };
    });
    return { recorded, requests };
  });
}

/** The connections of one server: a new one after each cut. */
function recordedConns(capture: Capture, { conn, declared }: RecordedServer): ReadonlySet<string> {
  const queues = new Set(
    declared.filter(({ method }) => method === 'basic.consume').map(({ args }) => args['queue']),
  );
  const others = wireEvents(capture).filter(
    (event) =>
      event.conn.startsWith('server') && event.method === 'basic.consume' && queues.has(event.args['queue']),
  );
  const own = others.filter(({ args }) => /\.server-/.test(String(args['queue'])));
  return new Set([conn, ...own.map((event) => event.conn)]);
}

function readInner(event: WireEvent): PlainObject | undefined {
  try {
    return innerOf(event);
  } catch {
    return undefined; // one that no server can read
  }
}

function settlingOf(events: readonly WireEvent[], { conn, args }: WireEvent): Settled {
  const tag = args['delivery_tag'];
  const settling = events.find(
    (event) =>
      event.conn === conn &&
      event.dir === 'C>S' &&
      /ack|reject/.test(event.method) &&
      event.args['delivery_tag'] === tag,
  );
  if (!settling) return 'open';
  if (settling.method === 'basic.ack') return 'ack';
  return settling.args['requeue'] === true ? 'requeue' : 'reject';
}

/** Gives our server what the recorded one was given. */
export class ServerReplay {
  readonly #side: OurSide;
  readonly #served: Served;
  readonly ours: OurServer;
  #delivered = 0;

  private constructor(side: OurSide, served: Served, ours: OurServer) {
    this.#side = side;
    this.#served = served;
    this.ours = ours;
  }

  static async start(side: OurSide, served: Served, name: string): Promise<ServerReplay> {
    return new ServerReplay(side, served, await serveAs(side, served.recorded, name));
  }

  /** Delivers one, at the consumer of the queue that it came from. */
  deliver({ event }: Request): void {
    this.#delivered += 1;
    const number = Number(event.args['consumer_tag']) - 1; // the recordings count them in the order of the queues
    const consume = this.#side.peer.received('basic.consume')[number];
    if (!consume) throw new Error('Our server has no such consumer');
    const tag = `amq.ctag-${String(consume.args['queue'])}`;
    consume.connection.deliver(consume.channel, tag, this.#delivered, {
      properties: camelCase(event.properties),
      body: event.body,
      redelivered: event.args['redelivered'] === true,
    });
  }

  /** Resolves when all that was delivered is settled and answered as often as in the recording. */
  async settled(expected: number): Promise<void> {
    const { server } = this.ours;
    await eventually(`${String(expected)} replies`, LIMIT_MS, () => {
      const { run, malformed, duplicate, expired } = server.counts;
      const handled = run + malformed + duplicate + expired;
      const isDone = handled === this.#delivered && server.running === 0;
      return isDone && this.replies().length >= expected && this.#allSettled();
    });
  }

  /** Acknowledgements are sent together: the peer has them a little after the server has done its work. */
  #allSettled(): boolean {
    return this.#served.requests.every((_request, index) => this.settling(index) !== 'open');
  }

  replies(): AmqpEvent[] {
    return this.#side.peer.received('basic.publish');
  }

  repliesTo({ inner }: Request): AmqpEvent[] {
    const id = inner?.['_msg_id'];
    return this.replies().filter((reply) => innerOf(asRecorded(reply))['_msg_id'] === id);
  }

  /** What became of the delivery of this number, from 0. */
  settling(index: number): Settled {
    const tag = index + 1;
    const isOf = ({ args }: AmqpEvent): boolean =>
      args['deliveryTag'] === tag || (args['multiple'] === true && Number(args['deliveryTag']) > tag); // W15
    if (this.#side.peer.received('basic.reject').some(isOf)) return 'reject';
    return this.#side.peer.received('basic.ack').some(isOf) ? 'ack' : 'open';
  }

  get served(): Served {
    return this.#served;
  }
}

/** What can be compared of a reply; `failure` unpacked. */
export interface Reply {
  readonly args: object;
  readonly properties: object;
  readonly inner: Readonly<Record<string, unknown>>;
}

function unpacked(inner: PlainObject): Record<string, unknown> {
  const { failure, ...rest } = comparable(inner);
  return { ...rest, failure: typeof failure === 'string' ? (JSON.parse(failure) as object) : failure };
}

/** A recorded reply. */
export function recordedReply(event: WireEvent): Reply {
  return { args: event.args, properties: event.properties, inner: unpacked(innerOf(event)) };
}

/** A reply of ours, in the same words. */
export function ourReply(event: AmqpEvent): Reply {
  return {
    args: recordedForm(event).args,
    properties: recordedProperties(event),
    inner: unpacked(innerOf(asRecorded(event))),
  };
}
