import { RpcClient, RpcServer } from '@ebbgate/rpc';
import { eventually, within } from '../../support/rigs/deadline.js';
import type { AmqpEvent } from '../../support/rigs/amqp-peer.js';
import { type Capture, isNotification, type WireEvent, wireEvents, without } from './capture.js';
import { type OurSide, recordedForm } from './our-side.js';

/** A method with its arguments, as the recordings have them. */
export interface Declared {
  readonly method: string;
  readonly args: Readonly<Record<string, unknown>>;
}

const LIMIT_MS = 5_000;
const DECLARING: ReadonlySet<string> = new Set([
  'exchange.declare',
  'queue.declare',
  'queue.bind',
  'basic.qos',
  'basic.consume',
  'confirm.select',
]);

/** What is random in a name, and what only the recordings add. */
function plain({ method, args }: Declared): Declared {
  const text = JSON.stringify(without(args, 'arguments__amqp_types', 'consumer_tag')).replace(
    /_(?:[0-9a-f]{32}|host1:proc\d+:\d+)/g,
    '_<own>',
  );
  return { method, args: JSON.parse(text) as Declared['args'] }; // the same with its names evened out
}

/** The first connections of a side; what is declared again after a cut is the same once more. */
function connsOf(events: readonly WireEvent[], side: string, isIt: (event: WireEvent) => boolean): string[] {
  return [
    ...new Set(events.filter((event) => event.conn.startsWith(side) && isIt(event)).map(({ conn }) => conn)),
  ];
}

function declaredOn(events: readonly WireEvent[], conn: string): Declared[] {
  const isDeclared = (event: WireEvent): boolean =>
    event.conn === conn && event.dir === 'C>S' && DECLARING.has(event.method);
  return events.filter(isDeclared).map(plain);
}

const consumes = ({ method }: WireEvent): boolean => method === 'basic.consume';

/** A server of the recording: where it listens, and what it declared for that. */
export interface RecordedServer {
  readonly conn: string;
  readonly exchange: string;
  readonly topic: string;
  readonly server: string;
  readonly declared: readonly Declared[];
}

/** The servers of a case, each once. */
export function recordedServers(capture: Capture): RecordedServer[] {
  const events = wireEvents(capture);
  const servers = connsOf(events, 'server', consumes).map((conn) => {
    const declared = declaredOn(events, conn);
    const binds = declared.filter(({ method }) => method === 'queue.bind').map(({ args }) => args);
    const [topic, server] = binds.map(({ queue }) => String(queue));
    if (topic === undefined || server === undefined) throw new Error(`${conn} has bound no two queues`);
    const exchange = String(binds[0]?.['exchange']);
    return { conn, exchange, topic, server: server.slice(topic.length + 1), declared };
  });
  const seen = new Map(servers.map((one) => [`${one.exchange} ${one.topic} ${one.server}`, one] as const));
  // Of a server that came back after a cut, the first connection.
  return [...seen.keys()].map(
    (key) => servers.find((one) => `${one.exchange} ${one.topic} ${one.server}` === key) as RecordedServer, // from it
  );
}

/** What the client of a case declared for its replies, and before its sends. */
export function recordedClient(capture: Capture): { replies: Declared[]; sends: Declared[] } {
  const events = wireEvents(capture);
  const [reply] = connsOf(events, 'client', consumes);
  const senders = connsOf(
    events,
    'client',
    (event) => event.method === 'basic.publish' && !isNotification(event),
  );
  const all = senders.flatMap((conn) => declaredOn(events, conn));
  const sends = all.filter(({ args }) => args['exchange'] !== undefined);
  const replies =
    reply === undefined ? [] : declaredOn(events, reply).filter(({ method }) => /queue|basic/.test(method));
  return {
    replies: replies.filter(({ args }) => !String(args['queue']).includes('notifications')),
    sends: once(sends),
  };
}

/** Each once: the Python client declares its exchange on each of its connections. */
export function once(methods: readonly Declared[]): Declared[] {
  return [...new Map(methods.map((method) => [JSON.stringify(method), method])).values()];
}

function ours(events: readonly AmqpEvent[]): Declared[] {
  return events
    .filter(({ name }) => DECLARING.has(name))
    .map(recordedForm)
    .map(plain);
}

/** What our server declares at its start, in order. */
export async function ourServerDeclares(
  side: OurSide,
  { exchange, topic, server }: RecordedServer,
): Promise<Declared[]> {
  const ourServer = new RpcServer(side.transport, { exchange, topic, server }, []);
  await within('the start', LIMIT_MS, ourServer.start());
  const declared = ours(side.peer.events);
  await ourServer.stop();
  await ourServer.wait();
  return declared;
}

/** What our client declares when it casts to a topic, fans out, and calls, as far as the case does these. */
export async function ourClientDeclares(side: OurSide, capture: Capture): Promise<Declared[]> {
  const { sends, replies } = recordedClient(capture);
  for (const { args } of sends) {
    const name = String(args['exchange']);
    const fanout = args['type'] === 'fanout';
    const target = fanout ? { topic: name.replace(/_fanout$/, ''), fanout } : { topic: 't', exchange: name };
    await within('the cast', LIMIT_MS, new RpcClient(side.transport, target).cast({}, 'm'));
  }
  if (replies.length > 0) {
    const sent = side.peer.received('basic.publish').length;
    const client = new RpcClient(side.transport, { topic: 't', exchange: 'openstack' });
    client.call({}, 'm').catch(() => undefined); // nobody answers
    await eventually('the call', LIMIT_MS, () => side.peer.received('basic.publish').length > sent);
  }
  return ours(side.peer.events);
}

/** How a side logs in: the mechanism, and what it agreed to. */
export function recordedHandshakes(capture: Capture): object[] {
  const events = wireEvents(capture).filter(({ method }) => /start-ok|tune-ok/.test(method));
  return unique(events.map(({ method, args }) => (method.endsWith('start-ok') ? startOk(args) : args)));
}

/** The same of ours. */
export function ourHandshakes({ peer }: OurSide): object[] {
  const events = peer.events.filter(({ name }) => /start-ok|tune-ok/.test(name)).map(recordedForm);
  return unique(events.map(({ method, args }) => (method.endsWith('start-ok') ? startOk(args) : args)));
}

/** Of the capabilities those that oslo.messaging states: ours are more (W29). */
function startOk(args: Declared['args']): object {
  const { capabilities } = args['client_properties'] as { capabilities: Record<string, boolean> }; // both sides state them
  const { authentication_failure_close, consumer_cancel_notify } = capabilities;
  return {
    mechanism: args['mechanism'],
    authentication_failure_close,
    consumer_cancel_notify,
    'connection.blocked': capabilities['connection.blocked'],
  };
}

function unique(list: readonly object[]): object[] {
  return [...new Map(list.map((one) => [JSON.stringify(one), one])).values()];
}
