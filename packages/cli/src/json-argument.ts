import { decodeJson, type PlainObject, type PlainValue, SerializationError } from '@ebbgate/core';
import { UsageError } from './usage-error.js';

const EXAMPLE = `'{"message": "hello"}'`;
/** Our reader's words for a message; here it was no message. */
const PREFIX = /^Cannot read the message(?: as JSON)?: /;

/**
 * A JSON object from the command line.
 *
 * @param name - what it is, for the error
 * @throws UsageError with the place of the fault, never with the text, which may hold secrets
 */
export function parseJsonObject(name: string, text: string): PlainObject {
  const value = parseJson(name, text);
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  throw new UsageError(`${name} must be a JSON object, not ${kindOf(value)}; write it like ${EXAMPLE}`);
}

/**
 * Any JSON value from the command line.
 *
 * @param name - what it is, for the error
 * @throws UsageError as above
 */
export function parseJsonValue(name: string, text: string): PlainValue {
  if (text.trim() === '')
    throw new UsageError(`${name} must be JSON, not empty text; write it like ${EXAMPLE}`);
  return parseJson(name, text);
}

function parseJson(name: string, text: string): PlainValue {
  if (text.trim() === '')
    throw new UsageError(`${name} must be a JSON object, not empty text; write it like ${EXAMPLE}`);
  try {
    return decodeJson(text);
  } catch (error) {
    if (!(error instanceof SerializationError)) throw error;
    const why = error.message.replace(PREFIX, '');
    throw new UsageError(`${name} must be JSON: ${why}; in a shell, quote it like ${EXAMPLE}`);
  }
}

function kindOf(value: PlainValue): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'a list: arguments go by name' : `a ${typeof value}`;
}
