import type { WireMessage } from '@ebbgate/core';
import rhea, { type Message } from 'rhea';
import { DEADLINE_HEADER, publishProperties, readMessage } from '../properties.js';

/** The largest `ttl`, an unsigned integer of four bytes. */
const MOST_TTL_MS = 0xffff_ffff;
const NO_COMPRESSION = { compression: undefined };

/** What is sent for a message: the properties of AMQP 0-9-1 where AMQP 1.0 has them, so that brokers can translate. */
export function toAmqp(message: WireMessage, isReply: boolean): Message & { readonly body: unknown } {
  const { body, properties } = publishProperties(message, NO_COMPRESSION, { isReply, isMandatory: false });
  const { headers, expiration } = properties;
  const deadline = headers[DEADLINE_HEADER];
  return {
    durable: properties.deliveryMode === 2,
    priority: properties.priority,
    ...(expiration !== undefined && { ttl: Math.min(Number(expiration), MOST_TTL_MS) }),
    content_type: properties.contentType,
    content_encoding: properties.contentEncoding,
    ...(deadline !== undefined && {
      application_properties: { [DEADLINE_HEADER]: rhea.types.wrap_long(Number(deadline)) },
    }),
    body: rhea.message.data_section(body),
  };
}

/** How long the body is that is sent for a message. */
export function bodyLength(message: { readonly body: unknown }): number {
  return (message.body as { readonly content: Buffer }).content.byteLength; // a data section, made above
}

/**
 * A message off the wire.
 *
 * @throws SerializationError (`ERR_SERIALIZATION`), as `readMessage`; also for a body that is neither bytes nor text.
 */
export function fromAmqp(message: Message): WireMessage {
  return readMessage({
    content: bytesOf(message.body),
    properties: {
      contentType: message.content_type,
      expiration: typeof message.ttl === 'number' ? String(message.ttl) : undefined,
      headers: message.application_properties,
    },
  });
}

/** The broker has handed it out before. Only what it says of itself: others leave both fields out. */
export function isRedelivered({ first_acquirer, delivery_count }: Message): boolean {
  return first_acquirer === false || (typeof delivery_count === 'number' && delivery_count > 0);
}

/** Bytes in one or several data sections; or a value, as simple clients send text. Empty for anything else. */
function bytesOf(body: unknown): Buffer {
  if (typeof body === 'string') return Buffer.from(body);
  if (Buffer.isBuffer(body)) return body;
  const content: unknown = (body as { readonly content?: unknown } | null | undefined)?.content;
  if (Buffer.isBuffer(content)) return content;
  const parts = Array.isArray(content) ? content.filter((part) => Buffer.isBuffer(part)) : [];
  return Buffer.concat(parts);
}

/** The size of a body that was refused, for the log. */
export function receivedLength(message: Message): number {
  return bytesOf(message.body).byteLength;
}
