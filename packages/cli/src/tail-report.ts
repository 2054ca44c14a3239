import {
  decodeEnvelopedBytes,
  decodeJson,
  type Destination,
  type PlainObject,
  type PlainValue,
  readContext,
  redactMembers,
  redactText,
  type TailedMessage,
} from '@ebbgate/core';
import { jsonText, lineText } from './json-text.js';
import type { Output } from './output.js';

/** Which requests are told; their replies with them. */
export interface TailFilter {
  /** Undefined: all. */
  readonly methods: readonly string[] | undefined;
  /** The member `request_id` of the context. Undefined: any. */
  readonly requestId: string | undefined;
}

/** A call whose reply is waited for. */
interface Call {
  readonly method: string;
  readonly seenAtMs: number;
}

/** Calls that are remembered; beyond that the oldest are forgotten. */
const MOST_CALLS = 10_000;

/** Tells the messages of a tail, secrets masked: each request that passes the filter, and what is answered to it. */
export class TailReport {
  readonly #output: Output;
  readonly #filter: TailFilter;
  readonly #calls = new Map<string, Call>();

  constructor(output: Output, filter: TailFilter) {
    this.#output = output;
    this.#filter = filter;
  }

  /** False when there was nothing to tell. */
  tell({ destination, message }: TailedMessage): boolean {
    let inner: PlainObject;
    try {
      inner = decodeEnvelopedBytes(message.body.encode());
    } catch {
      return this.#tellUnreadable(destination, message.body.size);
    }
    if (destination.kind === 'reply') return this.#tellReply(inner);
    return typeof inner['method'] === 'string' && this.#tellRequest(destination, inner, inner['method']);
  }

  #tellRequest(destination: Destination, inner: PlainObject, method: string): boolean {
    const { methods, requestId } = this.#filter;
    const context = readContext(inner);
    if (methods && !methods.includes(method)) return false;
    if (requestId !== undefined && context['request_id'] !== requestId) return false;
    const msgId = textOf(inner['_msg_id']);
    if (msgId !== undefined) this.#remember(msgId, method);
    const kind = destination.kind === 'fanout' ? 'fanout' : msgId === undefined ? 'cast' : 'call';
    const args = redactMembers(inner['args'] ?? {});
    const time = new Date().toISOString();
    const { topic, server } = placeOf(destination);
    const line = [time, kind, server === undefined ? topic : `${topic}.${server}`, method];
    const { namespace, version } = inner;
    this.#output.line(`${textLine(line)} ${jsonText(args)}`, {
      ...{ time, kind, topic, server, method, namespace, version, args },
      ...{ context: redactMembers({ ...context } as PlainObject), msgId }, // off the wire: plain
    });
    return true;
  }

  /** Of those to requests that were not told nothing is known. */
  #tellReply(inner: PlainObject): boolean {
    const msgId = textOf(inner['_msg_id']);
    const call = msgId === undefined ? undefined : this.#calls.get(msgId);
    if (msgId === undefined || !call) return false;
    const { text, ...answer } = answerIn(inner);
    if (answer.kind !== 'alive') this.#calls.delete(msgId);
    const { method, seenAtMs } = call;
    const time = new Date().toISOString();
    const ms = Math.round(performance.now() - seenAtMs);
    const line = `${textLine([time, answer.kind, method, `${String(ms)} ms`])} ${text}`;
    this.#output.line(line.trimEnd(), { time, ...answer, method, ms, msgId });
    return true;
  }

  #tellUnreadable(destination: Destination, size: number): boolean {
    if (destination.kind === 'reply' || this.#filter.methods || this.#filter.requestId !== undefined)
      return false;
    const time = new Date().toISOString();
    const { topic, server } = placeOf(destination);
    const where = server === undefined ? topic : `${topic}.${server}`;
    const text = `${textLine([time, 'unreadable', where])} ${String(size)} bytes`;
    this.#output.line(text, { time, kind: 'unreadable', topic, server, bytes: size });
    return true;
  }

  #remember(msgId: string, method: string): void {
    this.#calls.set(msgId, { method, seenAtMs: performance.now() });
    const [oldest] = this.#calls.keys();
    if (this.#calls.size > MOST_CALLS && oldest !== undefined) this.#calls.delete(oldest);
  }
}

function textLine(parts: readonly string[]): string {
  return parts.map((part) => lineText(part)).join(' ');
}

function textOf(value: PlainValue | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function placeOf(destination: Destination): { readonly topic: string; readonly server: string | undefined } {
  if (destination.kind === 'reply') return { topic: '', server: undefined };
  return { topic: destination.topic, server: destination.kind === 'server' ? destination.server : undefined };
}

/** What was answered: a sign of life, a result, or what a failure says of itself; its traceback and arguments are left out. */
interface Answer {
  readonly kind: 'alive' | 'reply' | 'failure';
  readonly result?: PlainValue;
  readonly failure?: { readonly type: string; readonly message: string };
  /** For a line. */
  readonly text: string;
}

function answerIn({ ending, failure = null, result = null }: PlainObject): Answer {
  if (ending === false) return { kind: 'alive', text: '' };
  if (failure !== null && failure !== '') return failureIn(failure);
  const shown = redactMembers(result);
  return { kind: 'reply', result: shown, text: jsonText(shown) };
}

function failureIn(failure: PlainValue): Answer {
  const read = typeof failure === 'string' ? readJson(failure) : failure;
  const members = typeof read === 'object' && read !== null && !Array.isArray(read) ? read : {};
  const type = textOf(members['class']) ?? 'unknown';
  const message = redactText(textOf(members['message']) ?? '');
  return { kind: 'failure', failure: { type, message }, text: lineText(`${type}: ${message}`) };
}

function readJson(text: string): PlainValue {
  try {
    return decodeJson(text);
  } catch {
    return null;
  }
}
