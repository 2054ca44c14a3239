import { InstanceLocks } from '#compute/compute/instance-locks.js';
import { OperationAbortedError } from '@ebbgate/compute';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { codeOf } from './test-cloud.js';

function gate(): { readonly open: () => void; readonly opened: Promise<void> } {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

describe('the lock of an instance', () => {
  it('runs one operation on an instance at a time, in the order in which they came', async () => {
    const locks = new InstanceLocks(new AbortController().signal);
    const [first, log] = [gate(), [] as string[]];
    const work = (name: string, until: Promise<void>) => async (): Promise<void> => {
      log.push(`${name} begins`);
      await until;
      log.push(`${name} ends`);
    };
    const all = [
      locks.run('one', work('a', first.opened)),
      locks.run('one', work('b', Promise.resolve())),
      locks.run('one', work('c', Promise.resolve())),
      locks.run('two', work('other', Promise.resolve())),
    ];
    await all[3];
    expect(log).to.deep.equal(['a begins', 'other begins', 'other ends']);
    first.open();
    await Promise.all(all);
    expect(log.slice(3)).to.deep.equal(['a ends', 'b begins', 'b ends', 'c begins', 'c ends']);
    expect(locks.isBusy('one')).to.equal(false);
  });

  it('passes failures on and goes on with the next', async () => {
    const locks = new InstanceLocks(new AbortController().signal);
    const failing = locks.run('one', () => Promise.reject(new OperationAbortedError('no')));
    const next = locks.run('one', () => Promise.resolve('done'));
    expect(await codeOf(failing)).to.equal('ERR_ABORTED');
    expect(await next).to.equal('done');
  });

  it('asks what runs and what waits to end, and nothing that comes afterwards', async () => {
    const locks = new InstanceLocks(new AbortController().signal);
    const hold = gate();
    let asked = false;
    const running = locks.run('one', async (signal) => {
      await hold.opened;
      asked = signal.aborted;
    });
    const waiting = locks.run('one', () => Promise.resolve());
    locks.interrupt('one', new OperationAbortedError('deleted'));
    const after = locks.run('one', (signal) => Promise.resolve(signal.aborted));
    expect(await codeOf(waiting)).to.equal('ERR_ABORTED');
    hold.open();
    await running;
    expect(asked).to.equal(true);
    expect(await after).to.equal(false);
  });

  it('lets nothing begin when the process has ended', async () => {
    const lifetime = new AbortController();
    const locks = new InstanceLocks(lifetime.signal);
    const hold = gate();
    const running = locks.run('one', () => hold.opened);
    const waiting = locks.run('one', () => Promise.resolve());
    lifetime.abort(new OperationAbortedError('The process has ended'));
    expect(await codeOf(waiting)).to.equal('ERR_ABORTED');
    expect(await codeOf(locks.run('two', () => Promise.resolve()))).to.equal('ERR_ABORTED');
    hold.open();
    await running;
  });
});
