import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import { namePattern } from '#compute/http/name-pattern.js';

describe('compute: patterns of names', () => {
  it('fit as the regular expressions that they are a part of', () => {
    const text = fc.stringMatching(/^[abc]{0,6}$/);
    const pattern = fc.stringMatching(/^\^?(?:[abc.]\*?|\\[.*-])(?:[abc.]\*?){0,5}\$?$/);
    fc.assert(
      fc.property(pattern, text, (written, name) => {
        expect(namePattern(written)?.(name), written).to.equal(new RegExp(written).test(name));
      }),
    );
  });

  it('are no others: undefined for groups, sets, counts and classes', () => {
    for (const written of ['(a)', '[a]', 'a{2}', 'a|b', 'a+', 'a?', '*', 'a**', '\\w', '\\', 'a^b', 'a$b'])
      expect(namePattern(written), written).to.equal(undefined);
  });

  it('take no time that grows with what they could fit (SEC-04)', () => {
    const fits = namePattern(`${'a*'.repeat(120)}b`);
    expect(fits?.('a'.repeat(255))).to.equal(false);
  }).timeout(500);
});
