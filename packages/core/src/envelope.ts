import { SerializationError } from './errors.js';
import { decodeJson } from './json.js';
import type { PlainObject, PlainValue } from './plain-value.js';

const VERSION = 'oslo.version';
const MESSAGE = 'oslo.message';

/**
 * What a receiver of 2.0 can read by oslo.messaging's rule of versions: the same major, no higher minor, no higher
 * revision; what follows the revision plays no part.
 */
const READABLE = /^2\.0(?:\.0(?:\..*)?)?$/s;
/** A version that may be repeated in an error. */
const ORDINARY = /^[0-9.]{1,20}$/;

/**
 * The envelope of oslo.messaging, format 2.0: an object of two texts, the version and the message as JSON text.
 *
 * @param messageJson The message as JSON text, as `encodeJson` gives it.
 * @returns The JSON text of the whole, which is the body of the AMQP message.
 */
export function wrapEnvelope(messageJson: string): string {
  return `{"${VERSION}":"2.0","${MESSAGE}":${JSON.stringify(messageJson)}}`;
}

/**
 * Takes a message out of its envelope. What has not both members of an envelope is taken as the message itself
 * (format 1.0); further members are ignored.
 *
 * @param body The decoded body.
 * @throws SerializationError (`ERR_SERIALIZATION`) for another version of the envelope, a message that is no text, or
 *   text that is no JSON.
 */
export function readEnvelope(body: PlainValue): PlainValue {
  if (!isObject(body) || !Object.hasOwn(body, VERSION) || !Object.hasOwn(body, MESSAGE)) return body;
  const { [VERSION]: version, [MESSAGE]: message } = body;
  if (typeof version !== 'string' || !READABLE.test(version)) {
    throw new SerializationError(`Cannot read the message: ${versionText(version)}, this side reads 2.0`);
  }
  if (typeof message !== 'string') {
    throw new SerializationError(`Cannot read the message: ${MESSAGE} in its envelope is no text`);
  }
  return decodeJson(message);
}

/**
 * As {@link readEnvelope}, for messages that must be objects: requests, replies and notifications.
 *
 * @throws SerializationError (`ERR_SERIALIZATION`), also when the message is no object.
 */
export function readEnvelopedObject(body: PlainValue): PlainObject {
  const message = readEnvelope(body);
  if (isObject(message)) return message;
  throw new SerializationError('Cannot read the message: it is no object');
}

function isObject(value: PlainValue): value is PlainObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function versionText(version: PlainValue | undefined): string {
  if (typeof version !== 'string') return `${VERSION} in its envelope is no text`;
  return ORDINARY.test(version)
    ? `its envelope has version ${version}`
    : 'the version of its envelope is none';
}
