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
      return methodFrame(bytes, channel);
    case HEADER:
      return headerFrame(bytes, length, channel);
    case BODY:
      return { channel, content: bytes.subarray(FRAME_HEAD, length - 1) };
    default:
      return undefined;
  }
}

function methodFrame(bytes: Buffer, channel: number): IncomingFrame | undefined {
  const id = bytes.readUInt32BE(7);
  if (id === BASIC_ACK) {
    return {
      id,
      channel,
      fields: { deliveryTag: readLong(bytes, 11), multiple: ((bytes[19] ?? 0) & 1) === 1 },
    };
  }
  if (id !== BASIC_DELIVER) return undefined;
  const consumerTag = shortString(bytes, 11);
  let at = 12 + (bytes[11] ?? 0);
  const deliveryTag = readLong(bytes, at);
  const redelivered = ((bytes[at + 8] ?? 0) & 1) === 1;
  at += 9;
  const exchange = shortString(bytes, at);
  at += 1 + (bytes[at] ?? 0);
  const routingKey = shortString(bytes, at);
  return { id, channel, fields: { consumerTag, deliveryTag, redelivered, exchange, routingKey } };
}

/** A header with the usual properties and an empty table: the bulk of what Python and we send; others have a deadline. */
function headerFrame(bytes: Buffer, length: number, channel: number): IncomingFrame | undefined {
  const flags = bytes.readUInt16BE(19);
  if ((flags & ~EXPIRATION) !== USUAL_FLAGS) return undefined;
  const size = readLong(bytes, 11);
  let at = 21;
  const contentType = shortString(bytes, at);
  at += 1 + (bytes[at] ?? 0);
  const contentEncoding = shortString(bytes, at);
  at += 1 + (bytes[at] ?? 0);
  const table = bytes.readUInt32BE(at);
  const headers = table === 0 ? {} : deadlineTable(bytes, at + 4, table);
  if (!headers) return undefined;
  at += 4 + table;
  const deliveryMode = bytes[at];
  const priority = bytes[at + 1];
  const expiration = flags & EXPIRATION ? shortString(bytes, at + 2) : undefined;
  if (at + 2 + (expiration === undefined ? 0 : 1 + (bytes[at + 2] ?? 0)) !== length - 1) return undefined;
  return {
    id: BASIC,
    channel,
    size,
    fields: { contentType, contentEncoding, headers, deliveryMode, priority, expiration },
  };
}

const DEADLINE_NAME = Buffer.from('ebbgate-deadline');
const DEADLINE_TABLE = 1 + DEADLINE_NAME.byteLength + 1 + 8;

/** A table that holds our deadline and nothing else, a 64-bit integer. */
function deadlineTable(bytes: Buffer, at: number, length: number): Record<string, number> | undefined {
  if (length !== DEADLINE_TABLE || bytes[at] !== DEADLINE_NAME.byteLength) return undefined;
  const type = at + 1 + DEADLINE_NAME.byteLength;
  if (bytes[type] !== 0x6c || DEADLINE_NAME.compare(bytes, at + 1, type) !== 0) return undefined;
  return { 'ebbgate-deadline': readLong(bytes, type + 1) };
}

function readLong(bytes: Buffer, at: number): number {
  return bytes.readUInt32BE(at) * 2 ** 32 + bytes.readUInt32BE(at + 4);
}

/** The names that a connection sees are few: each is made into text once. */
let known = new Map<number, { readonly bytes: Buffer; readonly text: string }>();

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
