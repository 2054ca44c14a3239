import { bytesBody, Deadline, SerializationError, type WireMessage } from '@ebbgate/core';
import { compress, type Compression, COMPRESSION_HEADERS, decompress } from './compression.js';

/** Our header: by when the message must have been begun, in milliseconds since the epoch. Others ignore it. */
export const DEADLINE_HEADER = 'ebbgate-deadline';
const COMPRESSION_HEADER = 'compression';
/** Python's peers throw away a message with any other, also `application/json; charset=utf-8`. */
const CONTENT_TYPE = 'application/json';

/** The AMQP properties of a message that we publish: these and no others (`wire.md` 1.4). */
export interface PublishedProperties {
  readonly contentType: 'application/json';
  readonly contentEncoding: 'utf-8';
  readonly headers: Readonly<Record<string, string | number>>;
  /** 2 also to queues that are not durable, as oslo.messaging has it; 1 for replies, whose queue outlives a restart but need not. */
  readonly deliveryMode: 1 | 2;
  readonly priority: 0;
  /** Whole milliseconds, on call requests only. */
  readonly expiration?: string;
  /** No property, but the flag of the publish: amqplib takes both from one object. */
  readonly mandatory?: true;
}

/** A message as it is handed to a channel. */
export interface PublishedMessage {
  readonly body: Buffer;
  readonly properties: PublishedProperties;
}

/** The parts of an amqplib message that are read. Everything in it is somebody else's word. */
export interface ReceivedMessage {
  readonly content: Buffer;
  readonly properties: {
    readonly contentType?: unknown;
    readonly expiration?: unknown;
    readonly headers?: unknown;
  };
}

const REQUEST: PublishedProperties = Object.freeze({
  contentType: CONTENT_TYPE,
  contentEncoding: 'utf-8',
  headers: Object.freeze({}),
  deliveryMode: 2,
  priority: 0,
});

/** A reply that is on its way when the broker restarts is lost: storing it would cost each call a write to disk. */
const REPLY: PublishedProperties = Object.freeze({ ...REQUEST, deliveryMode: 1 });
const MANDATORY_REQUEST: PublishedProperties = Object.freeze({ ...REQUEST, mandatory: true });
const MANDATORY_REPLY: PublishedProperties = Object.freeze({ ...REPLY, mandatory: true });

/** What of a message is decided by where it goes. */
export interface PublishKind {
  readonly isReply: boolean;
  readonly isMandatory: boolean;
}

function constantPart({ isReply, isMandatory }: PublishKind): PublishedProperties {
  if (isReply) return isMandatory ? MANDATORY_REPLY : REPLY;
  return isMandatory ? MANDATORY_REQUEST : REQUEST;
}

/** What is published for a message. Casts and replies share constant parts. */
export function publishProperties(
  message: WireMessage,
  { compression }: { readonly compression: Compression | undefined },
  kind: PublishKind,
): PublishedMessage {
  const { deadline, expirationMs } = message;
  const bytes = message.body.encode();
  const body = compression === undefined ? asBuffer(bytes) : compress(compression, bytes);
  const constant = constantPart(kind);
  const lifeMs = expirationMs ?? deadline?.remainingMs; // calls have both, and the whole time-out is what oslo sends
  if (lifeMs === undefined && compression === undefined) {
    return { body, properties: constant };
  }
  const headers: Record<string, string | number> = {};
  if (compression !== undefined) headers[COMPRESSION_HEADER] = COMPRESSION_HEADERS[compression];
  if (deadline) headers[DEADLINE_HEADER] = Math.floor(deadline.epochMs);
  return {
    body,
    properties: {
      ...constant,
      headers,
      ...(lifeMs !== undefined && { expiration: expirationText(lifeMs) }),
    },
  };
}

/** As Python's `str(int(timeout * 1000))`, but never 0, which would drop the message unless a consumer is waiting. */
function expirationText(ms: number): string {
  return String(Math.max(1, Math.floor(ms)));
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/**
 * A message off the wire. Its id and reply address are in the body and not looked at. The deadline is that of our
 * header, but at most what `expiration` says, counted from now: that alone is known of other senders.
 *
 * @throws SerializationError (`ERR_SERIALIZATION`) for another content type or a compression that cannot be undone: the
 *   message can never be read. Never holds the content.
 */
export function readMessage(message: ReceivedMessage): WireMessage {
  const { properties, content } = message;
  if (properties.contentType !== CONTENT_TYPE) {
    throw new SerializationError(`Cannot read the message: its content type is not ${CONTENT_TYPE}`);
  }
  const expirationMs = readExpiration(properties.expiration);
  const expires = expirationMs === undefined ? undefined : Deadline.after(expirationMs);
  return {
    id: undefined,
    body: bytesBody(decompress(header(properties.headers, COMPRESSION_HEADER), content)),
    deadline: Deadline.earlier(readDeadline(header(properties.headers, DEADLINE_HEADER)), expires),
    expirationMs,
  };
}

/** An own member only: the table was filled by the sender. */
function header(headers: unknown, name: string): unknown {
  if (typeof headers !== 'object' || headers === null || !Object.hasOwn(headers, name)) return undefined;
  return (headers as Readonly<Record<string, unknown>>)[name]; // an own member, as was just checked
}

function readDeadline(value: unknown): Deadline | undefined {
  const isTime = typeof value === 'number' && Number.isSafeInteger(value) && value > 0;
  return isTime ? Deadline.atEpochMs(value) : undefined;
}

function readExpiration(value: unknown): number | undefined {
  return typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : undefined;
}
