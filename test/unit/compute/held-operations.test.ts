import { install } from '@sinonjs/fake-timers';
import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { silentLogger } from '@ebbgate/core';
import { RecordNotFoundError } from '@ebbgate/compute';
import { TaskRegistry } from '@ebbgate/service';
import { HeldOperations } from '#compute/compute/held-operations.js';

describe('operations held open for another host', () => {
  let clock: ReturnType<typeof install>;
  let tasks: TaskRegistry;
  let end: AbortController;
  let held: HeldOperations;

  beforeEach(() => {
    clock = install({ toFake: ['setInterval', 'clearInterval'] });
    tasks = new TaskRegistry();
    end = new AbortController();
    held = new HeldOperations({ tasks, logger: silentLogger, recheckMs: 1000, lifetime: end.signal });
  });

  afterEach(() => {
    clock.uninstall();
  });

  const goesOn = (): Promise<boolean> => Promise.resolve(false);

  it('count as tasks until they are closed (GS-100)', async () => {
    held.open('k', { name: 'live_migration_at_dest', instance: 'i' }, goesOn);
    expect(tasks.snapshot()).to.have.length(1);
    expect(tasks.snapshot()[0]).to.include({
      name: 'live_migration_at_dest',
      subject: 'i',
      kind: 'operation',
    });
    await clock.tickAsync(5000);
    expect(tasks.size).to.equal(1);
    held.close('k');
    expect(tasks.counts).to.include({ opened: 1, completed: 1, failed: 0 });
    expect(clock.countTimers()).to.equal(0);
  });

  it('are opened once, however often the first request comes', () => {
    held.open('k', { name: 'op' }, goesOn);
    held.open('k', { name: 'op' }, goesOn);
    expect(tasks.size).to.equal(1);
    held.close('k', new Error('failed'));
    held.close('k');
    expect(tasks.counts).to.include({ opened: 1, completed: 0, failed: 1 });
    expect(held.isOpen('k')).to.equal(false);
  });

  it('are closed when the records say that they are over and nobody says so', async () => {
    let over = false;
    held.open('k', { name: 'op' }, () => Promise.resolve(over));
    await clock.tickAsync(1000);
    expect(tasks.size).to.equal(1);
    over = true;
    await clock.tickAsync(1000);
    expect(tasks.counts).to.include({ completed: 0, failed: 1 });
    expect(clock.countTimers()).to.equal(0);
  });

  it('are closed when there is no record of them: what was asked for is not known to anybody (GS-100)', async () => {
    held.open('k', { name: 'op' }, () => Promise.reject(new RecordNotFoundError('migration', 'm')));
    await clock.tickAsync(1000);
    expect(tasks.counts).to.include({ completed: 0, failed: 1 });
    expect(clock.countTimers()).to.equal(0);
  });

  it('stay open while the records cannot be asked', async () => {
    held.open('k', { name: 'op' }, () => Promise.reject(new Error('no database')));
    await clock.tickAsync(3000);
    expect(tasks.size).to.equal(1);
  });

  it('are looked at once at a time, however long the records are away (GS-100)', async () => {
    const answers: ((over: boolean) => void)[] = [];
    held.open('k', { name: 'op' }, () => new Promise((resolve) => answers.push(resolve)));
    await clock.tickAsync(10_000);
    expect(answers).to.have.length(1);
    answers[0]?.(false);
    await clock.tickAsync(1000);
    expect(answers).to.have.length(2);
    answers[1]?.(true);
    await clock.tickAsync(0);
    expect(tasks.size).to.equal(0);
  });

  it('are looked at again after a look that failed late', async () => {
    const failures: ((error: Error) => void)[] = [];
    held.open('k', { name: 'op' }, () => new Promise((_resolve, reject) => failures.push(reject)));
    await clock.tickAsync(5000);
    failures[0]?.(new Error('no database'));
    await clock.tickAsync(1000);
    expect(failures).to.have.length(2);
    expect(tasks.size).to.equal(1);
    held.close('k');
  });

  it('are not ended by a look at an earlier one of the same name', async () => {
    let answer: (over: boolean) => void = () => undefined;
    const late = new Promise<boolean>((resolve) => {
      answer = resolve;
    });
    held.open('k', { name: 'op' }, () => late);
    await clock.tickAsync(1000);
    held.close('k');
    held.open('k', { name: 'op' }, goesOn);
    answer(true);
    await clock.tickAsync(0);
    expect(held.isOpen('k')).to.equal(true);
    held.close('k');
  });

  it('leave no timer behind when the run ends', () => {
    held.open('k', { name: 'op' }, goesOn);
    end.abort();
    expect(clock.countTimers()).to.equal(0);
  });
});
