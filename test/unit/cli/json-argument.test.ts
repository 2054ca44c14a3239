import { expect } from 'chai';
import { describe, it } from 'mocha';
import { parseJsonObject } from '#cli/json-argument.js';

describe('JSON on the command line', () => {
  it('reads an object, big integers exactly', () => {
    expect(parseJsonObject('The arguments', '{"n": 9007199254740993}')).to.deep.equal({
      n: 9007199254740993n,
    });
  });

  it('keeps __proto__ a member like any other', () => {
    const args = parseJsonObject('The arguments', '{"__proto__": {"polluted": true}}');
    expect(Object.hasOwn(args, '__proto__')).to.be.true;
    expect(({} as { polluted?: boolean }).polluted).to.be.undefined;
  });

  const faults: readonly [string, string][] = [
    ['{"a": }', 'expected a value at line 1, column 7'],
    ['{message: 1}', 'expected a member name in double quotes at line 1, column 2'],
    ['{"a": 1,\n}', 'line 2, column 1'],
    ['{"a": 1} trailing', 'expected nothing more at line 1, column 10'],
    ['{"a": "s3cret', 'line 1, column 7'],
    ['['.repeat(100_000), 'nested more than'],
  ];
  for (const [text, place] of faults) {
    it(`names the place of the fault in ${text.slice(0, 20)}`, () => {
      expect(() => parseJsonObject('The arguments', text))
        .to.throw(place)
        .with.property('code', 'ERR_USAGE');
      expect(() => parseJsonObject('The arguments', text)).not.to.throw('s3cret');
    });
  }

  const others: readonly [string, string][] = [
    ['', 'empty text'],
    ['  ', 'empty text'],
    ['null', 'null'],
    ['[1]', 'a list: arguments go by name'],
    ['"text"', 'a string'],
    ['12', 'a number'],
  ];
  for (const [text, kind] of others) {
    it(`refuses ${JSON.stringify(text)}, which is no object`, () => {
      expect(() => parseJsonObject('--context', text)).to.throw(
        `--context must be a JSON object, not ${kind}`,
      );
    });
  }
});
