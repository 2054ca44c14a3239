import { decodeJson } from '@ebbgate/core';
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import { jsonText, lineText } from '#cli/json-text.js';

describe('JSON on the terminal', () => {
  it('writes any JSON value so that it reads back the same, on one line and indented', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const asWritten: unknown = JSON.parse(JSON.stringify(value));
        expect(JSON.parse(jsonText(value))).to.deep.equal(asWritten);
        expect(JSON.parse(jsonText(value, 2))).to.deep.equal(asWritten);
      }),
    );
  });

  it('keeps one line when asked for one, whatever the text holds', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(jsonText({ text })).not.to.match(/[\r\n\u2028\u2029]/);
      }),
    );
  });

  it('indents as JSON.stringify does', () => {
    const value = { a: [1, { b: [] }], c: {}, d: 'x' };
    expect(jsonText(value, 2)).to.equal(JSON.stringify(value, null, 2));
  });

  it('writes integers in full and floats as floats', () => {
    expect(jsonText(123456789012345678901234567890n)).to.equal('123456789012345678901234567890');
    expect(jsonText(decodeJson('[9007199254740993, 1e300]'))).to.equal('[9007199254740993,1e+300]');
  });

  it('writes what JSON does not have as text', () => {
    expect(jsonText([NaN, Infinity, -Infinity])).to.equal('["NaN","Infinity","-Infinity"]');
  });

  it('keeps a member named __proto__, and leaves out undefined ones', () => {
    expect(jsonText(decodeJson('{"__proto__": {"a": 1}}'))).to.equal('{"__proto__":{"a":1}}');
    expect(jsonText({ a: undefined, b: 1 })).to.equal('{"b":1}');
  });

  it('lets no text steer the terminal (SEC-04)', () => {
    const hostile = 'a\u001b[2J\u009b31m\u202egpj.exe\r\n';
    expect(jsonText(hostile)).to.equal('"a\\u001b[2J\\u009b31m\\u202egpj.exe\\r\\n"');
    expect(lineText(hostile)).to.equal('a\\u001b[2J\\u009b31m\\u202egpj.exe\\u000d\\n');
  });
});
