import { Backoff } from '@ebbgate/core';
import { expect } from 'chai';
import { describe, it } from 'mocha';

const SETTINGS = { retryIntervalMs: 100, retryIntervalMaxMs: 1000 };

describe('the back-off of drivers', () => {
  it('doubles up to its cap, half of it by chance (AMQP-17)', () => {
    const late = new Backoff(SETTINGS, () => 1);
    expect(Array.from({ length: 6 }, () => late.next(0))).to.deep.equal([100, 200, 400, 800, 1000, 1000]);
    const early = new Backoff(SETTINGS, () => 0);
    expect([early.next(0), early.next(0), early.longest()]).to.deep.equal([50, 100, 500]);
  });

  it('begins again only after what has held (AMQP-17)', () => {
    const backoff = new Backoff(SETTINGS, () => 1);
    expect([backoff.next(0), backoff.next(9_999), backoff.next(10_000)]).to.deep.equal([100, 200, 100]);
  });
});
