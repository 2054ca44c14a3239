import { getEventListeners } from 'node:events';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { WorkPool } from '#compute/compute/work-pool.js';

function gate(): { readonly open: () => void; readonly passed: Promise<void> } {
  let open = (): void => undefined;
  const passed = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, passed };
}

const never = new AbortController().signal;

describe('the work pool', () => {
  it('runs so many at a time, the others in their order', async () => {
    const pool = new WorkPool(2);
    const gates = [gate(), gate(), gate(), gate()];
    const begun: number[] = [];
    const work = gates.map(({ passed }, index) =>
      pool.run(async () => {
        begun.push(index);
        await passed;
        return index;
      }, never),
    );
    await Promise.resolve();
    await Promise.resolve();
    expect(begun).to.deep.equal([0, 1]);
    expect([pool.running, pool.queued]).to.deep.equal([2, 2]);
    for (const { open } of gates) open();
    expect(await Promise.all(work)).to.deep.equal([0, 1, 2, 3]);
    expect(begun).to.deep.equal([0, 1, 2, 3]);
    expect([pool.running, pool.queued]).to.deep.equal([0, 0]);
  });

  it('passes failures on, and goes on', async () => {
    const pool = new WorkPool(1);
    const failing = pool.run(() => Promise.reject(new Error('no')), never).catch((error: unknown) => error);
    const next = pool.run(() => Promise.resolve('yes'), never);
    expect(await failing)
      .to.be.instanceOf(Error)
      .with.property('message', 'no');
    expect(await next).to.equal('yes');
  });

  it('lets a queued job be aborted, and takes it out of the queue', async () => {
    const pool = new WorkPool(1);
    const { open, passed } = gate();
    const first = pool.run(() => passed, never);
    const abort = new AbortController();
    let ran = false;
    const second = pool
      .run(async () => {
        ran = true;
      }, abort.signal)
      .catch((error: unknown) => error);
    const third = pool.run(() => Promise.resolve(3), never);
    abort.abort();
    expect(await second).to.have.property('code', 'ERR_ABORTED');
    expect(pool.queued).to.equal(1);
    open();
    await first;
    expect(await third).to.equal(3);
    expect(ran).to.equal(false);
    const late = pool.run(() => Promise.resolve(4), abort.signal).catch((error: unknown) => error);
    expect(await late).to.have.property('code', 'ERR_ABORTED');
  });

  it('has one listener for all that wait on one signal, and none when their turn has come (CORE-10)', async () => {
    const pool = new WorkPool(1);
    const { open, passed } = gate();
    const { signal } = new AbortController();
    const jobs = Array.from({ length: 20 }, () => pool.run(() => passed, signal));
    expect(pool.queued).to.equal(19);
    expect(getEventListeners(signal, 'abort')).to.have.length(1);
    open();
    await Promise.all(jobs);
    expect(getEventListeners(signal, 'abort')).to.have.length(0);
  });

  it('takes all that wait out of the queue when their common signal aborts, and runs the others', async () => {
    const pool = new WorkPool(1);
    const { open, passed } = gate();
    const first = pool.run(() => passed, never);
    const abort = new AbortController();
    const given = Array.from({ length: 20 }, () =>
      pool.run(() => Promise.resolve('ran'), abort.signal).catch((error: unknown) => error),
    );
    const last = pool.run(() => Promise.resolve('last'), never);
    abort.abort();
    for (const error of await Promise.all(given)) expect(error).to.have.property('code', 'ERR_ABORTED');
    expect(pool.queued).to.equal(1);
    open();
    await first;
    expect(await last).to.equal('last');
  });
});
