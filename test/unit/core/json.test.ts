import { deepStrictEqual } from 'node:assert';
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import { ConfigurationError, SerializationError, type MessagingError } from '#core/errors.js';
import { readJson } from '#core/json-reader.js';
import { decodeJson, encodeJson, encodePlain } from '#core/json.js';

function outcome(read: (text: string) => unknown, text: string): { value: unknown } | 'refused' {
  try {
    return { value: read(text) };
  } catch {
    return 'refused';
  }
}

/** The integer -0, which Python reads as 0. */
const negativeZero = /-0(?![\d.eE])/;

describe('decodeJson', () => {
  it('reads what JSON.parse reads, with both of its readers', () => {
    fc.assert(
      fc.property(fc.json({ stringUnit: 'binary' }), fc.constantFrom(undefined, 1, '\t'), (json, indent) => {
        const text = JSON.stringify(JSON.parse(json), undefined, indent);
        fc.pre(!negativeZero.test(text) && !/\d{16}/.test(text));
        deepStrictEqual(decodeJson(text), JSON.parse(text));
        deepStrictEqual(readJson(text), JSON.parse(text));
      }),
    );
  });

  it('refuses what JSON.parse refuses', () => {
    const damaged = fc
      .tuple(fc.json(), fc.nat(), fc.constantFrom('', ...Array.from('{}[],:"\\0-.eE+ntf \n\u0000\ufeff')))
      .map(([json, position, character]) => {
        const at = position % (json.length + 1);
        return json.slice(0, at) + character + json.slice(at + 1);
      });
    fc.assert(
      fc.property(damaged, (text) => {
        fc.pre(!/NaN|Infinity/.test(text) && !negativeZero.test(text) && !/\d{16}/.test(text));
        deepStrictEqual(outcome(decodeJson, text), outcome(JSON.parse, text));
        deepStrictEqual(outcome(readJson, text), outcome(JSON.parse, text));
      }),
      { numRuns: 500 },
    );
  });

  it('reads integers of any size exactly, wherever they stand', () => {
    const number = fc.bigInt({ min: -(10n ** 40n), max: 10n ** 40n });
    const places = fc.constantFrom(
      'X',
      '[X]',
      '[1,X ]',
      '{"a":X}',
      ' X\n',
      '{"a": X, "b": "-0"}',
      '["1234567890123456",X]',
    );
    fc.assert(
      fc.property(number, places, (value, place) => {
        const exact =
          value >= Number.MIN_SAFE_INTEGER && value <= Number.MAX_SAFE_INTEGER ? Number(value) : value;
        const read = decodeJson(place.replace('X', value.toString()));
        expect(
          JSON.stringify(read, (_, one: unknown) =>
            typeof one === 'bigint' ? `big ${one.toString()}` : one,
          ),
        ).to.contain(typeof exact === 'bigint' ? `"big ${exact.toString()}"` : String(exact));
      }),
    );
  });

  it('tells integers from numbers with a fraction or an exponent', () => {
    deepStrictEqual(decodeJson('[9007199254740991, 9007199254740992, -9007199254740992]'), [
      9007199254740991,
      9007199254740992n,
      -9007199254740992n,
    ]);
    deepStrictEqual(
      decodeJson('[9007199254740993.0, 12345678901234567890e0, 1.2345678901234568e+17]'),
      [9007199254740992, 1.2345678901234567e19, 123456789012345680],
    );
    deepStrictEqual(decodeJson('[-0, -0.0, 0, "-0"]'), [0, -0, 0, '-0']);
    deepStrictEqual(decodeJson('{"at":-0}'), { at: 0 });
    expect(decodeJson('9007199254740993')).to.equal(9007199254740993n);
  });

  it('finds a long integer after anything that is as long', () => {
    for (let length = 0; length < 40; length += 1) {
      const blank = ' '.repeat(length);
      deepStrictEqual(decodeJson(`[${blank}12345678901234567]`), [12345678901234567n]);
      deepStrictEqual(decodeJson(`["${'1'.repeat(length)}",12345678901234567]`), [
        '1'.repeat(length),
        12345678901234567n,
      ]);
    }
  });

  it('refuses integers of more than 4300 digits, as Python does', () => {
    expect(decodeJson(`-${'9'.repeat(4300)}`)).to.equal(-BigInt('9'.repeat(4300)));
    for (const text of ['9'.repeat(4301), `[-${'9'.repeat(4301)}]`]) {
      expect(() => decodeJson(text)).to.throw(SerializationError, /at most 4300 digits/);
    }
  });

  it('keeps __proto__ as an ordinary member, whichever reader reads it (SEC-06)', () => {
    for (const text of [
      '{"__proto__":{"polluted":1},"constructor":{"prototype":2}}',
      '{"__proto__":{"polluted":1},"n":NaN}',
    ]) {
      const read = decodeJson(text) as object;
      expect(Object.getPrototypeOf(read)).to.equal(Object.prototype);
      expect(Object.getOwnPropertyDescriptor(read, '__proto__')?.value).to.deep.equal({ polluted: 1 });
      expect('polluted' in read).to.equal(false);
      expect('polluted' in {}).to.equal(false);
    }
  });

  it('reads 272 levels, and refuses more without running out of stack', () => {
    const nested = (levels: number, inside = ''): string => '['.repeat(levels) + inside + ']'.repeat(levels);
    for (const inside of ['', 'NaN', '"[[["', '"\\"[[[{{{\\\\"']) {
      expect(() => decodeJson(nested(272, inside))).not.to.throw();
      expect(() => decodeJson(nested(273, inside))).to.throw(
        SerializationError,
        /nested more than 272 levels deep/,
      );
    }
    for (const bomb of [
      nested(1_000_000),
      '['.repeat(1_000_000),
      '{"a":'.repeat(500_000),
      `[NaN,${'['.repeat(1_000_000)}`,
    ]) {
      expect(() => decodeJson(bomb)).to.throw(SerializationError, /levels deep/);
    }
    expect(() => decodeJson('['.repeat(500))).to.throw(SerializationError, /expected a value/);
    expect(() => decodeJson('[[1]]', { maxDepth: 1 })).to.throw(SerializationError, /more than 1 levels/);
    expect(() => decodeJson('[[1]]', { maxDepth: 2 })).not.to.throw();
    // Wide is not deep.
    expect(() => decodeJson(`[${'[[]],'.repeat(1000)}0]`)).not.to.throw();
  });

  for (const maxDepth of [0, 1001, 1.5, NaN]) {
    it(`does not take a maxDepth of ${maxDepth} (CORE-09)`, () => {
      expect(() => decodeJson('1', { maxDepth })).to.throw(
        ConfigurationError,
        /^maxDepth is .*; it must be a whole number/,
      );
      expect(() => encodeJson(1, { maxDepth })).to.throw(ConfigurationError, /^maxDepth is /);
    });
  }

  it('tells where the fault is, and not what stands there (SEC-04)', () => {
    for (const text of [
      '{"password": sEcReT}',
      '\n  {"a": "sEcReT',
      '["sEcReT" "sEcReT"]',
      'sEcReT',
      '{"a": "sEcReT\\x"}',
      '{sEcReT: 1}',
    ]) {
      try {
        decodeJson(text);
        expect.fail('it was read');
      } catch (error) {
        const { message, cause } = error as MessagingError; // any other error has no such members either
        expect(error).to.be.instanceOf(SerializationError);
        expect(message).to.match(/at line \d+, column \d+$/);
        expect(message).not.to.contain('sEcReT');
        expect(cause).to.equal(undefined);
      }
    }
    expect(() => decodeJson('[1,\n 2,\n x]')).to.throw('expected a value at line 3, column 2');
  });
});

