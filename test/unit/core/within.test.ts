import { timers, within } from '@ebbgate/core';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { deferred, rejectionOf, turn } from '../../support/deferred.js';
import { onFakeClock } from '../../support/fake-clock.js';

const late = (): Error => new Error('late');
const never = (): Promise<never> => new Promise(() => {});

describe('a wait with a limit', () => {
  it('gives what the work gives, and leaves neither timer nor listener (CORE-05)', async () => {
    const abort = new AbortController();
    const { signal } = abort;
    const before = timers.size;
    const work = deferred<number>();
    const limited = within(work.promise, { timeoutMs: 1000, signal }, late);
    expect(timers.size).to.equal(before + 1);
    work.resolve(7);
    expect(await limited).to.equal(7);
    const failing = deferred();
    const failed = rejectionOf(within(failing.promise, { timeoutMs: 1000, signal }, late));
    failing.reject(new Error('its own'));
    expect((await failed).message).to.equal('its own');
    expect(timers.size).to.equal(before);
    abort.abort();
  });

  it('says that it was not done in time when nobody says it better (CORE-11)', async () => {
    await onFakeClock(async (clock) => {
      const limited = rejectionOf(within(never(), { timeoutMs: 100 }));
      await clock.tickAsync(110);
      expect(await limited).to.include({ code: 'ERR_TIMEOUT', message: 'It was not done in time' });
    });
  });

  it('ends at its time and not before, and hears what fails later (CORE-11)', async () => {
    await onFakeClock(async (clock) => {
      const work = deferred();
      const limited = rejectionOf(within(work.promise, { timeoutMs: 100 }, late));
      let done = false;
      void limited.then(() => (done = true));
      await clock.tickAsync(99);
      expect(done).to.equal(false);
      await clock.tickAsync(10);
      expect((await limited).message).to.equal('late');
      work.reject(new Error('nobody hears this'));
      await turn();
    });
  });

  it('ends with the reason of the signal, which may have been aborted before', async () => {
    const reason = new Error('enough');
    const abort = new AbortController();
    const limited = rejectionOf(within(never(), { signal: abort.signal }, late));
    abort.abort(reason);
    expect(await limited).to.equal(reason);
    expect(await rejectionOf(within(never(), { signal: AbortSignal.abort(reason) }, late))).to.equal(reason);
  });

  it('rejects when what makes its error throws', async () => {
    const broken = (): Error => {
      throw new Error('broken');
    };
    expect((await rejectionOf(within(never(), { timeoutMs: 0 }, broken))).message).to.equal('broken');
  });

  for (const timeoutMs of [-1, Number.NaN, Infinity]) {
    it(`rejects ${String(timeoutMs)} milliseconds and hears the work fail (CORE-11)`, async () => {
      const work = deferred();
      const refused = await rejectionOf(within(work.promise, { timeoutMs }, late));
      expect(refused).to.have.property('code', 'ERR_CONFIGURATION');
      work.reject(new Error('nobody hears this'));
      await turn();
    });
  }

  it('is the work itself without a limit', () => {
    const work = never();
    expect(within(work, {}, late)).to.equal(work);
  });

  it('waits on one signal any number of times without a warning about leaks (CORE-10)', async () => {
    const warnings: Error[] = [];
    const onWarning = (warning: Error): void => void warnings.push(warning);
    process.on('warning', onWarning);
    const abort = new AbortController();
    const waits = Array.from({ length: 100 }, () =>
      rejectionOf(within(never(), { signal: abort.signal }, late)),
    );
    abort.abort(new Error('enough'));
    await Promise.all(waits);
    await turn();
    process.off('warning', onWarning);
    expect(warnings).to.deep.equal([]);
  });
});
