import { types } from 'node:util';
import type { CopyPass } from './plain-copy.js';
import { setMember, type PlainObject, type PlainValue } from './plain-value.js';

/**
 * What neither is a primitive nor a plain object or array. `toJSON()` decides before everything but dates and bytes,
 * whose own would hide an invalid date, and write a Buffer as an object.
 */
export function copySpecial(
  pass: CopyPass,
  value: object,
  key: string | number,
  depth: number,
): PlainValue | undefined {
  if (types.isDate(value)) return dateText(pass, value);
  const bytes = bytesOf(value);
  if (bytes !== undefined) return bytes.toString('base64');
  const { toJSON } = value as { toJSON?: unknown }; // may be there or not
  if (typeof toJSON === 'function') return outcomeOf(pass, value, key, depth);
  if (types.isMap(value)) return fromMap(pass, value, depth);
  if (types.isSet(value)) return fromSet(pass, value, depth);
  if (types.isBoxedPrimitive(value)) return pass.value(unboxed(value), key, depth);
  if (types.isNativeError(value) || value instanceof Error) return Error.prototype.toString.call(value);
  if (isForeignPlain(value)) return pass.record(value, depth);
  return fromInstance(pass, value, depth);
}

function dateText(pass: CopyPass, date: Date): string | undefined {
  const time = Date.prototype.getTime.call(date);
  if (Number.isNaN(time)) {
    pass.refuse('it is an invalid date; send null');
    return;
  }
  return new Date(time).toISOString();
}

function bytesOf(value: object): Buffer | undefined {
  if (types.isUint8Array(value) || types.isDataView(value)) {
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  }
  return types.isArrayBuffer(value) ? Buffer.from(value) : undefined;
}

function outcomeOf(
  pass: CopyPass,
  value: object,
  key: string | number,
  depth: number,
): PlainValue | undefined {
  // A toJSON() that gives an object with toJSON() counts as a level: it might go on for ever.
  if (!pass.enter(depth)) return undefined;
  let outcome: unknown;
  try {
    outcome = (value as { toJSON(key: string): unknown }).toJSON(String(key)); // checked by the caller
  } catch (cause) {
    pass.refuse('its toJSON() threw', cause);
    return;
  }
  const plain = pass.value(outcome, key, depth + 1);
  if (pass.refusal !== undefined) pass.refuseIn(value);
  return plain;
}

function fromMap(pass: CopyPass, map: ReadonlyMap<unknown, unknown>, depth: number): PlainObject | undefined {
  if (!pass.enter(depth)) return undefined;
  const copy: PlainObject = {};
  for (const [key, member] of map) {
    if (!pass.spend(1)) return undefined;
    const name = memberName(key);
    if (name === undefined) {
      pass.refuse('a key of a Map must be text, a finite number, a boolean or null');
      return;
    }
    if (Object.hasOwn(copy, name)) {
      pass.refuse('two keys of the Map become the same text');
      return;
    }
    const plain = pass.value(member, name, depth + 1);
    if (plain !== undefined) setMember(copy, name, plain);
    else if (pass.refusal !== undefined) {
      pass.refuseIn(map, name);
      return;
    }
  }
  return copy;
}

function memberName(key: unknown): string | undefined {
  if (typeof key === 'string') return key;
  if (typeof key === 'boolean' || key === null) return String(key);
  return typeof key === 'number' && Number.isFinite(key) ? String(key) : undefined;
}

function fromSet(pass: CopyPass, set: ReadonlySet<unknown>, depth: number): PlainValue[] | undefined {
  if (!pass.enter(depth)) return undefined;
  const copy: PlainValue[] = [];
  for (const element of set) {
    if (!pass.spend(1)) return undefined;
    const plain = pass.value(element, copy.length, depth + 1);
    if (pass.refusal !== undefined) {
      pass.refuseIn(set, copy.length);
      return;
    }
    copy.push(plain ?? null);
  }
  return copy;
}

/** By the built-in methods, as one of the object's own might say something else. */
function unboxed(value: object): unknown {
  if (types.isNumberObject(value)) return Number.prototype.valueOf.call(value);
  if (types.isStringObject(value)) return String.prototype.valueOf.call(value);
  if (types.isBooleanObject(value)) return Boolean.prototype.valueOf.call(value);
  if (types.isBigIntObject(value)) return BigInt.prototype.valueOf.call(value);
  return Symbol.prototype.valueOf.call(value);
}

/** A plain object of another realm (a `vm` context) has that realm's `Object.prototype`. */
function isForeignPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (typeof prototype !== 'object' || prototype === null) return false;
  return Object.getPrototypeOf(prototype) === null && Object.hasOwn(prototype, 'isPrototypeOf');
}

function fromInstance(pass: CopyPass, value: object, depth: number): PlainObject | undefined {
  const reason = reasonAgainst(pass, value);
  if (reason !== undefined) {
    pass.refuse(reason);
    return;
  }
  if (!pass.enter(depth)) return undefined;
  const copy: PlainObject = {};
  pass.instances += 1;
  for (const [name, member] of Object.entries(value) as [string, unknown][]) {
    // Methods kept in fields are no attributes.
    if (typeof member === 'function') continue;
    if (!pass.spend(1)) return undefined;
    const plain = pass.value(member, name, depth + 1);
    if (plain !== undefined) setMember(copy, name, plain);
    else if (pass.refusal !== undefined) {
      pass.refuseIn(value, name);
      return;
    }
  }
  pass.instances -= 1;
  return copy;
}

function reasonAgainst(pass: CopyPass, value: object): string | undefined {
  const name = className(value);
  if (types.isPromise(value)) return 'it is a Promise; await it first';
  if (ArrayBuffer.isView(value)) {
    return `it is a ${name}; send Array.from() of it, or its bytes as a Uint8Array`;
  }
  if (isOpaque(value)) return `it is a ${name}, which has no content that could be sent`;
  if (pass.maxInstances === 0) {
    return `it is an instance of ${name}; give the class a toJSON(), send a plain object, or use JsonPayloadSerializer`;
  }
  if (pass.instances < pass.maxInstances) return undefined;
  return `it is an instance of ${name} within ${pass.maxInstances} others; send a plain object`;
}

function isOpaque(value: object): boolean {
  return (
    types.isRegExp(value) ||
    types.isWeakMap(value) ||
    types.isWeakSet(value) ||
    types.isGeneratorObject(value) ||
    types.isSharedArrayBuffer(value)
  );
}

function className(value: object): string {
  const { constructor } = value as { constructor?: unknown }; // may have been overwritten
  return typeof constructor === 'function' && constructor.name !== ''
    ? constructor.name.slice(0, 80)
    : 'a class without a name';
}