describe('encodeJson', () => {
  it('writes bigint in full', () => {
    expect(encodeJson({ a: [2n ** 64n, -(2n ** 64n), 5n], 'b"': 'c' })).to.equal(
      '{"a":[18446744073709551616,-18446744073709551616,5],"b\\"":"c"}',
    );
  });

  it('writes bigint in full even where a program has given it toJSON()', () => {
    const prototype = BigInt.prototype as { toJSON?: () => string };
    prototype.toJSON = () => 'text';
    try {
      expect(encodeJson([2n ** 64n])).to.equal('[18446744073709551616]');
    } finally {
      delete prototype.toJSON;
    }
  });

  it('writes numbers beyond 2^53 so that they are read as numbers', () => {
    expect(encodeJson([2 ** 53, -1e20, 2 ** 53 - 1, 1e21, 0.1])).to.equal(
      '[9.007199254740992e+15,-1e+20,9007199254740991,1e+21,0.1]',
    );
    expect(encodeJson({ id: '12345678901234567890', n: [1] })).to.equal(
      '{"id":"12345678901234567890","n":[1]}',
    );
  });

  it('writes lone surrogates as escapes, which UTF-8 can carry', () => {
    expect(encodeJson('\ud800x')).to.equal('"\\ud800x"');
  });

  it('is not refused twice: plain values are written unchecked', () => {
    expect(encodePlain({ a: [1, 'é', null, true], b: 2n ** 60n })).to.equal(
      '{"a":[1,"é",null,true],"b":1152921504606846976}',
    );
  });
});
