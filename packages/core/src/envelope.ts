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
  return `{"${VERSION}":"2.0","${MESSAGE}":${quoted(messageJson)}}`;
}

/** From so many characters on it pays to look first. */
const LONG = 8192;
/** Less than one in so many characters needs an escape. */
const SPARSE = 128;

/**
 * JSON text as a JSON string. It has no control characters and no lone surrogates, so quotes and backslashes
 * are all that needs an escape; where they are few, in a message that is one large text, say, replacing them takes a tenth
 * of the time that `JSON.stringify` takes to look at each character.
 */
function quoted(json: string): string {
  const most = json.length / SPARSE;
  if (json.length < LONG || hasMore(json, '\\', most) || hasMore(json, '"', most))
    return JSON.stringify(json);
  return `"${json.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
}

function hasMore(text: string, character: string, most: number): boolean {
  let count = 0;
  for (let at = text.indexOf(character); at >= 0; at = text.indexOf(character, at + 1)) {
    count += 1;
    if (count > most) return true;
  }
  return false;
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
  return object(readEnvelope(body));
}

function object(message: PlainValue): PlainObject {
  if (isObject(message)) return message;
  throw new SerializationError('Cannot read the message: it is no object');
}

/**
 * As {@link readEnvelopedObject}, from the JSON text of a whole body. Of an ordinary envelope the message alone is read
 * with care for its numbers and depth.
 *
 * @throws SerializationError (`ERR_SERIALIZATION`) for what is no JSON, too, or nested too deep.
 */
export function decodeEnvelopedObject(text: string): PlainObject {
  const message = text.startsWith('{"oslo.') ? messageIn(text) : undefined;
  if (message === undefined) return readEnvelopedObject(decodeJson(text));
  return object(decodeJson(message));
}

/** The message in an envelope of version 2.0; undefined for all else. */
function messageIn(text: string): string | undefined {
  try {
    const { [VERSION]: version, [MESSAGE]: message } = JSON.parse(text) as Record<string, unknown>; // it begins as an object
    return version === '2.0' && typeof message === 'string' ? message : undefined;
  } catch {
    return undefined;
  }
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
