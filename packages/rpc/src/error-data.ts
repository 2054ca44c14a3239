import { type PlainObject, type PlainValue, redactText, toPlain } from '@ebbgate/core';
import { readMember } from './failure-text.js';

/** What every error has, or what a failure tells in a place of its own. */
const NOT_DATA: ReadonlySet<string> = new Set(['message', 'name', 'stack', 'cause', 'outcome']);

/** What a peer must not be able to set on an error, besides what is no data. */
const FORBIDDEN: ReadonlySet<string> = new Set([...NOT_DATA, '__proto__', 'constructor', 'prototype']);

/** The own members of an error that can be sent, without secrets. Getters are not invoked; what cannot be sent is left out. */
export function dataOf(error: object): PlainObject {
  const data: [string, PlainValue][] = [];
  for (const [name, property] of Object.entries(Object.getOwnPropertyDescriptors(error))) {
    const value: unknown = property.value; // undefined for getters too
    if (property.enumerable !== true || value === undefined || NOT_DATA.has(name)) continue;
    if (name === 'code' && typeof value === 'string') continue; // it travels beside the data
    const plain = plainOrNothing(value);
    if (plain !== undefined) data.push([name, redactMember(name, plain)]);
  }
  return Object.fromEntries(data);
}

/** The member `kwargs` of an error, if it is an object that can be sent; else an empty one. */
export function kwargsOf(error: unknown): PlainObject {
  const kwargs = readMember(error, 'kwargs');
  const plain = typeof kwargs === 'object' && kwargs !== null ? plainOrNothing(kwargs) : undefined;
  return isPlainObject(plain) ? (redactValue(plain) as PlainObject) : {}; // an object stays one
}

function plainOrNothing(value: unknown): PlainValue | undefined {
  try {
    return toPlain(value);
  } catch {
    return undefined; // one member that cannot be sent must not cost the others
  }
}

export function isPlainObject(value: unknown): value is PlainObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function redactValue(value: PlainValue): PlainValue {
  if (typeof value === 'string') return redactText(value);
  if (Array.isArray(value)) return value.map(redactValue);
  if (!isPlainObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, redactMember(name, member)]),
  );
}

/** The rule for `name=value` in texts decides which members are secret: there is one list of such names, in core. */
function redactMember(name: string, value: PlainValue): PlainValue {
  const sample = `${name}=x`;
  return value !== null && redactText(sample) !== sample ? '***' : redactValue(value);
}

/** A member of an object from the wire that is its own. */
export function memberOf(object: unknown, name: string): unknown {
  return isPlainObject(object) && Object.hasOwn(object, name) ? object[name] : undefined;
}

/** Sets what a peer sent with an error as own members. What the error's class defines is not to be hidden by it. */
export function restoreData(error: Error, data: PlainObject): void {
  for (const [name, value] of Object.entries(data)) {
    if (FORBIDDEN.has(name)) continue;
    if (Object.hasOwn(error, name) || !(name in error)) setOwn(error, name, value, true);
  }
}

/** Sets an own member, or leaves it where the class has made that impossible. */
export function setOwn(error: Error, name: string, value: unknown, enumerable: boolean): void {
  Reflect.defineProperty(error, name, { value, enumerable, configurable: true, writable: true });
}
