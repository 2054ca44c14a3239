import { expect } from 'chai';
import { describe, it } from 'mocha';
import { seconds, someSeconds, whole } from '#cli/option-values.js';

describe('values of options', () => {
  it('reads seconds as milliseconds', () => {
    expect(seconds('0')).to.equal(0);
    expect(seconds('2.5')).to.equal(2500);
    expect(someSeconds('0.001')).to.equal(1);
  });

  for (const text of ['', '5s', '-1', '1e3', 'Infinity', 'NaN', '1.', '.5', ' 1', '2147484', '0x10']) {
    it(`refuses ${JSON.stringify(text)} seconds and says what would be right`, () => {
      expect(() => seconds(text)).to.throw(/a number of seconds from 0 to \d+, without a unit/);
    });
  }

  it('refuses no time at all where there must be some', () => {
    expect(() => someSeconds('0')).to.throw('more than 0');
  });

  it('reads whole numbers within their bounds only', () => {
    expect(whole(0, 65535)('65535')).to.equal(65535);
    for (const text of ['65536', '-1', '1.0', '1e3', '', 'x']) {
      expect(() => whole(0, 65535)(text), text).to.throw('a whole number from 0 to 65535');
    }
    expect(() => whole(1)('0')).to.throw('of at least 1');
  });
});
