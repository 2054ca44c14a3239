import type { WireMessage } from '@ebbgate/core';
import rhea, { type Message } from 'rhea';
import { DEADLINE_HEADER, publishProperties, readMessage } from '../properties.js';
import type { Sections } from './sections.js';

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
 * @throws SerializationError (`ERR_SERIALIZATION`), as `readMessage`.
 */
export function fromAmqp({ body, contentType, ttl, applicationProperties }: Sections): WireMessage {
  return readMessage({
    content: body,
    properties: {
      contentType,
      expiration: typeof ttl === 'number' ? String(ttl) : undefined,
      headers: applicationProperties,
    },
  });
}

/** The broker has handed it out before. Only what it says of itself: others leave both fields out. */
export function isRedelivered({ firstAcquirer, deliveryCount }: Sections): boolean {
  return firstAcquirer === false || (typeof deliveryCount === 'number' && deliveryCount > 0);
}
