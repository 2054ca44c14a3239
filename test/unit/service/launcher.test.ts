import { exitCodeOf, exitCodes, launch, type Launched, type LaunchOptions, Service } from '@ebbgate/service';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { deferred, fakeParts, RecordingLogger } from './fakes.js';

/** In the process itself: no signals are installed, and the end is noted in place of ending the test run. */
function inProcess(codes: number[], more: LaunchOptions = {}): LaunchOptions {
  return { signals: [], exit: (code) => void codes.push(code), ...more };
}

function running(service: Service): Promise<void> {
  return new Promise((resolve) => {
    service.events.on('state', ({ state }) => {
      if (state === 'running') resolve();
    });
  });
}

async function launched(parts: ConstructorParameters<typeof Service>[0], more: LaunchOptions = {}) {
  const codes: number[] = [];
  const service = new Service(parts);
  const ready = running(service);
  const run: Launched = launch(service, inProcess(codes, more));
  await ready;
  return { service, run, codes };
}

describe('launcher, by the path that its signal handlers take', () => {
  it('drains at SIGTERM and at the first SIGINT, with the signal as the reason, exit code 0 (GS-34, GS-106, COMP-20)', async () => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      const { service, run, codes } = await launched(fakeParts());
      run.terminate(signal);
      expect(service.health().ready).to.equal(false); // at once
      expect(await run.done).to.equal(0);
      expect(codes).to.deep.equal([0]);
      expect((await service.exited).reason).to.equal(signal);
    }
  });

  it('changes nothing at a further SIGTERM, nor at one after a SIGINT (GS-106, COMP-20)', async () => {
    const { service, run, codes } = await launched(fakeParts());
    const task = service.registry.open({ name: 'build' });
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGTERM'] as const) run.terminate(signal);
    expect(service.state).to.equal('draining');
    setImmediate(() => task.end());
    expect(await run.done).to.equal(0);
    run.terminate('SIGINT');
    expect(codes).to.deep.equal([0]);
  });

  it('ends at once at a SIGINT during a drain, with 130 and what was left in the log (GS-106, COMP-20)', async () => {
    for (const first of ['SIGTERM', 'SIGINT'] as const) {
      const logger = new RecordingLogger();
      const { service, run, codes } = await launched(fakeParts(), { logger });
      const task = service.registry.open({ name: 'build' });
      run.terminate(first);
      run.terminate('SIGINT');
      expect(codes).to.deep.equal([130]);
      expect(await run.done).to.equal(130);
      expect(logger.lines.at(-1)?.fields).to.have.nested.property('tasks[0].name', 'build');
      task.end();
      await service.exited;
    }
  });

  for (const [when, signals, reason] of [
    ['in a drain', ['SIGTERM', 'SIGALRM'], 'SIGTERM'],
    ['without one', ['SIGALRM'], 'SIGALRM'],
    ['more than once, and with others', ['SIGALRM', 'SIGTERM', 'SIGALRM'], 'SIGALRM'],
  ] as const) {
    it(`ends at SIGALRM as at the overall time-out, with 4, all steps begun, and what is left in the report (${when}; GS-80, GS-106)`, async () => {
      const calls: string[] = [];
      const logger = new RecordingLogger();
      const { service, run, codes } = await launched({ ...fakeParts(calls), budgets: {} }, { logger });
      const task = service.registry.open({ name: 'build' });
      for (const signal of signals) run.terminate(signal);
      expect(await run.done).to.equal(4); // within the test's time, and not after 160 s
      const report = await service.exited;
      expect([report.outcome, report.reason]).to.deep.equal(['timed-out', reason]);
      expect(report.unfinished.map(({ name }) => name)).to.deep.equal(['build']);
      expect(calls).to.include.members(['ops stop', 'cleanupHost', 'ops wait', 'journal', 'onExit']);
      expect(logger.texts('warn')[0]).to.equal('SIGALRM: the time for everything is over');
      expect(codes).to.deep.equal([4]);
      task.end();
    });
  }

  it('ends at SIGALRM with 4 also while the service is still being made (GS-106)', async () => {
    const codes: number[] = [];
    const run = launch(() => new Promise<Service>(() => undefined), inProcess(codes));
    run.terminate('SIGALRM');
    expect(await run.done).to.equal(4);
  });

  it('leaves nothing of a drain that a SIGINT has ended: no step is begun any more, none waited for (COMP-20)', async () => {
    const calls: string[] = [];
    const { service, run } = await launched({ ...fakeParts(calls), budgets: {} });
    service.registry.open({ name: 'build' });
    run.terminate('SIGTERM');
    run.terminate('SIGINT');
    const report = await service.exited; // within the test's time, and not after 160 s
    expect([report.outcome, report.unfinished.length]).to.deep.equal(['timed-out', 1]);
    expect(calls.filter((call) => call !== 'report draining').slice(-3)).to.deep.equal([
      'new-request start',
      'report running',
      'new-request stop',
    ]);
    expect(service.state).to.equal('exited');
  });

  it('ends at once at a SIGINT when something else has begun the drain (COMP-20)', async () => {
    const { service, run } = await launched(fakeParts());
    const task = service.registry.open({ name: 'build' });
    void service.drain('by hand');
    run.terminate('SIGINT');
    expect(await run.done).to.equal(130);
    task.end();
    await service.exited;
  });

  it('tells who waits for the start of a drain that came first when all of it is over, and not before (GS-104)', async () => {
    const parts = fakeParts();
    const began = deferred();
    const told: string[] = [];
    const initHost = (): Promise<void> => {
      began.resolve();
      return new Promise(() => undefined);
    };
    const service = new Service({ ...parts, manager: { ...parts.manager, initHost } });
    const exit = async (code: number): Promise<void> => {
      await new Promise((resolve) => setImmediate(resolve));
      told.push(`exit ${String(code)}`);
    };
    const run = launch(service, { signals: [], exit });
    const started = service.start().catch((error: unknown) => {
      told.push((error as { code: string }).code); // thrown by the service
    });
    await began.promise;
    run.terminate('SIGTERM');
    await started;
    expect(told).to.deep.equal(['exit 3', 'ERR_DRAINING']);
  });

  it('reads the configuration again at SIGHUP, survives its errors, and does nothing of it in a drain (GS-106, COMP-20)', async () => {
    const logger = new RecordingLogger();
    let reloads = 0;
    const once = [deferred(), deferred()];
    const onReload = (): void => {
      once[reloads]?.resolve();
      reloads += 1;
      if (reloads === 1) throw new Error('line 3: no such option');
    };
    const { service, run } = await launched(fakeParts(), { onReload, logger });
    run.terminate('SIGHUP');
    run.terminate('SIGHUP');
    await Promise.all(once.map(({ promise }) => promise));
    expect(logger.texts('error')).to.deep.equal([
      'The configuration could not be read again; the old one stays',
    ]);
    expect(service.state).to.equal('running');
    run.terminate('SIGTERM');
    run.terminate('SIGHUP');
    expect(await run.done).to.equal(0);
    expect(reloads).to.equal(2);
  });

  it('drains when SIGTERM comes during the start, exit code 0 (GS-104)', async () => {
    const calls: string[] = [];
    const codes: number[] = [];
    const parts = fakeParts(calls);
    const initHost = (signal: AbortSignal): Promise<void> =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(new Error('stopped')));
      });
    const run = launch(new Service({ ...parts, manager: { ...parts.manager, initHost } }), inProcess(codes));
    run.terminate('SIGTERM');
    expect(await run.done).to.equal(0);
    expect(calls).to.include('cleanupHost').and.not.include('new-request start');
  });

  it('hears signals while the service is still being made: it is not started, but cleaned up (GS-104)', async () => {
    const calls: string[] = [];
    const codes: number[] = [];
    const made = deferred<Service>();
    const run = launch((signal) => {
      signal.addEventListener('abort', () => made.resolve(new Service(fakeParts(calls))));
      return made.promise;
    }, inProcess(codes));
    run.terminate('SIGTERM');
    run.terminate('SIGTERM');
    expect(await run.done).to.equal(0);
    expect(calls).to.include('cleanupHost').and.not.include('initHost');

    const failing = launch(
      (signal) =>
        new Promise((_resolve, reject) =>
          signal.addEventListener('abort', () => reject(new Error('stopped'))),
        ),
      inProcess(codes),
    );
    failing.terminate('SIGINT');
    expect(await failing.done).to.equal(0);
  });

  it('ends with 1 when the service cannot be made or started', async () => {
    const codes: number[] = [];
    const logger = new RecordingLogger();
    const parts = fakeParts();
    parts.opsServer.behaviours.start = 'rejects';
    expect(await launch(new Service(parts), inProcess(codes, { logger })).done).to.equal(1);
    const unmade = launch(
      () => {
        throw new Error('amqp://user:hunter2@host/ is not there');
      },
      inProcess(codes, { logger }),
    );
    expect(await unmade.done).to.equal(1);
    expect(codes).to.deep.equal([1, 1]);
    expect(JSON.stringify(logger.lines)).to.include('could not be made').and.not.include('hunter2');
  });

  it('ends with 3 when work was left (COMP-04)', async () => {
    const { service, run } = await launched(fakeParts());
    service.registry.open({ name: 'endless' });
    run.terminate('SIGTERM');
    expect(await run.done).to.equal(3);
  });

  it('survives an exit hook that throws, and leaves no handler and no handle behind (CORE-05)', async () => {
    const before = process.listenerCount('SIGTERM');
    const exitCode = process.exitCode;
    const service = new Service(fakeParts());
    const run = launch(service, {
      exit: () => {
        throw new Error('no way out');
      },
    });
    expect(process.listenerCount('SIGTERM')).to.equal(before + 1);
    run.terminate('SIGTERM');
    expect(await run.done).to.equal(0);
    process.exitCode = exitCode;
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'])
      expect(process.listenerCount(signal)).to.equal(before);
  });

  it('has one exit code for each way to end', () => {
    expect(exitCodes).to.deep.equal({
      clean: 0,
      startFailed: 1,
      unfinished: 3,
      timedOut: 4,
      interrupted: 130,
    });
    expect(exitCodeOf({ outcome: 'timed-out' })).to.equal(4);
    expect(exitCodeOf({ outcome: 'start-failed' })).to.equal(1);
  });
});
