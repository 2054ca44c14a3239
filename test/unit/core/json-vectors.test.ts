import { deepStrictEqual } from 'node:assert';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { SerializationError } from '#core/errors.js';
import { decodeJson, encodeJson } from '#core/json.js';
import { toPlain } from '#core/plain-copy.js';
import { readVectors } from '../../support/vectors.js';

interface DumpsVector {
  name: string;
  python: string;
  dumps: { result?: string; error?: string };
}

/** Our value for a Python one, and what becomes of it where that is another outcome than Python's. */
interface Case {
  value: unknown;
  /** The JSON text, or undefined for a refusal. Absent: what Python writes is read as the same value as ours. */
  ours?: string | undefined;
  because?: string;
}

class Instance {
  readonly name = 'object';
}

const CASES = new Map<string, Case>([
  ['null', { value: null }],
  ['true', { value: true }],
  ['int', { value: 1 }],
  ['negative', { value: -5 }],
  ['big', { value: 1180591620717411303424n }],
  ['float 1.0', { value: 1.0 }],
  ['float 0.1', { value: 0.1 }],
  ['float 1e22', { value: 1e22 }],
  ['float 1e16', { value: 1e16 }],
  ['float 123456789012345680.0', { value: 123456789012345680 }],
  ['float 1e-7', { value: 1e-7 }],
  ['float -0.0', { value: -0, ours: '0', because: 'JSON.stringify has no -0' }],
  ['nan', { value: NaN, ours: undefined, because: 'it is no JSON' }],
  ['inf', { value: Infinity, ours: undefined, because: 'it is no JSON' }],
  ['-inf', { value: -Infinity, ours: undefined, because: 'it is no JSON' }],
  ['text', { value: 'abc' }],
  ['quotes', { value: 'a"b\\c/d' }],
  ['controls', { value: '\x00\x01\b\t\n\f\r\x1f\x7f' }],
  ['latin1', { value: 'café' }],
  ['bmp', { value: '日本' }],
  ['astral', { value: '😀' }],
  ['lone surrogate', { value: '\ud800' }],
  ['separators', { value: '\u2028\u2029' }],
  ['empty list', { value: [] }],
  ['list', { value: [1, 'a', null] }],
  ['empty dict', { value: {} }],
  ['dict', { value: { b: 1, a: 2 } }],
  ['nested', { value: { a: [{ b: [1, { c: null }] }] } }],
  ['tuple', { value: [1, 2] }],
  ['int key', { value: new Map([[1, 'a']]) }],
  ['float key', { value: new Map([[1.5, 'a']]) }],
  ['bool key', { value: new Map([[true, 'a']]) }],
  ['none key', { value: new Map([[null, 'a']]) }],
  ...['datetime', 'datetime utc'].map((name): [string, Case] => [
    name,
    {
      value: new Date(Date.UTC(2024, 1, 3, 4, 5, 6)),
      ours: '"2024-02-03T04:05:06.000Z"',
      because: 'a Date has milliseconds, and the zone must not be lost',
    },
  ]),
  [
    'datetime +2',
    {
      value: new Date('2024-02-03T04:05:06+02:00'),
      ours: '"2024-02-03T02:05:06.000Z"',
      because: 'a time is converted, not stripped of its zone',
    },
  ],
  ['uuid', { value: '12345678-1234-5678-1234-567812345678' }],
  [
    'bytes',
    { value: Buffer.from('abc'), ours: '"YWJj"', because: 'not all bytes are UTF-8, all have base64' },
  ],
  ['set', { value: new Set([1]) }],
  ['frozenset', { value: Object.freeze(new Set(['x'])) }],
  ['ipv4', { value: '192.0.2.1' }],
  ['ipv6', { value: '2001:db8::1' }],
  ['exception', { value: new RangeError('x'), ours: '"RangeError: x"', because: 'as JavaScript shows it' }],
  ['class', { value: Instance, ours: undefined, because: 'nobody means to send one' }],
  ['function', { value: parseInt, ours: undefined, because: 'nobody means to send one' }],
  ['object', { value: new Instance() }],
  [
    'bytes not utf-8',
    { value: Uint8Array.of(0xff), ours: '"/w=="', because: 'not all bytes are UTF-8, all have base64' },
  ],
  ['range', { value: Array.from({ length: 3 }, (_, index) => index) }],
]);

/** Python refuses them, and JavaScript has no such types. */
const NO_SUCH_TYPE = new Set(['date', 'time', 'timedelta']);

function outcomeOf(value: unknown): string | undefined {
  try {
    return encodeJson(value);
  } catch (error) {
    expect(error).to.be.instanceOf(SerializationError);
    return undefined;
  }
}

describe('encodeJson, by vectors/json_dumps', () => {
  const vectors = readVectors('vectors/json_dumps') as DumpsVector[];

  for (const { name, dumps } of vectors) {
    const entry = CASES.get(name);
    if (entry === undefined) continue;
    const { because } = entry;
    if ('ours' in entry) {
      it(`has another outcome for ${name} than Python, as ${because ?? 'it must'} (CORE-06)`, () => {
        expect(outcomeOf(entry.value)).to.equal(entry.ours);
      });
    } else {
      it(`writes ${name} so that Python reads it as its own (CORE-06)`, () => {
        const text = outcomeOf(entry.value);
        expect(text === undefined).to.equal(dumps.result === undefined);
        if (text === undefined || dumps.result === undefined) return;
        deepStrictEqual(decodeJson(text), decodeJson(dumps.result));
        deepStrictEqual(toPlain(entry.value), decodeJson(dumps.result));
      });
    }
  }

  it('accounts for every vector', () => {
    const names = vectors.map(({ name }) => name);
    expect(names.filter((name) => !CASES.has(name) && !NO_SUCH_TYPE.has(name))).to.deep.equal([]);
    expect([...CASES.keys(), ...NO_SUCH_TYPE].filter((name) => !names.includes(name))).to.deep.equal([]);
    expect([...CASES].filter(([, entry]) => 'ours' in entry && entry.because === undefined)).to.deep.equal(
      [],
    );
  });
});

describe('decodeJson, by vectors/json_loads', () => {
  const vectors = readVectors('vectors/json_loads') as { text: string; result?: string; error?: string }[];
  const results = new Map<string, unknown>([
    ['NaN', NaN],
    ['[Infinity, -Infinity]', [Infinity, -Infinity]],
    ['1180591620717411303424', 1180591620717411303424n],
    ['1E400', Infinity],
    ['{"a":1,"a":2}', { a: 2 }],
    ['"\\ud83d\\ude00"', '😀'],
    ['"\\ud800"', '\ud800'],
    [' 1 ', 1],
    ['-0', 0],
    ['1e5', 100000],
    ['null', null],
  ]);

  for (const { text, result } of vectors) {
    if (result === undefined) {
      it(`refuses ${JSON.stringify(text)}, as Python does`, () => {
        expect(() => decodeJson(text)).to.throw(
          SerializationError,
          /^Cannot read the message as JSON: expected /,
        );
      });
    } else {
      it(`reads ${JSON.stringify(text)} as Python does`, () => {
        expect(results.has(text)).to.equal(true);
        deepStrictEqual(decodeJson(text), results.get(text));
      });
    }
  }

  it('has the expected number of vectors', () => {
    expect(vectors).to.have.length(18);
  });
});
