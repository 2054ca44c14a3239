/**
 * What a message can hold: null, booleans, numbers, text, integers beyond ±(2^53 − 1) as bigint, arrays and plain
 * objects. Numbers are finite unless they were read from a peer that writes NaN and the infinities.
 */
export type PlainValue = null | boolean | number | bigint | string | PlainValue[] | PlainObject;

/** An object of plain values. Every member is its own: `__proto__` too is an ordinary name in it. */
export interface PlainObject {
  /** Any name may be a member, and nothing is inherited. */
  [name: string]: PlainValue;
}

/** Sets a member that is the object's own whatever its name is: assigning to `__proto__` would not. */
export function setMember(object: PlainObject, name: string, value: PlainValue): void {
  if (name !== '__proto__') object[name] = value;
  else Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
}
