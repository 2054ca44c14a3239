import { OperationAbortedError } from '@ebbgate/compute';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { EarlyEnd } from '#compute/compute/early-end.js';

describe('the early end of an operation', () => {
  /** What a drain does. */
  function begin({ abort }: EarlyEnd, reason: Error): boolean {
    if (typeof abort.begin !== 'function') throw new TypeError('it is one');
    return abort.begin(reason);
  }

  it('aborts its signal, for the reason that is given (GS-103)', () => {
    const early = new EarlyEnd();
    const reason = new Error('the host drains');
    expect(begin(early, reason)).to.equal(true);
    expect(early.signal.reason).to.be.instanceOf(OperationAbortedError);
    expect(early.signal.reason).to.include({ message: 'the host drains', cause: reason });
  });

  it('does not come any more once there is no way back (GS-76, GS-103)', () => {
    const early = new EarlyEnd();
    early.pass();
    expect(begin(early, new Error('the host drains'))).to.equal(false);
    expect(early.signal.aborted).to.equal(false);
  });
});
