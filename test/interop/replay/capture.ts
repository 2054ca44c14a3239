import { inflateSync } from 'node:zlib';
import { readdirSync } from 'node:fs';
import { decodeJson, type PlainObject, readEnvelopedObject } from '@ebbgate/core';
import { readVectors } from '../../support/vectors.js';

/** What the Python user saw of one step. */
export interface Seen {
  readonly returned?: unknown;
  readonly raised?: { readonly type: string; readonly module: string; readonly str: string };
}

type Args = Readonly<Record<string, unknown>>;

/** One AMQP method of the recording, its message put back where another event has the same. */
export interface WireEvent {
  readonly t_ms: number;
  readonly conn: string;
  readonly dir: 'C>S' | 'S>C';
  readonly method: string;
  readonly args: Args;
  readonly properties: Args;
  /** As it was on the wire, compressed or not. */
  readonly body: Buffer;
  /** Of a publish: did any queue take it? */
  readonly routed?: boolean;
}

/** Something the script did. */
export interface Mark {
  readonly t_ms: number;
  readonly mark: string;
}

/** One recorded case. */
export interface Capture {
  readonly name: string;
  readonly outcome: Readonly<Record<string, readonly Seen[]>>;
  readonly events: readonly (WireEvent | Mark)[];
}

interface Stored extends Omit<WireEvent, 'body' | 'properties'> {
  readonly properties?: Args;
  readonly body?: string;
  readonly body_base64?: string;
  readonly body_truncated?: string;
  readonly body_size?: number;
  readonly message_of?: number;
}

const NO_BODY = Buffer.alloc(0);
/** What `large_payload` sends: cut in the recording, and a repetition. */
const LARGE = '0123456789'.repeat(30_000);
/** How its two bodies go on behind the text; made up where the recording is cut, of the size that it states. */
const ENDS: Readonly<Record<string, string>> = {
  method:
    '\\"}, \\"_msg_id\\": \\"11111111111111111111111111111111\\", \\"_reply_q\\": \\"reply_9c9af4a97e7c489e9a8d9b46e68b3fac\\", \\"_timeout\\": null, \\"_unique_id\\": \\"33333333333333333333333333333333\\"}"}',
  result:
    '\\", \\"failure\\": null, \\"ending\\": true, \\"_msg_id\\": \\"11111111111111111111111111111111\\", \\"_unique_id\\": \\"44444444444444444444444444444444\\"}"}',
};

function restored({ body_truncated: cut = '', body_size: size }: Stored): Buffer {
  const start = cut.slice(0, cut.indexOf('0123456789'));
  const whole = Buffer.from(start + LARGE + (ENDS[start.includes('result') ? 'result' : 'method'] ?? ''));
  if (whole.length !== size)
    throw new Error(`A restored body has ${whole.length} bytes, not ${String(size)}`);
  return whole;
}

function bodyOf(event: Stored): Buffer {
  if (event.body !== undefined) return Buffer.from(event.body);
  if (event.body_base64 !== undefined) return Buffer.from(event.body_base64, 'base64');
  return event.body_truncated === undefined ? NO_BODY : restored(event);
}

function complete(event: Stored | Mark, all: readonly (Stored | Mark)[]): WireEvent | Mark {
  if ('mark' in event) return event;
  const source = event.message_of === undefined ? event : (all[event.message_of] as Stored); // an index of a message
  return { ...event, properties: source.properties ?? {}, body: bodyOf(source) };
}

/** Reads one case by its name: `cast`, `head/mandatory`. */
export function readCapture(name: string): Capture {
  const { outcome, events } = readVectors(name) as {
    outcome: Capture['outcome'];
    events: (Stored | Mark)[];
  };
  return { name, outcome, events: events.map((event) => complete(event, events)) };
}

const FOLDER = new URL('../../../../test/fixtures/oslo/', import.meta.url);
/** Tables of another form, which other suites read. */
const NO_CASES: ReadonlySet<string> = new Set(['declarations', 'failures']);

/** The names of all recorded cases. */
export function captureNames(): string[] {
  const files = ['', 'head/'].flatMap((folder) =>
    readdirSync(new URL(folder, FOLDER)).map((file) => folder + file),
  );
  return files
    .filter((file) => file.endsWith('.json'))
    .map((file) => file.slice(0, -'.json'.length))
    .filter((name) => !NO_CASES.has(name));
}

/** The methods of the recording, without the marks. */
export function wireEvents({ events }: Capture): WireEvent[] {
  return events.filter((event): event is WireEvent => 'method' in event);
}

/** The text of a body, unpacked as its headers say. */
export function textOf(body: Buffer, properties: Args): string {
  const headers = properties['headers'] as Args | undefined; // a table or missing
  return (headers?.['compression'] === undefined ? body : inflateSync(body)).toString('utf8');
}

/** The inner object of a message, read by our reader: bare NaN and long integers are in some. */
export function innerOf({ body, properties }: Pick<WireEvent, 'body' | 'properties'>): PlainObject {
  return readEnvelopedObject(decodeJson(textOf(body, properties)));
}

/** A member that is text; empty when it is missing or anything else. */
export function textIn(inner: PlainObject | undefined, name: string): string {
  const value = inner?.[name];
  return typeof value === 'string' ? value : '';
}

/** A copy without these members. */
export function without(table: object, ...names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(Object.entries(table).filter(([name]) => !names.includes(name)));
}

/** Is it a notification? They are in the cases of the options, and not replayed. */
export function isNotification(event: WireEvent): boolean {
  return String(event.args['routing_key']).startsWith('notifications.');
}
