import { deepStrictEqual } from 'node:assert';
import { runInNewContext } from 'node:vm';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { MessagingError, SerializationError } from '#core/errors.js';
import { encodeJson } from '#core/json.js';
import { toPlain } from '#core/plain-copy.js';

class Plain {
  readonly name = 'x';
}

class WithToJson {
  readonly keys: string[] = [];

  toJSON(key: string): unknown {
    this.keys.push(key);
    return { when: new Date(0) };
  }
}

function refusal(
  value: unknown,
  ...more: [limits?: { maxDepth?: number; maxItems?: number }, name?: string]
): SerializationError {
  const errors = [() => toPlain(value, ...more), () => encodeJson(value, ...more)].map((action) => {
    try {
      action();
    } catch (error) {
      expect(error).to.be.instanceOf(SerializationError);
      return error as SerializationError;
    }
    throw new Error('nothing was refused');
  });
  const [error, same] = errors as [SerializationError, SerializationError];
  expect(same.message).to.equal(error.message);
  return error;
}

describe('toPlain', () => {
  const outcomes: [string, unknown, unknown][] = [
    ['an absent value', undefined, null],
    ['an absent member', { a: 1, b: undefined }, { a: 1 }],
    ['an absent element', [1, undefined], [1, null]],
    ['a hole', new Array<number>(2), [null, null]],
    ['-0', [-0], [0]],
    ['a small bigint', 5n, 5],
    ['the last integer that is a number', 2n ** 53n - 1n, 2 ** 53 - 1],
    ['a large bigint', -(2n ** 53n), -(2n ** 53n)],
    ['a large number', 2 ** 60, 2 ** 60],
    ['a Date', new Date(1706933106007), '2024-02-03T04:05:06.007Z'],
    ['a Date of a far year', new Date(Date.UTC(12345, 0)), '+012345-01-01T00:00:00.000Z'],
    ['a Buffer', Buffer.from('hello'), 'aGVsbG8='],
    ['a part of a Buffer', Buffer.from('hello').subarray(1, 3), 'ZWw='],
    ['a Uint8Array', Uint8Array.of(255, 0), '/wA='],
    ['an ArrayBuffer', Uint8Array.of(255, 0).buffer, '/wA='],
    ['a DataView', new DataView(Uint8Array.of(1, 255, 0).buffer, 1, 2), '/wA='],
    [
      'a Map',
      new Map<unknown, unknown>([
        ['a', 1],
        [2, 'b'],
        [null, 3],
        [true, undefined],
      ]),
      { a: 1, 2: 'b', null: 3 },
    ],
    ['a Set', new Set([1, undefined, 'a']), [1, null, 'a']],
    ['boxed primitives', [Object(1), Object('a'), Object(true), Object(2n)], [1, 'a', true, 2]],
    ['an Error', [new TypeError('bad'), new Error('')], ['TypeError: bad', 'Error']],
    ['a URL, which has toJSON()', new URL('http://h/p'), 'http://h/p'],
    ['an object without prototype', Object.assign(Object.create(null) as object, { a: 1 }), { a: 1 }],
    [
      'an object of another realm',
      runInNewContext('({ a: [1, { b: new Date(0) }] })'),
      { a: [1, { b: '1970-01-01T00:00:00.000Z' }] },
    ],
    ['members that are symbols', { [Symbol('s')]: 1, a: 2 }, { a: 2 }],
    ['members that are not enumerable', Object.defineProperty({ a: 1 }, 'b', { value: 2 }), { a: 1 }],
    [
      'a getter',
      {
        get a() {
          return [1];
        },
      },
      { a: [1] },
    ],
    ['further members of an array', Object.assign([1], { extra: 2 }), [1]],
    ['a subclass of Array', new (class Sub extends Array<number> {})(1, 2), [1, 2]],
    ['toJSON() that is no function', { toJSON: 1 }, { toJSON: 1 }],
    ['a toJSON() that gives nothing', { a: { toJSON: () => undefined } }, {}],
    [
      'an object that is used twice',
      ((shared) => [shared, { shared }])({ a: 1 }),
      [{ a: 1 }, { shared: { a: 1 } }],
    ],
  ];
  for (const [name, value, expected] of outcomes) {
    it(`has one outcome for ${name} (CORE-06)`, () => {
      deepStrictEqual(toPlain(value), expected);
    });
  }

  it('calls toJSON() once, with the name of the member (CORE-06)', () => {
    const object = new WithToJson();
    deepStrictEqual(toPlain({ a: object, b: [object], c: new Map([['d', object]]) }), {
      a: { when: '1970-01-01T00:00:00.000Z' },
      b: [{ when: '1970-01-01T00:00:00.000Z' }],
      c: { d: { when: '1970-01-01T00:00:00.000Z' } },
    });
    toPlain(object);
    expect(object.keys).to.deep.equal(['a', '0', 'd', '']);
  });

  it('reads a getter once', () => {
    let reads = 0;
    const object = {
      get a() {
        reads += 1;
        return { n: reads };
      },
    };
    deepStrictEqual(toPlain(object), { a: { n: 1 } });
  });

  it('takes no member from a prototype that was tampered with (SEC-06)', () => {
    const prototype = Object.prototype as { polluted?: unknown };
    prototype.polluted = { a: 1 };
    let plain: unknown;
    try {
      plain = toPlain({ own: 1 });
    } finally {
      delete prototype.polluted;
    }
    expect(plain).to.deep.equal({ own: 1 });
  });

  it('keeps __proto__ as an ordinary member (SEC-06)', () => {
    const value: unknown = JSON.parse('{"__proto__":{"polluted":true},"m":{"__proto__":1}}');
    for (const one of [
      value,
      new Map([
        ['__proto__', { polluted: true }],
        ['m', JSON.parse('{"__proto__":1}') as object],
      ]),
    ]) {
      const plain = toPlain(one) as Record<string, object>;
      expect(Object.getPrototypeOf(plain)).to.equal(Object.prototype);
      expect('polluted' in plain).to.equal(false);
      deepStrictEqual(plain, value);
    }
  });

  const self: Record<string, unknown> = { name: 'x' };
  self['list'] = [1, { back: self }];
  const loop: unknown[] = [];
  loop.push(loop);
  const map = new Map<string, unknown>();
  map.set('a', new Set([map]));
  class Same {
    toJSON(): this {
      return this;
    }
  }
  const invalid = new Date(NaN);
  const refused: [string, unknown, string, RegExp][] = [
    ['a function', { a: { b: () => 1 } }, 'a.b', /it is a function/],
    ['a class', [Plain], '[0]', /it is a function/],
    ['a symbol', [[Symbol('x')]], '[0][0]', /it is a symbol/],
    ['a boxed symbol', { s: Object(Symbol('x')) as unknown }, 's', /it is a symbol/],
    [
      'NaN',
      { disk: [0, 1, 2, { size: NaN }] },
      'disk[3].size',
      /NaN and the infinities cannot be sent; send null or text/,
    ],
    ['an infinity', [Object(-Infinity)], '[0]', /infinities cannot be sent/],
    ['an invalid Date', { when: invalid }, 'when', /invalid date; send null/],
    ['a typed array', { a: Float64Array.of(1) }, 'a', /it is a Float64Array; send Array\.from\(\) of it/],
    ['a SharedArrayBuffer', [new SharedArrayBuffer(1)], '[0]', /SharedArrayBuffer/],
    [
      'an instance of a class',
      { a: [new Plain()] },
      'a[0]',
      /instance of Plain; give the class a toJSON\(\).*JsonPayloadSerializer/,
    ],
    [
      'an instance of a class without a name',
      [Object.create({ constructor: undefined })],
      '[0]',
      /a class without a name/,
    ],
    ['a Promise', { p: Promise.resolve(1) }, 'p', /it is a Promise; await it first/],
    ['a regular expression', { r: /x/ }, 'r', /it is a RegExp/],
    ['a WeakMap', { w: new WeakMap() }, 'w', /it is a WeakMap/],
    [
      'a Map with an object for a key',
      { m: new Map([[{}, 1]]) },
      'm',
      /a key of a Map must be text, a finite number/,
    ],
    ['a Map with NaN for a key', { m: new Map([[NaN, 1]]) }, 'm', /a key of a Map/],
    [
      'a Map with 1 and "1" for keys',
      {
        m: new Map<unknown, number>([
          [1, 1],
          ['1', 2],
        ]),
      },
      'm',
      /two keys of the Map become the same/,
    ],
    ['a function in a Map', { m: new Map([['k y', () => 1]]) }, 'm["k y"]', /it is a function/],
    ['a function in a Set', { s: new Set([1, () => 1]) }, 's[1]', /it is a function/],
    ['a function from toJSON()', { t: { toJSON: () => ({ a: () => 1 }) } }, 't.a', /it is a function/],
    [
      'a toJSON() that throws',
      {
        t: {
          toJSON: () => {
            throw new Error('own');
          },
        },
      },
      't',
      /its toJSON\(\) threw/,
    ],
    ['an integer of 4301 digits', { n: [-(10n ** 4300n)] }, 'n[0]', /more than 4300 digits/],
    ['a value that holds itself', self, 'list[1].back', /it refers back to the whole, so it has no end/],
    ['a part that holds itself', { a: self }, 'a.list[1].back', /it refers back to a, so it has no end/],
    ['an array that holds itself', { loop }, 'loop[0]', /it refers back to loop/],
    ['a Map that holds itself', { map }, 'map.a[0]', /it refers back to map/],
    ['a toJSON() that gives itself', { same: new Same() }, 'same', /it refers back to same/],
  ];
  for (const [name, value, path, message] of refused) {
    it(`refuses ${name} and tells where it is (CORE-06)`, () => {
      const error = refusal(value);
      expect(error.path).to.equal(path);
      expect(error.message).to.match(message);
      expect(error.code).to.equal('ERR_SERIALIZATION');
      expect(refusal({ args: value }).path.replace(/^args\.?/, '')).to.equal(path);
    });
  }

  it('begins the path with the name that it is given', () => {
    expect(refusal([NaN], undefined, 'args').path).to.equal('args[0]');
    expect(refusal(NaN, undefined, 'args').message).to.match(/^Cannot send args: /);
    expect(refusal(NaN).message).to.match(/^Cannot send the value: /);
  });

  it('shows odd and long names shortened and quoted', () => {
    expect(refusal({ 'a b': { ['x'.repeat(10_000)]: NaN } }).path).to.have.length.below(100);
    expect(refusal({ 'a"b': NaN }).path).to.equal('["a\\"b"]');
  });

  it('tells what a getter or toJSON() threw as the cause', () => {
    const cause = new Error('own');
    const getter = {
      get a(): never {
        throw cause;
      },
    };
    expect(refusal(getter).cause).to.equal(cause);
    expect(
      refusal([
        {
          toJSON: () => {
            throw cause;
          },
        },
      ]).cause,
    ).to.equal(cause);
  });

  it('may be called from within toJSON()', () => {
    const value = [
      { toJSON: () => toPlain({ a: new Set([1]) }) },
      {
        toJSON: () => {
          try {
            toPlain(NaN);
          } catch {
            return 'caught';
          }
        },
      },
    ];
    deepStrictEqual(toPlain(value), [{ a: [1] }, 'caught']);
  });

  it('never repeats the content (SEC-04)', () => {
    const secret = { password: 'sEcReT', bad: NaN, when: 'sEcReT', list: ['sEcReT', () => 'sEcReT'] };
    for (const error of [
      refusal(secret),
      refusal({ list: secret.list }),
      refusal([new Error('sEcReT'), Symbol('sEcReT')]),
    ]) {
      expect(`${error.message}${error.path}${error.stack ?? ''}`).not.to.contain('sEcReT');
    }
  });

  it('goes 256 levels deep and no further', () => {
    const nested = (levels: number): unknown => {
      let value: unknown = new Date(0);
      for (let level = 0; level < levels; level += 1) value = level % 2 === 0 ? [value] : { a: value };
      return value;
    };
    expect(() => encodeJson(nested(256))).not.to.throw();
    expect(refusal(nested(257)).message).to.match(/nested more than 256 levels deep$/);
    expect(refusal(nested(100_000)).message).to.match(/nested more than 256 levels deep$/);
    expect(refusal([[1]], { maxDepth: 1 }).path).to.equal('[0]');
    expect(refusal(new Map([['a', new Set([1])]]), { maxDepth: 1 }).path).to.equal('a');
  });

  it('bounds the number of items, shared parts counted each time', () => {
    expect(refusal(new Array(4_294_967_295)).message).to.match(/more than 1000000 items in all$/);
    expect(refusal([1, 2, 3], { maxItems: 2 }).message).to.match(/more than 2 items/);
    expect(toPlain({ a: [1, 2] }, { maxItems: 3 })).to.deep.equal({ a: [1, 2] });
    expect(refusal({ a: [1, 2] }, { maxItems: 2 }).code).to.equal('ERR_SERIALIZATION');
    expect(refusal(new Set([1, 2, 3]), { maxItems: 2 }).message).to.match(/more than 2 items/);
    let bomb: unknown = [1];
    for (let level = 0; level < 100; level += 1) bomb = [bomb, bomb];
    expect(refusal(bomb).message).to.match(/items in all$/);
  });

  it('gives errors of the family', () => {
    expect(refusal(NaN)).to.be.instanceOf(MessagingError);
  });
});
