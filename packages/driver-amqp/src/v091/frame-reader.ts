import { BASIC, BODY, FRAME_END, FRAME_EXTRA, FRAME_HEAD, HEADER, METHOD } from './frame-layout.js';

/** Frames as amqplib's channels take them, of the kinds that come with every message. */
export interface IncomingFrame {
  /** Class and method of a method frame; the class of a header frame; undefined for a body frame. */
  readonly id?: number;
  readonly channel: number;
  readonly fields?: object;
  readonly size?: number;
  readonly content?: Buffer;
}

export const BASIC_DELIVER: number = (BASIC << 16) | 60;
export const BASIC_ACK: number = (BASIC << 16) | 80;
/** Content type and encoding, headers, delivery mode, priority, expiration: oslo.messaging's properties and no others. */
const USUAL_FLAGS = 0xf800;
const EXPIRATION = 0x0100;

/** The byte length of the frame at the front, or 0 when it is not all there yet. */
export function frameLength(bytes: Buffer): number {
  if (bytes.byteLength < FRAME_EXTRA) return 0;
  const length = bytes.readUInt32BE(3) + FRAME_EXTRA;
  return bytes.byteLength >= length ? length : 0;
}

/**
 * The frame at the front, complete, if it is one of those that come with every message and has nothing unusual in it;
 * undefined for all others, which amqplib reads itself.
 */
export function usualFrame(bytes: Buffer, length: number): IncomingFrame | undefined {
  if (bytes[length - 1] !== FRAME_END) return undefined;
  const channel = bytes.readUInt16BE(1);
  if (channel === 0) return undefined;
  switch (bytes[0]) {
    case METHOD:
      return methodFrame(bytes, length, channel);
    case HEADER:
      return headerFrame(bytes, length, channel);
    case BODY:
      return { channel, content: bytes.subarray(FRAME_HEAD, length - 1) };
    default:
      return undefined;
  }
}

/** Class and method, the tag and the bit, and what is around the payload. */
const ACK_LENGTH = 4 + 9 + FRAME_EXTRA;

function methodFrame(bytes: Buffer, length: number, channel: number): IncomingFrame | undefined {
  if (length < ACK_LENGTH) return undefined;
  const id = bytes.readUInt32BE(FRAME_HEAD);
  if (id === BASIC_DELIVER) return deliverFrame(bytes, length, channel);
  if (id !== BASIC_ACK || length !== ACK_LENGTH) return undefined;
  const fields = { deliveryTag: readLong(bytes, 11), multiple: ((bytes[19] ?? 0) & 1) === 1 };
  return { id, channel, fields };
}

/** Undefined when it does not end where its last name ends: nothing is ever read from beyond a frame. */
function deliverFrame(bytes: Buffer, length: number, channel: number): IncomingFrame | undefined {
  const tagAt = stringEnd(bytes, 11);
  const exchangeAt = tagAt + 9;
  const keyAt = stringEnd(bytes, exchangeAt);
  if (stringEnd(bytes, keyAt) !== length - 1) return undefined; // those before it end before it
  return {
    id: BASIC_DELIVER,
    channel,
    fields: {
      consumerTag: shortString(bytes, 11),
      deliveryTag: readLong(bytes, tagAt),
      redelivered: ((bytes[tagAt + 8] ?? 0) & 1) === 1,
      exchange: shortString(bytes, exchangeAt),
      routingKey: shortString(bytes, keyAt),
    },
  };
}

/** Class, weight, body size and property flags, and what is around the payload. */
const LEAST_HEADER = 14 + FRAME_EXTRA;

