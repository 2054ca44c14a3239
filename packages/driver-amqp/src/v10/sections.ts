import { SerializationError } from '@ebbgate/core';

/** What we need of a message as AMQP 1.0 has it. */
export interface Sections {
  readonly ttl: unknown;
  readonly firstAcquirer: unknown;
  readonly deliveryCount: unknown;
  readonly contentType: unknown;
  readonly applicationProperties: Readonly<Record<string, unknown>>;
  /** All data sections in one; or the value, where that is a text or bytes. */
  readonly body: Buffer;
}

/** One value: its type, and where its content is. */
interface Value {
  readonly descriptor: unknown;
  readonly code: number;
  readonly start: number;
  readonly end: number;
}

type SectionName = 'header' | 'properties' | 'application-properties' | 'data' | 'value';

const SECTIONS: ReadonlyMap<unknown, SectionName> = new Map<unknown, SectionName>([
  [0x70, 'header'],
  [0x73, 'properties'],
  [0x74, 'application-properties'],
  [0x75, 'data'],
  [0x77, 'value'],
  ['amqp:header:list', 'header'],
  ['amqp:properties:list', 'properties'],
  ['amqp:application-properties:map', 'application-properties'],
  ['amqp:data:binary', 'data'],
  ['amqp:amqp-value:*', 'value'],
]);

type Reader = (bytes: Buffer, start: number, end: number) => unknown;

const byte: Reader = (bytes, at) => bytes[at];
const signedByte: Reader = (bytes, at) => bytes.readInt8(at);
const text: Reader = (bytes, start, end) => bytes.toString('utf8', start, end);

/** The types whose values are looked at, by their codes. */
const SIMPLE: ReadonlyMap<number, Reader> = new Map<number, Reader>([
  [0x41, () => true],
  [0x42, () => false],
  [0x43, () => 0],
  [0x44, () => 0],
  [0x50, byte],
  [0x51, signedByte],
  [0x52, byte],
  [0x53, byte],
  [0x54, signedByte],
  [0x55, signedByte],
  [0x56, (bytes, at) => bytes[at] === 1],
  [0x60, (bytes, at) => bytes.readUInt16BE(at)],
  [0x61, (bytes, at) => bytes.readInt16BE(at)],
  [0x70, (bytes, at) => bytes.readUInt32BE(at)],
  [0x71, (bytes, at) => bytes.readInt32BE(at)],
  [0x80, (bytes, at) => Number(bytes.readBigUInt64BE(at))],
  [0x81, (bytes, at) => Number(bytes.readBigInt64BE(at))],
  [0xa1, text],
  [0xa3, text],
  [0xb1, text],
  [0xb3, text],
]);

const BYTES_OR_TEXT: ReadonlySet<number> = new Set([0xa0, 0xb0, 0xa1, 0xb1]);
/** By the upper half of the code, from 4 on. */
const FIXED_WIDTHS = [0, 1, 2, 4, 8, 16];

/**
 * Reads the sections of a message. What is not needed is skipped by its length, so that nothing that a sender puts there can
 * be wrong, deep or large enough to do harm: the decoder of rhea would end the connection, or fill the memory.
 *
 * @throws SerializationError (`ERR_SERIALIZATION`) for bytes that are no message. Never holds the content.
 */
export function readSections(bytes: Buffer): Sections {
  let header: readonly unknown[] = [];
  let properties: readonly unknown[] = [];
  let application: readonly unknown[] = [];
  const parts: Buffer[] = [];
  for (const section of valuesIn(bytes, 0, bytes.length)) {
    const name = SECTIONS.get(section.descriptor);
    if (name === 'header') header = simpleItems(bytes, section);
    else if (name === 'properties') properties = simpleItems(bytes, section);
    else if (name === 'application-properties') application = simpleItems(bytes, section);
    else if (name && BYTES_OR_TEXT.has(section.code)) parts.push(bytes.subarray(section.start, section.end));
  }
  const [, , ttl, firstAcquirer, deliveryCount] = header;
  return {
    ttl,
    firstAcquirer,
    deliveryCount,
    contentType: properties[6],
    applicationProperties: pairs(application),
    body: parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts),
  };
}

/** The items of a list or a map; undefined for those that are not simple. */
function simpleItems(bytes: Buffer, { code, start, end }: Value): readonly unknown[] {
  if (code === 0x45) return [];
  if (code !== 0xc0 && code !== 0xc1 && code !== 0xd0 && code !== 0xd1) throw unreadable();
  const countWidth = code < 0xd0 ? 1 : 4; // the count is not needed: items end with the bytes
  return valuesIn(bytes, start + countWidth, end).map((value) => simple(bytes, value));
}

function simple(bytes: Buffer, { code, start, end }: Value): unknown {
  return SIMPLE.get(code)?.(bytes, start, end);
}

function pairs(items: readonly unknown[]): Readonly<Record<string, unknown>> {
  const entries: [string, unknown][] = [];
  for (let at = 0; at + 1 < items.length; at += 2) entries.push([String(items[at]), items[at + 1]]);
  return Object.fromEntries(entries);
}

/** The values that follow each other, none of them opened. */
function valuesIn(bytes: Buffer, start: number, end: number): readonly Value[] {
  const values: Value[] = [];
  for (let at = start; at < end;) {
    const described = bytes[at] === 0 ? valueAt(bytes, at + 1, end, undefined) : undefined;
    const descriptor = described && simple(bytes, described);
    const value = valueAt(bytes, described?.end ?? at, end, descriptor);
    values.push(value);
    at = value.end;
  }
  return values;
}

/** The one that begins there, and must end by the end. */
function valueAt(bytes: Buffer, at: number, end: number, descriptor: unknown): Value {
  const code = bytes[at] ?? 0;
  const kind = code >>> 4;
  if (at >= end || kind < 0x4) throw unreadable(); // a description of a description, or nothing that there is
  const sizeWidth = kind < 0xa ? 0 : kind % 2 === 0 ? 1 : 4;
  const start = at + 1 + sizeWidth;
  if (start > end) throw unreadable();
  const value = { descriptor, code, start, end: start + lengthOf(bytes, kind, at + 1) };
  if (value.end > end) throw unreadable();
  return value;
}

function lengthOf(bytes: Buffer, kind: number, at: number): number {
  if (kind < 0xa) return FIXED_WIDTHS[kind - 4] ?? 0;
  return kind % 2 === 0 ? bytes.readUInt8(at) : bytes.readUInt32BE(at);
}

function unreadable(): SerializationError {
  return new SerializationError('Cannot read the message: it is not as AMQP 1.0 has messages');
}
