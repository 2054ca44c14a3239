import { BASIC, BODY, FRAME_END, FRAME_EXTRA, FRAME_HEAD, HEADER, METHOD } from './frame-layout.js';

const PUBLISH = 40;
const ACK = 80;

/** Property flags (section 4.2.6.1), of the properties that we set. */
const CONTENT_TYPE = 0x8000;
const CONTENT_ENCODING = 0x4000;
const HEADERS = 0x2000;
const DELIVERY_MODE = 0x1000;
const PRIORITY = 0x0800;
const EXPIRATION = 0x0100;

/** Bodies up to this length are copied into one buffer with their frames; longer ones are written as they are. */
const COPY_UP_TO = 8192;

/** The properties that a publish can have: those of oslo.messaging (`wire.md` 1.4). */
export interface FastProperties {
  readonly contentType: string;
  readonly contentEncoding: string;
  readonly headers: Readonly<Record<string, string | number>>;
  readonly deliveryMode: number;
  readonly priority: number;
  readonly expiration?: string;
}

function frameHead(frame: Buffer, type: number, channel: number, size: number, at: number): number {
  frame[at] = type;
  frame.writeUInt16BE(channel, at + 1);
  frame.writeUInt32BE(size, at + 3);
  return at + FRAME_HEAD;
}

function shortString(text: string): Buffer {
  const bytes = Buffer.from(text);
  return Buffer.concat([Buffer.of(bytes.byteLength), bytes]); // names of more than 255 bytes are encoded before they get here
}

/** The `basic.publish` frame of a place: the same for every message that goes there. */
export function publishFrame(
  channel: number,
  exchange: string,
  routingKey: string,
  mandatory: boolean,
): Buffer {
  const names = Buffer.concat([shortString(exchange), shortString(routingKey)]);
  const size = 4 + 2 + names.byteLength + 1;
  const frame = Buffer.alloc(size + FRAME_EXTRA);
  let at = frameHead(frame, METHOD, channel, size, 0);
  at = frame.writeUInt16BE(BASIC, at);
  at = frame.writeUInt16BE(PUBLISH, at) + 2; // a reserved short
  at += names.copy(frame, at);
  frame[at] = mandatory ? 1 : 0;
  frame[at + 1] = FRAME_END;
  return frame;
}

export function ackFrame(channel: number, tag: number, multiple: boolean): Buffer {
  const frame = Buffer.alloc(21);
  let at = frameHead(frame, METHOD, channel, 13, 0);
  at = frame.writeUInt16BE(BASIC, at);
  at = frame.writeUInt16BE(ACK, at);
  at = writeLong(frame, tag, at);
  frame[at] = multiple ? 1 : 0;
  frame[at + 1] = FRAME_END;
  return frame;
}

/** 64 bits of a safe integer, without a BigInt for each message. */
function writeLong(frame: Buffer, value: number, at: number): number {
  frame.writeUInt32BE(Math.floor(value / 2 ** 32), at);
  return frame.writeUInt32BE(value >>> 0, at + 4);
}

/** The bytes of a property list, flags first; those without an expiration or headers of their own are remembered. */
const remembered = new WeakMap<FastProperties, Buffer>();

function propertyBytes(properties: FastProperties): Buffer {
  const known = remembered.get(properties);
  if (known) return known;
  const bytes = encodeProperties(properties);
  if (Object.isFrozen(properties)) remembered.set(properties, bytes);
  return bytes;
}

function encodeProperties({
  contentType,
  contentEncoding,
  headers,
  deliveryMode,
  priority,
  expiration,
}: FastProperties): Buffer {
  const expires = expiration !== undefined;
  const bytes = Buffer.allocUnsafe(64 + contentType.length + contentEncoding.length + tableRoom(headers));
  const flags =
    CONTENT_TYPE | CONTENT_ENCODING | HEADERS | DELIVERY_MODE | PRIORITY | (expires ? EXPIRATION : 0);
  let at = bytes.writeUInt16BE(flags, 0);
  at = writeShortString(bytes, contentType, at);
  at = writeShortString(bytes, contentEncoding, at);
  at = writeTable(bytes, headers, at);
  bytes[at] = deliveryMode;
  bytes[at + 1] = priority;
  at += 2;
  if (expires) at = writeShortString(bytes, expiration, at);
  return bytes.subarray(0, at);
}

function writeShortString(bytes: Buffer, text: string, at: number): number {
  const length = bytes.write(text, at + 1, 'latin1'); // constants and digits: ASCII
  bytes[at] = length;
  return at + 1 + length;
}

function tableRoom(headers: FastProperties['headers']): number {
  let room = 0;
  for (const name in headers)
    room += 16 + name.length + (typeof headers[name] === 'string' ? headers[name].length : 0);
  return room;
}

/** A table of our own headers: ASCII names, text as long string, integers as 64 bits (section 4.2.5). */
function writeTable(bytes: Buffer, headers: FastProperties['headers'], start: number): number {
  let at = start + 4;
  for (const name in headers) {
    const value = headers[name];
    at = writeShortString(bytes, name, at);
    if (typeof value === 'string') {
      at = bytes.writeUInt8(0x53, at); // 'S'
      const length = bytes.write(value, at + 4, 'latin1');
      at = bytes.writeUInt32BE(length, at) + length;
    } else {
      at = bytes.writeUInt8(0x6c, at); // 'l'
      at = writeLong(bytes, value ?? 0, at);
    }
  }
  bytes.writeUInt32BE(at - start - 4, start);
  return at;
}

/** Header and body frames of a message behind its `basic.publish` frame, written by `write` in order. */
export function writeMessage(
  channel: number,
  publish: Buffer,
  properties: FastProperties,
  body: Buffer,
  frameMax: number,
  write: (bytes: Buffer) => boolean,
): boolean {
  const list = propertyBytes(properties);
  const headerSize = 12 + list.byteLength;
  const isShort = body.byteLength > 0 && body.byteLength <= COPY_UP_TO;
  const room = publish.byteLength + headerSize + FRAME_EXTRA + (isShort ? body.byteLength + FRAME_EXTRA : 0);
  const bytes = Buffer.allocUnsafe(room);
  let at = publish.copy(bytes, 0);
  at = frameHead(bytes, HEADER, channel, headerSize, at);
  at = bytes.writeUInt32BE(BASIC << 16, at); // the class, and a weight of 0
  at = writeLong(bytes, body.byteLength, at);
  at += list.copy(bytes, at);
  bytes[at++] = FRAME_END;
  if (!isShort) {
    const room = write(bytes); // false says that the buffer is full, not that it was not written
    return body.byteLength === 0 ? room : writeBody(channel, body, frameMax - FRAME_EXTRA, write);
  }
  at = frameHead(bytes, BODY, channel, body.byteLength, at);
  at += body.copy(bytes, at);
  bytes[at] = FRAME_END;
  return write(bytes);
}

const END = Buffer.of(FRAME_END);

function writeBody(channel: number, body: Buffer, most: number, write: (bytes: Buffer) => boolean): boolean {
  let room = true;
  for (let from = 0; from < body.byteLength; from += most) {
    const part = body.subarray(from, from + most);
    const head = Buffer.allocUnsafe(FRAME_HEAD);
    frameHead(head, BODY, channel, part.byteLength, 0);
    write(head);
    write(part);
    room = write(END);
  }
  return room;
}
