import { SerializationError } from './errors.js';
import { readJson } from './json-reader.js';
import { hasLongInteger, isDeeperThan, mayBeInexact } from './json-scan.js';
import { toPlain } from './plain-copy.js';
import {
  completeReadLimits,
  plainLimits,
  readLimits,
  type PlainLimits,
  type ReadLimits,
} from './plain-limits.js';
import type { PlainValue } from './plain-value.js';

/**
 * A value as JSON text, by the rules of {@link toPlain}: `docs/decisions/0003-json-values.md` has the outcome of each
 * kind of value.
 *
 * @throws SerializationError (`ERR_SERIALIZATION`) with the `path` of what cannot be sent; never with its content.
 */
export function encodeJson(value: unknown, limits: PlainLimits = plainLimits, name = ''): string {
  return encodePlain(toPlain(value, limits, name));
}

/**
 * What is known to be plain, that is what `toPlain` gave, as JSON text. Checks nothing.
 *
 * @throws SerializationError (`ERR_SERIALIZATION`) when the text is longer than a string can be.
 */
export function encodePlain(value: PlainValue): string {
  try {
    const text = stringified(value);
    return text === undefined || hasLongInteger(text) ? writeJson(value) : text;
  } catch (cause) {
    throw new SerializationError('Cannot send the value: its text is too long', { cause });
  }
}

/** Undefined when there may be a bigint in it. Some programs give BigInt a `toJSON()` that would make it text. */
function stringified(value: PlainValue): string | undefined {
  if ('toJSON' in BigInt.prototype) return undefined;
  try {
    return JSON.stringify(value);
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}

/**
 * Reads JSON as Python writes it: NaN and the infinities too, integers beyond ±(2^53 − 1) exactly, as bigint. Of a
 * member given twice the last counts; `__proto__` is an ordinary own member.
 *
 * @throws SerializationError (`ERR_SERIALIZATION`) with the place of the fault, never with the text.
 */
export function decodeJson(text: string, limits: ReadLimits = readLimits): PlainValue {
  const { maxDepth } = completeReadLimits(limits);
  if (isDeeperThan(text, maxDepth)) {
    throw new SerializationError(`Cannot read the message: it is nested more than ${maxDepth} levels deep`);
  }
  if (!mayBeInexact(text)) {
    try {
      return JSON.parse(text) as PlainValue; // by definition
    } catch {
      // The other reader knows NaN, and tells the place of a fault without repeating the text.
    }
  }
  return readJson(text);
}

/** For what `JSON.stringify` cannot write: bigint, and numbers that it would write like integers which they are not. */
function writeJson(value: PlainValue): string {
  switch (typeof value) {
    case 'string':
      return JSON.stringify(value);
    case 'number':
      return numberText(value);
    case 'boolean':
    case 'bigint':
      return String(value);
    default:
      return value === null ? 'null' : writeContainer(value);
  }
}

/** With an exponent beyond 2^53, so that it is read as the number that it is and not as an exact integer. */
function numberText(value: number): string {
  return Number.isInteger(value) && !Number.isSafeInteger(value)
    ? value.toExponential()
    : JSON.stringify(value);
}

function writeContainer(value: Extract<PlainValue, object>): string {
  if (Array.isArray(value)) return `[${value.map(writeJson).join(',')}]`;
  const members = Object.entries(value).map(
    ([name, member]) => `${JSON.stringify(name)}:${writeJson(member)}`,
  );
  return `{${members.join(',')}}`;
}
