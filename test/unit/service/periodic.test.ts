import { install, type Clock } from '@sinonjs/fake-timers';
import { type PeriodicTask, Service } from '@ebbgate/service';
import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { deferred, fakeParts, RecordingLogger } from './fakes.js';

describe('periodic tasks', () => {
  let clock: Clock;
  beforeEach(() => {
    clock = install({
      toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'],
    });
  });
  afterEach(() => clock.uninstall());

  async function started(periodic: PeriodicTask[], logger = new RecordingLogger()): Promise<Service> {
    const parts = fakeParts();
    const service = new Service({ ...parts, logger, manager: { ...parts.manager, periodic }, budgets: {} });
    await service.start();
    return service;
  }

  it('run again and again, each in the task registry while it runs', async () => {
    const seen: string[] = [];
    const sync = {
      name: 'sync',
      intervalMs: 1000,
      run: () => void seen.push(...service.registry.snapshot().map(({ name }) => name)),
    };
    const service = await started([sync]);
    await clock.tickAsync(999);
    expect(seen).to.deep.equal([]);
    await clock.tickAsync(2002);
    expect(seen).to.deep.equal(['periodic:sync', 'periodic:sync', 'periodic:sync']);
    expect(service.registry.size).to.equal(0);
  });

  it('never overlap themselves', async () => {
    let running = 0;
    let most = 0;
    let runs = 0;
    const run = async (): Promise<void> => {
      runs += 1;
      most = Math.max(most, (running += 1));
      await new Promise((resolve) => setTimeout(resolve, 2500));
      running -= 1;
    };
    await started([{ name: 'slow', intervalMs: 1000, initialDelayMs: 0, run }]);
    await clock.tickAsync(10_000);
    expect(most).to.equal(1);
    expect(runs).to.be.within(3, 4);
  });

  it('survive their errors, and log only when that changes (COMP-10)', async () => {
    const logger = new RecordingLogger();
    let runs = 0;
    const run = (): void => {
      runs += 1;
      if (runs <= 2) throw new Error('no');
    };
    await started([{ name: 'flaky', intervalMs: 100, run }], logger);
    await clock.tickAsync(450);
    expect(runs).to.equal(4);
    expect(logger.texts()).to.deep.equal(['Periodic task failed', 'Periodic task works again']);
  });

  it('do not begin in a drain; one that runs ends, and the drain waits for it (GS-97, COMP-06)', async () => {
    let begun = 0;
    const end = deferred();
    const run = async (): Promise<void> => {
      begun += 1;
      await end.promise;
    };
    const other = { name: 'other', intervalMs: 700, run: () => void (begun += 1) };
    const service = await started([{ name: 'slow', intervalMs: 500, run }, other]);
    await clock.tickAsync(501);
    const drained = service.drain('SIGTERM');
    await clock.tickAsync(20_000);
    expect(service.snapshot()).to.include({ state: 'draining', step: 'tasks' });
    expect(service.registry.snapshot().map(({ name }) => name)).to.deep.equal(['periodic:slow']);
    end.resolve();
    await clock.tickAsync(10);
    expect(await drained).to.include({ outcome: 'clean', completed: 1 });
    await clock.tickAsync(20_000);
    expect(begun).to.equal(1);
  });

  it('do not begin when the drain came before the start was over (GS-97, GS-104, COMP-06)', async () => {
    let begun = 0;
    const parts = fakeParts();
    const periodic = [{ name: 'a', intervalMs: 1, initialDelayMs: 0, run: () => void (begun += 1) }];
    const service = new Service({ ...parts, manager: { ...parts.manager, periodic } });
    const start = service.start().catch(() => undefined);
    const drained = service.drain('SIGTERM');
    await clock.tickAsync(2000);
    await Promise.all([start, drained]);
    expect(begun).to.equal(0);
  });
});
