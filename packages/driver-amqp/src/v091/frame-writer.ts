import { BASIC, BODY, FRAME_END, FRAME_EXTRA, FRAME_HEAD, HEADER, METHOD } from './frame-layout.js';
import { COPY_UP_TO, type TurnWriter } from './turn-writer.js';

const PUBLISH = 40;
const ACK = 80;

/** Property flags (section 4.2.6.1), of the properties that we set. */
const CONTENT_TYPE = 0x8000;
const CONTENT_ENCODING = 0x4000;
const HEADERS = 0x2000;
const DELIVERY_MODE = 0x1000;
const PRIORITY = 0x0800;
const EXPIRATION = 0x0100;

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
  return writeWord(frame, size, writeShort(frame, channel, at + 1));
}

// By single bytes: the methods of Buffer check their arguments each time, and there are a dozen numbers in each message.

function writeShort(bytes: Buffer, value: number, at: number): number {
  bytes[at] = value >>> 8;
  bytes[at + 1] = value;
  return at + 2;
}

function writeWord(bytes: Buffer, value: number, at: number): number {
  bytes[at] = value >>> 24;
  bytes[at + 1] = value >>> 16;
  bytes[at + 2] = value >>> 8;
  bytes[at + 3] = value;
  return at + 4;
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
  at = writeShort(frame, BASIC, at);
  at = writeShort(frame, PUBLISH, at) + 2; // a reserved short
  at += names.copy(frame, at);
  frame[at] = mandatory ? 1 : 0;
  frame[at + 1] = FRAME_END;
  return frame;
}

const ACK_LENGTH = 21;

/** Writes `basic.ack`. */
export function writeAck(writer: TurnWriter, channel: number, tag: number, multiple: boolean): void {
  const bytes = writer.reserve(ACK_LENGTH);
  let at = frameHead(bytes, METHOD, channel, ACK_LENGTH - FRAME_EXTRA, writer.at);
  at = writeShort(bytes, BASIC, at);
  at = writeShort(bytes, ACK, at);
  at = writeLong(bytes, tag, at);
  bytes[at] = multiple ? 1 : 0;
  bytes[at + 1] = FRAME_END;
  writer.commit(at + 2);
}

/** 64 bits of a safe integer, without a BigInt for each message. */
function writeLong(bytes: Buffer, value: number, at: number): number {
  return writeWord(bytes, value >>> 0, writeWord(bytes, Math.floor(value / 2 ** 32), at));
}

/** The bytes of property lists that are the same for many messages. */
const remembered = new WeakMap<FastProperties, Buffer>();

/** Most bytes that {@link writeProperties} takes. */
function propertiesRoom({ contentType, contentEncoding, headers }: FastProperties): number {
  return 64 + contentType.length + contentEncoding.length + tableRoom(headers);
}

/** A property list, flags first; those that nobody can change are remembered. */
function writeProperties(bytes: Buffer, properties: FastProperties, start: number): number {
  const known = remembered.get(properties);
  if (known) return start + known.copy(bytes, start);
  const { contentType, contentEncoding, headers, deliveryMode, priority, expiration } = properties;
  const flags = CONTENT_TYPE | CONTENT_ENCODING | HEADERS | DELIVERY_MODE | PRIORITY;
  let at = writeShort(bytes, expiration === undefined ? flags : flags | EXPIRATION, start);
  at = writeShortString(bytes, contentType, at);
  at = writeShortString(bytes, contentEncoding, at);
  at = writeTable(bytes, headers, at);
  bytes[at++] = deliveryMode;
  bytes[at++] = priority;
  if (expiration !== undefined) at = writeShortString(bytes, expiration, at);
  if (Object.isFrozen(properties)) remembered.set(properties, Buffer.from(bytes.subarray(start, at)));
  return at;
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
      bytes[at++] = 0x53; // 'S'
      const length = bytes.write(value, at + 4, 'latin1');
      at = writeWord(bytes, length, at) + length;
    } else {
      bytes[at++] = 0x6c; // 'l'
      at = writeLong(bytes, value ?? 0, at);
    }
  }
  writeWord(bytes, at - start - 4, start);
  return at;
}

/** Writes a message: its `basic.publish` frame, its header frame, and its body in as many frames as it takes. */
export function writeMessage(
  writer: TurnWriter,
  { channel, frameMax }: { readonly channel: number; readonly frameMax: number },
  publish: Buffer,
  properties: FastProperties,
  body: Buffer,
): void {
  const { byteLength } = body;
  const most = frameMax - FRAME_EXTRA;
  const isShort = byteLength <= COPY_UP_TO && byteLength <= most;
  const room = publish.byteLength + FRAME_EXTRA + 12 + propertiesRoom(properties);
  const bytes = writer.reserve(isShort ? room + FRAME_EXTRA + byteLength : room);
  const header = writer.at + publish.copy(bytes, writer.at);
  let at = header + FRAME_HEAD;
  at = writeShort(bytes, BASIC, at);
  at = writeShort(bytes, 0, at); // a weight of 0
  at = writeLong(bytes, byteLength, at);
  at = writeProperties(bytes, properties, at);
  frameHead(bytes, HEADER, channel, at - header - FRAME_HEAD, header);
  bytes[at++] = FRAME_END;
  if (isShort && byteLength > 0) {
    at = frameHead(bytes, BODY, channel, byteLength, at);
    at += body.copy(bytes, at);
    bytes[at++] = FRAME_END;
  }
  writer.commit(at);
  if (!isShort) writeBody(writer, channel, body, most);
}

function writeBody(writer: TurnWriter, channel: number, body: Buffer, most: number): void {
  for (let from = 0; from < body.byteLength; from += most) {
    const part = body.subarray(from, from + most);
    writer.commit(frameHead(writer.reserve(FRAME_HEAD), BODY, channel, part.byteLength, writer.at));
    writer.writeNow([part, END]); // the end too: a frame that lacks one byte is copied by the broker
  }
}

const END = Buffer.of(FRAME_END);
