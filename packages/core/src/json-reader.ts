import { SerializationError } from './errors.js';
import { endOfString } from './json-scan.js';
import { maxIntegerDigits } from './plain-limits.js';
import { setMember, type PlainObject, type PlainValue } from './plain-value.js';

const BLANKS = /[ \t\n\r]*/y;
const NUMBER = /-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?/y;
/** What has to be in the text of a string to need more than cutting out. */
const NEEDS_UNESCAPING = /[\\\u0000-\u001f]/; // eslint-disable-line no-control-regex -- they are what is looked for
const LITERALS: readonly (readonly [string, PlainValue])[] = [
  ['null', null],
  ['true', true],
  ['false', false],
  ['NaN', NaN],
  ['Infinity', Infinity],
  ['-Infinity', -Infinity],
];

/**
 * Reads what `JSON.parse` refuses or reads inexactly, in the way of Python's json: NaN and the infinities, integers
 * exactly. On everything else both agree. The caller has made sure that the text is not too deep for a recursion.
 */
export function readJson(text: string): PlainValue {
  return new JsonReader(text).whole();
}

class JsonReader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  whole(): PlainValue {
    const value = this.#value();
    if (this.#at < this.#text.length) throw this.#fault('nothing more');
    return value;
  }

  /** A value with the blanks around it. */
  #value(): PlainValue {
    this.#skipBlanks();
    const value = this.#bare();
    this.#skipBlanks();
    return value;
  }

  #bare(): PlainValue {
    switch (this.#text[this.#at]) {
      case '{':
        return this.#object();
      case '[':
        return this.#array();
      case '"':
        return this.#string();
      default:
        return this.#literal();
    }
  }

  #object(): PlainObject {
    const object: PlainObject = {};
    this.#at += 1;
    this.#skipBlanks();
    if (this.#take('}')) return object;
    do {
      this.#skipBlanks();
      if (this.#text[this.#at] !== '"') throw this.#fault('a member name in double quotes');
      const name = this.#string();
      this.#skipBlanks();
      if (!this.#take(':')) throw this.#fault('":"');
      setMember(object, name, this.#value());
    } while (this.#take(','));
    if (!this.#take('}')) throw this.#fault('"," or "}"');
    return object;
  }

  #array(): PlainValue[] {
    const array: PlainValue[] = [];
    this.#at += 1;
    this.#skipBlanks();
    if (this.#take(']')) return array;
    do array.push(this.#value());
    while (this.#take(','));
    if (!this.#take(']')) throw this.#fault('"," or "]"');
    return array;
  }

  #string(): string {
    const end = endOfString(this.#text, this.#at);
    if (end < 0) throw this.#fault('a string that ends');
    const inside = this.#text.slice(this.#at + 1, end);
    const text = NEEDS_UNESCAPING.test(inside) ? this.#unescaped(end) : inside;
    this.#at = end + 1;
    return text;
  }

  #unescaped(end: number): string {
    try {
      return JSON.parse(this.#text.slice(this.#at, end + 1)) as string; // it begins and ends with a quote
    } catch {
      throw this.#fault('a string without control characters and unknown escapes');
    }
  }

  #literal(): PlainValue {
    for (const [word, value] of LITERALS) {
      if (!this.#text.startsWith(word, this.#at)) continue;
      this.#at += word.length;
      return value;
    }
    return this.#number();
  }

  #number(): PlainValue {
    NUMBER.lastIndex = this.#at;
    const match = NUMBER.exec(this.#text);
    if (match === null) throw this.#fault('a value');
    const [digits, fraction, exponent] = match;
    if (fraction !== undefined || exponent !== undefined) {
      this.#at = NUMBER.lastIndex;
      return Number(digits);
    }
    const length = digits.length - (digits.startsWith('-') ? 1 : 0);
    if (length > maxIntegerDigits) throw this.#fault(`an integer of at most ${maxIntegerDigits} digits`);
    this.#at = NUMBER.lastIndex;
    const rounded = Number(digits);
    // Python's integer -0 is 0; adding 0 makes it so.
    return Number.isSafeInteger(rounded) ? rounded + 0 : BigInt(digits);
  }

  #take(character: string): boolean {
    if (this.#text[this.#at] !== character) return false;
    this.#at += 1;
    return true;
  }

  #skipBlanks(): void {
    BLANKS.lastIndex = this.#at;
    BLANKS.test(this.#text);
    this.#at = BLANKS.lastIndex;
  }

  #fault(expected: string): SerializationError {
    const before = this.#text.slice(0, this.#at);
    const line = before.split('\n').length;
    const column = before.length - before.lastIndexOf('\n');
    return new SerializationError(
      `Cannot read the message as JSON: expected ${expected} at line ${line}, column ${column}`,
    );
  }
}
