import { isUtf8 } from 'node:buffer';
import { decodeEnvelopedObject, wrapEnvelope } from './envelope.js';
import { SerializationError } from './errors.js';
import { encodePlain } from './json.js';
import type { MessageBody } from './message.js';
import type { PlainObject } from './plain-value.js';

/** What a body needs to know of its content. */
export interface BodyForm<T> {
  /** The inner object of the wire, its members in oslo.messaging's order; all of it plain. */
  toWire(content: T): Record<string, unknown>;
  /** A copy that shares no object with it. */
  fork(content: T): T;
  /** An estimate of its bytes. */
  size(content: T): number;
  /** Sent as it is, without an envelope: the format 1.0. */
  readonly isBare?: boolean;
}

/** A body that stays an object until somebody asks for its bytes. */
export class LocalBody<T> implements MessageBody {
  /** The content, for a receiver in this process. */
  readonly local: T;
  readonly #form: BodyForm<T>;
  #bytes: Uint8Array | undefined;

  constructor(local: T, form: BodyForm<T>) {
    this.local = local;
    this.#form = form;
  }

  /** Of its bytes, once somebody has asked for them; before, an estimate. */
  get size(): number {
    return this.#bytes?.byteLength ?? this.#form.size(this.local);
  }

  /** Its bytes, made when they are asked for the first time. */
  encode(): Uint8Array {
    if (this.#bytes) return this.#bytes;
    const json = encodePlain(this.#form.toWire(this.local) as PlainObject); // plain throughout
    this.#bytes = Buffer.from(this.#form.isBare ? json : wrapEnvelope(json));
    return this.#bytes;
  }

  /** A body for a further receiver. */
  fork(): MessageBody {
    return new LocalBody(this.#form.fork(this.local), this.#form);
  }
}

/**
 * The inner object in the bytes of a body, with an envelope or without.
 * @throws SerializationError (`ERR_SERIALIZATION`) for what is none, or no UTF-8.
 */
export function decodeEnvelopedBytes(bytes: Uint8Array): PlainObject {
  const buffer = Buffer.isBuffer(bytes)
    ? bytes
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const text = buffer.toString('utf8');
  // What is not UTF-8 leaves this character behind; the converse is looked at where it is there.
  if (text.includes('\ufffd') && !isUtf8(bytes))
    throw new SerializationError('Cannot read the message: it is not UTF-8');
  return decodeEnvelopedObject(text);
}
