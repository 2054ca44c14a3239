import { getEventListeners } from 'node:events';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { OperationAbortedError } from '#compute/errors.js';
import { pause } from '#compute/virt/pause.js';
import { StepControl } from '#compute/virt/step-control.js';

const codeOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => 'resolved',
    (error: unknown) => (error instanceof OperationAbortedError ? error.code : error),
  );

describe('what the fake hypervisor waits for', () => {
  it('has one listener on a signal that many share, and none in the end (CORE-10)', async () => {
    const { signal } = new AbortController();
    const control = new StepControl();
    const holds = Array.from({ length: 20 }, () => control.hold('start-guest'));
    const waits = [
      ...holds.map(() => control.take('start-guest', 0, { signal })),
      ...holds.map(() => pause(1, signal)),
    ];
    expect(getEventListeners(signal, 'abort')).to.have.length(1);
    for (const { release } of holds) release();
    await Promise.all(waits);
    expect(getEventListeners(signal, 'abort')).to.have.length(0);
  });

  it('ends for all of them when it aborts, as does what begins later', async () => {
    const abort = new AbortController();
    const control = new StepControl();
    for (let each = 0; each < 2; each += 1) control.hold('start-guest');
    const waits = [control.take('start-guest', 0, { signal: abort.signal }), pause(60_000, abort.signal)].map(
      codeOf,
    );
    abort.abort();
    expect(await Promise.all(waits)).to.deep.equal(['ERR_ABORTED', 'ERR_ABORTED']);
    const late = [control.take('start-guest', 0, { signal: abort.signal }), pause(60_000, abort.signal)].map(
      codeOf,
    );
    expect(await Promise.all(late)).to.deep.equal(['ERR_ABORTED', 'ERR_ABORTED']);
    expect(getEventListeners(abort.signal, 'abort')).to.have.length(0);
  });
});
