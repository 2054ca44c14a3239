import { SerializationError } from './errors.js';
import { completeLimits, maxIntegerDigits, plainLimits, type PlainLimits } from './plain-limits.js';
import { Refusal } from './plain-refusal.js';
import { copySpecial } from './plain-special.js';
import { setMember, type PlainObject, type PlainValue } from './plain-value.js';

const LARGEST_INTEGER = 10n ** BigInt(maxIntegerDigits);

/**
 * One copy of one value. A method gives `undefined` for what is to be dropped, and for what is refused, having set
 * {@link CopyPass.refusal}: one comparison tells the usual case from both.
 */
export class CopyPass {
  readonly limits: Required<PlainLimits>;
  /** How many instances of classes may lie within each other; 0 refuses them all. */
  readonly maxInstances: number;
  /** How many lie around the current value. */
  instances = 0;
  refusal: Refusal | undefined = undefined;
  readonly #maxDepth: number;
  #left: number;

  constructor(limits: Required<PlainLimits>, maxInstances: number) {
    this.limits = limits;
    this.maxInstances = maxInstances;
    this.#maxDepth = limits.maxDepth;
    this.#left = limits.maxItems;
  }

  /** @param depth How many arrays and objects lie around the value. */
  value(value: unknown, key: string | number, depth: number): PlainValue | undefined {
    switch (typeof value) {
      case 'string':
      case 'boolean':
        return value;
      case 'number':
        return this.#number(value);
      case 'object':
        return value === null ? null : this.#object(value, key, depth);
      case 'undefined':
        return undefined;
      case 'bigint':
        return this.#bigint(value);
      case 'function': {
        this.refuse('it is a function; leave it out, or send what it returns');
        return;
      }
      case 'symbol': {
        this.refuse('it is a symbol; send its description as text');
        return;
      }
    }
  }

  /** The own enumerable members with text names, of an object that is known to be plain. */
  record(value: object, depth: number): PlainObject | undefined {
    if (!this.enter(depth)) return undefined;
    const source = value as Readonly<Record<string, unknown>>; // any object can be read so
    const copy: PlainObject = {};
    let count = 0;
    for (const key in source) {
      // Measured: for…in with this call is faster than Object.keys, Object.hasOwn and spreading over many shapes.
      if (!Object.prototype.hasOwnProperty.call(source, key)) continue;
      count += 1;
      const member = source[key];
      const plain = typeof member === 'string' ? member : this.value(member, key, depth + 1);
      if (plain === undefined) {
        if (this.refusal !== undefined) {
          this.refuseIn(value, key);
          return;
        }
      } else if (key === '__proto__') {
        setMember(copy, key, plain);
      } else {
        copy[key] = plain;
      }
    }
    return this.spend(count) ? copy : undefined;
  }

  /** False, and a refusal, for a level too many. */
  enter(depth: number): boolean {
    if (depth < this.#maxDepth) return true;
    this.refuse(`it is nested more than ${this.#maxDepth} levels deep`);
    return false;
  }

  /** False, and a refusal, when these are items too many. */
  spend(items: number): boolean {
    this.#left -= items;
    if (this.#left >= 0) return true;
    this.refuse(`there are more than ${this.limits.maxItems} items in all`);
    return false;
  }

  refuse(reason: string, cause?: unknown): void {
    this.refusal = new Refusal(reason, cause);
  }

  /** @param key Absent when the refused value stands in the place of its holder. */
  refuseIn(holder: object, key?: string | number): void {
    this.refusal?.isIn(holder, key);
  }

  #object(value: object, key: string | number, depth: number): PlainValue | undefined {
    if (Array.isArray(value)) return this.#array(value, depth);
    const prototype: unknown = Object.getPrototypeOf(value);
    if (prototype === Object.prototype || prototype === null) {
      const { toJSON } = value as { toJSON?: unknown }; // may be there or not
      if (typeof toJSON !== 'function') return this.record(value, depth);
    }
    return copySpecial(this, value, key, depth);
  }

  #array(value: readonly unknown[], depth: number): PlainValue[] | undefined {
    const { length } = value;
    if (!this.enter(depth) || !this.spend(length)) return undefined;
    const copy = new Array<PlainValue>(length); // pushing would leave room for sixteen more
    for (let index = 0; index < length; index += 1) {
      const element = value[index];
      const plain = typeof element === 'string' ? element : this.value(element, index, depth + 1);
      if (plain !== undefined) copy[index] = plain;
      else if (this.refusal === undefined) copy[index] = null;
      else {
        this.refuseIn(value, index);
        return;
      }
    }
    return copy;
  }

  #number(value: number): PlainValue | undefined {
    // JSON.stringify writes -0 as 0; adding 0 makes it so and changes nothing else.
    if (Number.isFinite(value)) return value + 0;
    this.refuse('NaN and the infinities cannot be sent; send null or text');
  }

  #bigint(value: bigint): PlainValue | undefined {
    if (value >= Number.MIN_SAFE_INTEGER && value <= Number.MAX_SAFE_INTEGER) return Number(value);
    if (value < LARGEST_INTEGER && value > -LARGEST_INTEGER) return value;
    this.refuse(`it is an integer of more than ${maxIntegerDigits} digits; send it as text`);
  }
}

/**
 * A copy that shares no object with the value, exactly what `decodeJson(encodeJson(value))` gives. What becomes of
 * each kind of value is the table in `docs/decisions/0003-json-values.md`; an absent value (undefined) becomes null.
 *
 * @param name What the value is called in an error's path, such as `args`.
 * @throws SerializationError (`ERR_SERIALIZATION`) with the `path` of what cannot be sent; never with its content.
 */
export function toPlain(value: unknown, limits: PlainLimits = plainLimits, name = ''): PlainValue {
  return run(new CopyPass(completeLimits(limits), 0), value, name);
}

/**
 * As {@link toPlain}, but an instance of a class becomes an object of its own attributes, methods left out.
 *
 * @param maxInstances How many instances may lie within each other.
 */
export function toPlainWithInstances(value: unknown, maxInstances: number, name = ''): PlainValue {
  return run(new CopyPass(plainLimits, maxInstances), value, name);
}

function run(pass: CopyPass, value: unknown, name: string): PlainValue {
  let plain: PlainValue | undefined;
  try {
    plain = pass.value(value, '', 0);
  } catch (cause) {
    throw new SerializationError('Cannot send the value: a getter or a proxy in it threw', {
      path: name,
      cause,
    });
  }
  if (pass.refusal !== undefined) throw pass.refusal.toError(name);
  return plain ?? null;
}

/** A copy of what is known to be plain, that is of what {@link toPlain} or `decodeJson` gave. Checks nothing. */
export function copyPlain<Value extends PlainValue>(value: Value): Value {
  return copyAny(value) as Value; // the copy has the shape of the original
}

function copyAny(value: PlainValue): PlainValue {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    const array: PlainValue[] = [];
    for (const element of value) array.push(copyAny(element));
    return array;
  }
  const object: PlainObject = {};
  for (const key in value) {
    const member = value[key];
    if (member === undefined) continue;
    if (key === '__proto__') setMember(object, key, copyAny(member));
    else object[key] = typeof member === 'string' ? member : copyAny(member);
  }
  return object;
}
