import { createHash } from 'node:crypto';
import {
  addContext,
  type BodyForm,
  contextSize,
  type ContextValues,
  copyContext,
  copyPlain,
  decodeEnvelopedBytes,
  estimateSize,
  LocalBody,
  type PlainObject,
  type PlainValue,
  readContext,
  SerializationError,
  uniqueId,
  type WireMessage,
} from '@ebbgate/core';
import type { Notification } from './notification.js';

/** Characters of an id or a name that is kept or logged. */
const LONGEST_NAME = 1024;

/** A notification on its way to one topic. */
interface Addressed {
  readonly notification: Notification;
  /** Fresh for each topic: by it a duplicate is known. */
  readonly uniqueId: string;
}

/** A notification as it was received. */
export interface IncomingNotification {
  /** Undefined when its sender gave none: then it is never a duplicate. */
  readonly uniqueId: string | undefined;
  /** The same for all topics it was sent to. */
  readonly messageId: string | undefined;
  /** Who sent it. */
  readonly publisherId: string | null;
  /** What has happened. */
  readonly eventType: string;
  /** In lower case; any text. */
  readonly priority: string;
  /** What it says. */
  readonly payload: PlainValue;
  /** When it was made, as its sender wrote it. */
  readonly timestamp: string | undefined;
  /** What its sender let travel. */
  readonly context: ContextValues;
}

const enveloped: BodyForm<Addressed> = Object.freeze({
  toWire: ({ notification, uniqueId: id }: Addressed) => {
    const { messageId, publisherId, eventType, priority, payload, timestamp, context } = notification;
    const inner: Record<string, unknown> = {
      message_id: messageId,
      publisher_id: publisherId,
      event_type: eventType,
      priority: priority.toUpperCase(),
      payload,
      timestamp,
      _unique_id: id,
    };
    addContext(inner, context);
    return inner;
  },
  fork: ({ notification, uniqueId: id }: Addressed) => ({
    notification: {
      ...notification,
      payload: copyPlain(notification.payload),
      context: copyContext(notification.context),
    },
    uniqueId: id,
  }),
  size: ({ notification }: Addressed) =>
    256 + estimateSize(notification.payload) + contextSize(notification.context),
});
const bare: BodyForm<Addressed> = Object.freeze({ ...enveloped, isBare: true });

/** The two formats: 2.0 is in oslo.messaging's envelope (`messagingv2`), 1.0 is not (`messaging`). */
export type Format = '1.0' | '2.0';

/** A message for one topic. */
export function notificationMessage(notification: Notification, format: Format): WireMessage {
  const id = uniqueId();
  const body = new LocalBody({ notification, uniqueId: id }, format === '2.0' ? enveloped : bare);
  return { id, body, deadline: undefined, expirationMs: undefined };
}

/**
 * The notification in a message.
 * @throws SerializationError (`ERR_SERIALIZATION`) when it is none.
 */
export function readNotification({ body }: WireMessage): IncomingNotification {
  if (body instanceof LocalBody && isAddressed(body.local)) {
    const { notification, uniqueId: id } = body.local;
    return { ...notification, uniqueId: id };
  }
  const inner = decodeEnvelopedBytes(body.encode());
  return {
    uniqueId: optionalText(inner, '_unique_id'),
    messageId: optionalText(inner, 'message_id'),
    publisherId: optionalText(inner, 'publisher_id') ?? null,
    eventType: text(inner, 'event_type'),
    priority: text(inner, 'priority').toLowerCase(),
    payload: own(inner, 'payload') ?? null,
    timestamp: optionalText(inner, 'timestamp'),
    context: readContext(inner),
  };
}

/** By what attempts at a message are counted: its id, or what it holds when it has none. */
export function attemptKey(incoming: IncomingNotification, { body }: WireMessage): string {
  return (
    incoming.uniqueId ?? incoming.messageId ?? createHash('sha256').update(body.encode()).digest('base64')
  );
}

function isAddressed(local: unknown): local is Addressed {
  return typeof local === 'object' && local !== null && 'notification' in local;
}

function own(inner: PlainObject, key: string): PlainValue | undefined {
  return Object.hasOwn(inner, key) ? inner[key] : undefined;
}

function optionalText(inner: PlainObject, key: string): string | undefined {
  const value = own(inner, key);
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'string' && value.length <= LONGEST_NAME) return value;
  throw new SerializationError(`"${key}" must be text of at most ${String(LONGEST_NAME)} characters`, {
    path: key,
  });
}

function text(inner: PlainObject, key: string): string {
  const value = optionalText(inner, key);
  if (value !== undefined) return value;
  throw new SerializationError(`A notification needs a text "${key}"`, { path: key });
}
