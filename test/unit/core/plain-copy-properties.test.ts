import { deepStrictEqual } from 'node:assert';
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import { decodeJson, encodeJson, encodePlain } from '#core/json.js';
import { copyPlain, toPlain } from '#core/plain-copy.js';
import { estimateSize } from '#core/plain-size.js';
import type { PlainValue } from '#core/plain-value.js';

const utf16 = fc
  .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 6 })
  .map((codes) => String.fromCharCode(...codes));
const name = fc.oneof(
  fc.constantFrom(
    '__proto__',
    'constructor',
    'toString',
    'hasOwnProperty',
    '',
    '0',
    '-0',
    'NaN',
    '12345678901234567890',
  ),
  utf16,
);
const number = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.constantFrom(-0, 2 ** 53, -(2 ** 53) - 2, 1e20, 1e21, Number.MAX_VALUE, Number.MIN_VALUE),
  fc.integer(),
);
const jsonLeaf = fc.oneof(
  fc.constant(null),
  fc.boolean(),
  number,
  utf16,
  fc.constantFrom('12345678901234567890', '-0'),
);
const leaf = fc.oneof(
  jsonLeaf,
  fc.bigInt(),
  fc.constant(undefined),
  fc.date({ noInvalidDate: true }),
  fc.uint8Array(),
  fc.uint8Array().map((bytes) => new DataView(bytes.buffer)),
  number.map((value): unknown => Object(value)),
  utf16.map((text): unknown => Object(text)),
  utf16.map((text) => new TypeError(text)),
  fc.constant([1, , 3]), // eslint-disable-line no-sparse-arrays -- holes are what is tested
);

function entriesToObject(entries: [string, unknown][], prototype: object | null): object {
  const object = Object.create(prototype) as object;
  for (const [key, value] of entries) {
    Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
  }
  return object;
}

const { any } = fc.letrec<{ any: unknown }>((tie) => {
  const entries = fc.uniqueArray(fc.tuple(name, tie('any')), { maxLength: 4, selector: ([key]) => key });
  return {
    any: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      leaf,
      fc.array(tie('any'), { maxLength: 4 }),
      entries.map((list) => entriesToObject(list, Object.prototype)),
      entries.map((list) => entriesToObject(list, null)),
      entries.map((list) => new Map(list)),
      fc.array(tie('any'), { maxLength: 3 }).map((list) => new Set(list)),
      tie('any').map(
        (value) =>
          new (class Holder {
            toJSON(): unknown {
              return value;
            }
          })(),
      ),
      tie('any').map((value) => ({ toJSON: () => value, ignored: () => 1 })),
    ),
  };
});

const { json } = fc.letrec<{ json: unknown }>((tie) => ({
  json: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    jsonLeaf.filter((value) => typeof value !== 'number' || Math.abs(value) < 2 ** 53),
    fc.array(tie('json'), { maxLength: 4 }),
    fc
      .uniqueArray(fc.tuple(name, tie('json')), { maxLength: 4, selector: ([key]) => key })
      .map((list) => entriesToObject(list, Object.prototype)),
  ),
}));

function objectsIn(value: unknown, found = new Set<unknown>()): Set<unknown> {
  if (typeof value !== 'object' || value === null || found.has(value)) return found;
  found.add(value);
  for (const key of Object.getOwnPropertyNames(value)) {
    objectsIn(Object.getOwnPropertyDescriptor(value, key)?.value, found);
  }
  return found;
}

describe('toPlain, for random values', () => {
  it('gives what encoding and decoding gives (CORE-06)', () => {
    fc.assert(
      fc.property(any, (value) => {
        const plain = toPlain(value);
        deepStrictEqual(plain, decodeJson(encodeJson(value)));
        deepStrictEqual(plain, decodeJson(encodePlain(plain)));
        deepStrictEqual(toPlain(plain), plain);
        deepStrictEqual(copyPlain(plain), plain);
      }),
      { numRuns: 500 },
    );
  });

  it('gives what JSON.parse and JSON.stringify give, for what is JSON (CORE-06)', () => {
    fc.assert(
      fc.property(json, (value) => {
        deepStrictEqual(toPlain(value), JSON.parse(JSON.stringify(value)));
        expect(encodeJson(value)).to.equal(JSON.stringify(value));
      }),
      { numRuns: 300 },
    );
  });

  it('shares no object with the value (CORE-06)', () => {
    fc.assert(
      fc.property(any, (value) => {
        const own = objectsIn(value);
        const plain = toPlain(value);
        expect([...objectsIn(plain)].filter((object) => own.has(object))).to.deep.equal([]);
        const copies = objectsIn(copyPlain(plain));
        expect([...objectsIn(plain)].filter((object) => copies.has(object))).to.deep.equal([]);
      }),
    );
  });

  it('leaves prototypes alone (SEC-06)', () => {
    fc.assert(
      fc.property(any, (value) => {
        const check = (plain: PlainValue): void => {
          if (typeof plain !== 'object' || plain === null) return;
          const expected = Array.isArray(plain) ? Array.prototype : Object.prototype;
          expect(Object.getPrototypeOf(plain)).to.equal(expected);
          for (const member of Object.values(plain)) check(member);
        };
        check(toPlain(value));
      }),
    );
  });

  it('can be estimated within a factor of about three for ASCII', () => {
    const ascii = fc.jsonValue({ maxDepth: 4 });
    fc.assert(
      fc.property(ascii, (value) => {
        const plain = toPlain(value);
        const size = encodePlain(plain).length;
        expect(estimateSize(plain)).to.be.within(size / 3 - 8, size * 3 + 8);
      }),
    );
  });
});
