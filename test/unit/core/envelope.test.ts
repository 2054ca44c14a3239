import { deepStrictEqual } from 'node:assert';
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import { decodeEnvelopedObject, readEnvelope, readEnvelopedObject, wrapEnvelope } from '#core/envelope.js';
import { SerializationError } from '#core/errors.js';
import { decodeJson, encodeJson } from '#core/json.js';
import { toPlain } from '#core/plain-copy.js';
import type { PlainValue } from '#core/plain-value.js';
import { readVectors } from '../../support/vectors.js';

describe('readEnvelope, by vectors/envelope', () => {
  const vectors = readVectors('vectors/envelope') as {
    input: PlainValue;
    result?: unknown;
    error?: string;
  }[];
  for (const { input, result, error } of vectors) {
    if (error === undefined) {
      it(`reads ${JSON.stringify(input)}`, () => {
        deepStrictEqual(readEnvelope(input), result);
      });
    } else {
      it(`refuses ${JSON.stringify(input)}`, () => {
        expect(() => readEnvelope(input)).to.throw(SerializationError, /^Cannot read the message/);
      });
    }
  }
});

describe('The envelope', () => {
  it('is the one of oslo.messaging', () => {
    expect(wrapEnvelope('{"a":"é\\""}')).to.equal(
      '{"oslo.version":"2.0","oslo.message":"{\\"a\\":\\"é\\\\\\"\\"}"}',
    );
  });

  it('gives back what was put into it', () => {
    const value = fc.oneof(
      fc.jsonValue({ stringUnit: 'binary' }),
      fc.bigInt(),
      fc.constantFrom('\ud800', '\\', '"'),
    );
    fc.assert(
      fc.property(value, (message) => {
        const body = wrapEnvelope(encodeJson(message));
        deepStrictEqual(readEnvelope(decodeJson(body)), toPlain(message));
        // What arrives has gone through UTF-8.
        deepStrictEqual(readEnvelope(decodeJson(Buffer.from(body).toString())), toPlain(message));
      }),
    );
  });

  it('carries whatever may be sent, however deep', () => {
    let args: unknown = 1;
    for (let level = 0; level < 256; level += 1) args = [args];
    const message = `{"method":"m","args":{"a":${encodeJson(args)}}}`;
    expect(readEnvelope(decodeJson(wrapEnvelope(message)))).to.have.property('method', 'm');
  });

  const refused: [string, PlainValue][] = [
    ['a version that is a number', { 'oslo.version': 2.0, 'oslo.message': '{}' }],
    ['a version that is an object', { 'oslo.version': {}, 'oslo.message': '{}' }],
    ['a version of another form', { 'oslo.version': ' 2.0 sEcReT', 'oslo.message': '{}' }],
    ['a message that is an object', { 'oslo.version': '2.0', 'oslo.message': { a: 'sEcReT' } }],
    ['a message that is null', { 'oslo.version': '2.0', 'oslo.message': null }],
    ['a message that is broken', { 'oslo.version': '2.0', 'oslo.message': '{"a": sEcReT' }],
    ['a message that is a bomb', { 'oslo.version': '2.0', 'oslo.message': '['.repeat(100_000) }],
  ];
  for (const [name, body] of refused) {
    it(`refuses ${name}, without its content (SEC-04)`, () => {
      expect(() => readEnvelope(body))
        .to.throw(SerializationError)
        .with.property('message')
        .that.does.not.contain('sEcReT');
    });
  }

  it('reads versions by the rule of compatibility', () => {
    for (const version of ['2.0', '2.0.0', '2.0.0.7']) {
      deepStrictEqual(readEnvelope({ 'oslo.version': version, 'oslo.message': '{}' }), {});
    }
    for (const version of ['2', '2.1', '2.0.1', '1.9', '3.0', '', '2.0x', '2.x', '20']) {
      expect(() => readEnvelope({ 'oslo.version': version, 'oslo.message': '{}' }), version).to.throw(
        SerializationError,
      );
    }
  });

  it('counts own members only (SEC-06)', () => {
    const body = decodeJson('{"__proto__":{"oslo.version":"2.0","oslo.message":"{}"},"a":1}');
    expect(readEnvelope(body)).to.equal(body);
  });

  it('is asked for an object where the message must be one', () => {
    deepStrictEqual(readEnvelopedObject({ 'oslo.version': '2.0', 'oslo.message': '{"a":1}' }), { a: 1 });
    deepStrictEqual(readEnvelopedObject({ a: 1 }), { a: 1 });
    for (const body of [null, 5, 'x', [1], { 'oslo.version': '2.0', 'oslo.message': '[1]' }]) {
      expect(() => readEnvelopedObject(body)).to.throw(SerializationError, /it is no object/);
    }
  });

  it('escapes long texts exactly as JSON.stringify does, whether they need much of it or little', () => {
    const piece = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('"', '\\', '\n', '\ud800', '\u2028'),
    );
    fc.assert(
      fc.property(fc.array(piece), fc.constantFrom(0, 10, 20_000), (pieces, plain) => {
        const json = JSON.stringify([...pieces, 'x'.repeat(plain)]);
        expect(wrapEnvelope(json)).to.equal(JSON.stringify({ 'oslo.version': '2.0', 'oslo.message': json }));
        const dense = JSON.stringify('"\\'.repeat(plain));
        expect(JSON.parse(wrapEnvelope(dense))).to.have.property('oslo.message', dense);
      }),
    );
  });

  const bodies = [
    wrapEnvelope('{"a":1,"b":12345678901234567890,"c":-0,"__proto__":{"d":1}}'),
    '{"oslo.version": "2.0", "oslo.message": "{\\"a\\": NaN}"}',
    '{"oslo.version":"2.0","oslo.version":"2.0.0","oslo.message":"{}"}',
    '{"oslo.version":"2.0","oslo.message":"{}","n":12345678901234567890}',
    '{"oslo.message":"{}"}',
    '{"oslo.x":NaN,"method":"m"}',
    '{"method":"m"}',
    '{"oslo.version":"3.0","oslo.message":"{}"}',
    '{"oslo.version":"2.0","oslo.message":"[1]"}',
    '{"oslo.version":"2.0","oslo.message":{}}',
    '{"oslo.version":"2.0"',
    `{"oslo.version":"2.0","oslo.message":"${'['.repeat(5000)}"}`,
    '[]',
  ];
  for (const text of bodies) {
    it(`reads the text ${text.slice(0, 60)} as in two steps`, () => {
      const outcome = (read: () => unknown): unknown => {
        try {
          return read();
        } catch (error) {
          return (error as Error).message;
        }
      };
      deepStrictEqual(
        outcome(() => decodeEnvelopedObject(text)),
        outcome(() => readEnvelopedObject(decodeJson(text))),
      );
    });
  }
});
