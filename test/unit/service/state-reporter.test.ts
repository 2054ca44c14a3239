import { install, type Clock } from '@sinonjs/fake-timers';
import { type Manager, Service } from '@ebbgate/service';
import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { deferred, fakeParts, RecordingLogger } from './fakes.js';

describe('state report', () => {
  let clock: Clock;
  beforeEach(() => {
    clock = install({
      toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'],
    });
  });
  afterEach(() => clock.uninstall());

  async function started(
    reportState: Manager['reportState'],
    logger = new RecordingLogger(),
  ): Promise<Service> {
    const service = new Service({ ...fakeParts(), manager: { reportState }, budgets: {}, logger });
    await service.start();
    return service;
  }

  it('comes every 10 s, at once when a drain begins, goes on through it, and last of all says exited (COMP-06)', async () => {
    const reports: string[] = [];
    const service = await started(
      ({ state, ready, tasks }) => void reports.push(`${state} ${ready} ${tasks.length}`),
    );
    await clock.tickAsync(20_001);
    expect(reports).to.deep.equal(['running true 0', 'running true 0', 'running true 0']);
    reports.length = 0;
    const task = service.registry.open({ name: 'build' });
    const drained = service.drain('SIGTERM');
    await clock.tickAsync(20_001);
    expect(reports).to.deep.equal(['draining false 1', 'draining false 1', 'draining false 1']);
    task.end();
    await clock.tickAsync(10);
    await drained;
    expect(reports.at(-1)).to.equal('exited false 0');
    const { length } = reports;
    await clock.tickAsync(60_000);
    expect(reports).to.have.length(length);
  });

  for (const isHeld of [false, true])
    it(`ends with a drain that is cut off, and leaves no timer behind${isHeld ? ', also when one is under way' : ''} (GS-106)`, async () => {
      let reports = 0;
      let hangs = false;
      const service = await started(() => {
        reports += 1;
        return hangs ? new Promise(() => undefined) : undefined;
      });
      service.registry.open({ name: 'build' });
      hangs = isHeld;
      void service.drain('SIGTERM');
      await clock.tickAsync(1);
      service.cutOff();
      await service.exited;
      const before = reports;
      await clock.tickAsync(60_000);
      expect(reports).to.equal(before);
      expect(clock.countTimers()).to.equal(0);
    });

  it('survives every error, logs changes only, and recovers by itself (COMP-10)', async () => {
    const logger = new RecordingLogger();
    let fails = false;
    let reports = 0;
    await started(() => {
      reports += 1;
      if (fails) throw new TypeError('cannot read properties of undefined');
    }, logger);
    fails = true;
    await clock.tickAsync(30_001);
    fails = false;
    await clock.tickAsync(30_000);
    expect(reports).to.equal(7);
    expect(logger.texts()).to.deep.equal([
      'The state report fails; it is tried again',
      'The state report works again',
    ]);
  });

  it('that hangs is given up, and the next one comes (COMP-10)', async () => {
    let reports = 0;
    const aborted: unknown[] = [];
    await started((_state, signal) => {
      reports += 1;
      signal.addEventListener('abort', () => aborted.push(signal.reason));
      return reports === 2 ? new Promise(() => undefined) : undefined;
    });
    await clock.tickAsync(10_001);
    expect(reports).to.equal(2);
    await clock.tickAsync(20_001);
    expect(reports).to.equal(3);
    expect(aborted).to.have.length(1);
  });

  it('is never sent twice at a time: what changes meanwhile is reported right after', async () => {
    const first = deferred();
    const states: string[] = [];
    let hold = false;
    const service = await started(async ({ state }) => {
      states.push(state);
      if (hold) await first.promise;
    });
    hold = true;
    await clock.tickAsync(10_001);
    const task = service.registry.open({ name: 'build' });
    const drained = service.drain('SIGTERM');
    await clock.tickAsync(100);
    expect(states).to.deep.equal(['running', 'running']);
    hold = false;
    first.resolve();
    await clock.tickAsync(100);
    expect(states).to.deep.equal(['running', 'running', 'draining']);
    task.end();
    await clock.tickAsync(100);
    await drained;
    expect(states.at(-1)).to.equal('exited');
  });

  it('waits for the one before it to be out, so that the last word is the last', async () => {
    const told: string[] = [];
    const service = await started(async ({ state }) => {
      told.push(`${state} begins`);
      if (state === 'draining') await new Promise((resolve) => setTimeout(resolve, 300));
      told.push(`${state} out`);
    });
    told.length = 0;
    const drained = service.drain('SIGTERM');
    await clock.tickAsync(1000);
    await drained;
    expect(told).to.deep.equal(['draining begins', 'draining out', 'exited begins', 'exited out']);
  });

  it('comes last even when one before it hangs, and does not hold up the end for long (COMP-04, COMP-06)', async () => {
    const states: string[] = [];
    const service = await started(({ state }) => {
      states.push(state);
      return state === 'draining' ? new Promise(() => undefined) : undefined;
    });
    const drained = service.drain('SIGTERM');
    await clock.tickAsync(5_000);
    const report = await drained;
    expect(states).to.deep.equal(['running', 'draining', 'exited']);
    expect(report.outcome).to.equal('clean');
    expect(report.durationMs).to.be.lessThan(5_000);
  });
});