/** A header with the usual properties and an empty table: the bulk of what Python and we send; others have a deadline. */
function headerFrame(bytes: Buffer, length: number, channel: number): IncomingFrame | undefined {
  if (length < LEAST_HEADER || bytes.readUInt16BE(FRAME_HEAD) !== BASIC) return undefined;
  const flags = bytes.readUInt16BE(19);
  if ((flags & ~EXPIRATION) !== USUAL_FLAGS) return undefined;
  const end = length - 1;
  const encodingAt = stringEnd(bytes, 21);
  const tableAt = stringEnd(bytes, encodingAt);
  if (tableAt + 6 > end) return undefined;
  const table = bytes.readUInt32BE(tableAt);
  const at = tableAt + 4 + table;
  const hasExpiration = (flags & EXPIRATION) !== 0;
  if ((hasExpiration ? stringEnd(bytes, at + 2) : at + 2) !== end) return undefined;
  const headers = usualTable(bytes, tableAt + 4, table);
  const size = readLong(bytes, 11);
  if (!headers || !Number.isSafeInteger(size)) return undefined;
  const fields = {
    contentType: shortString(bytes, 21),
    contentEncoding: shortString(bytes, encodingAt),
    headers,
    deliveryMode: bytes[at],
    priority: bytes[at + 1],
    expiration: hasExpiration ? shortString(bytes, at + 2) : undefined,
  };
  return { id: BASIC, channel, size, fields };
}

/**
 * Of a message whose properties cannot be read, a table with a type unknown to amqplib, say: a header without any, so that
 * this message alone is refused, for want of a content type. Its connection, if it ended, would bring it again for ever.
 */
export function unreadableHeader(bytes: Buffer, maxFrameSize: number): IncomingFrame | undefined {
  const length = frameLength(bytes);
  const isHeader = bytes[0] === HEADER && length >= LEAST_HEADER && length <= maxFrameSize;
  if (!isHeader || bytes[length - 1] !== FRAME_END || bytes.readUInt16BE(FRAME_HEAD) !== BASIC)
    return undefined;
  const channel = bytes.readUInt16BE(1);
  return channel === 0 ? undefined : { id: BASIC, channel, size: readLong(bytes, 11), fields: {} };
}

const DEADLINE_NAME = Buffer.from('ebbgate-deadline');
const DEADLINE_TABLE = 1 + DEADLINE_NAME.byteLength + 1 + 8;

/** A table that is empty, or holds our deadline and nothing else, a 64-bit integer. */
function usualTable(bytes: Buffer, at: number, length: number): Record<string, number> | undefined {
  if (length === 0) return {};
  if (length !== DEADLINE_TABLE || bytes[at] !== DEADLINE_NAME.byteLength) return undefined;
  const type = at + 1 + DEADLINE_NAME.byteLength;
  if (bytes[type] !== 0x6c || DEADLINE_NAME.compare(bytes, at + 1, type) !== 0) return undefined;
  const deadline = readLong(bytes, type + 1);
  return Number.isSafeInteger(deadline) ? { 'ebbgate-deadline': deadline } : undefined;
}

function readLong(bytes: Buffer, at: number): number {
  return bytes.readUInt32BE(at) * 2 ** 32 + bytes.readUInt32BE(at + 4);
}

/** The names that a connection sees are few: each is made into text once. */
let known = new Map<number, { readonly bytes: Buffer; readonly text: string }>();

/** Where the text ends that begins with its length. */
function stringEnd(bytes: Buffer, at: number): number {
  return at + 1 + (bytes[at] ?? 0);
}

function shortString(bytes: Buffer, at: number): string {
  const length = bytes[at] ?? 0;
  const end = at + 1 + length;
  let key = length;
  for (let i = end - 8 > at ? end - 8 : at + 1; i < end; i += 1) key = (key * 31 + (bytes[i] ?? 0)) | 0;
  const entry = known.get(key);
  if (entry && entry.bytes.byteLength === length && entry.bytes.compare(bytes, at + 1, end) === 0)
    return entry.text;
  const text = bytes.toString('utf8', at + 1, end);
  if (known.size >= 1000) known = new Map();
  known.set(key, { bytes: Buffer.from(bytes.subarray(at + 1, end)), text });
  return text;
}
