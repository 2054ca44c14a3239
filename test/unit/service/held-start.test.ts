import { type DrainReport, launch, type Manager, Service } from '@ebbgate/service';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { deferred, until } from '../../support/deferred.js';
import { fakeParts, RecordingLogger } from './fakes.js';

/** A service behind a gate that the test opens. */
function held(calls: string[], more: Manager = {}) {
  const opened = deferred();
  const parts = fakeParts(calls);
  const manager: Manager = {
    ...parts.manager,
    gate: async (hold, signal) => {
      calls.push('gate');
      hold('forced down');
      const aborted = new Promise<never>((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          reject(new Error('given up'));
        });
      });
      await Promise.race([opened.promise, aborted]);
    },
    reportState: ({ state, reason }) => void calls.push(`report ${state} ${String(reason)}`),
    ...more,
  };
  const logger = new RecordingLogger();
  const service = new Service({ ...parts, manager, logger, reportIntervalMs: 5 });
  return { service, opened, logger };
}

describe('a service whose start is held', () => {
  it('opens neither server, is not ready and says why, and reports again and again, until it may serve (FD-11, COMP-14)', async () => {
    const calls: string[] = [];
    const { service, opened, logger } = held(calls);
    const started = service.start();
    await until(() => calls.length > 3);
    const waiting = 'report starting forced down';
    expect(calls.slice(0, 4)).to.deep.equal(['gate', waiting, waiting, waiting]);
    const { live, ready, snapshot } = service.health();
    expect([live, ready, snapshot.state, snapshot.reason]).to.deep.equal([
      true,
      false,
      'starting',
      'forced down',
    ]);
    expect(logger.texts('warn')).to.deep.equal(['Service compute waits: forced down']);
    opened.resolve();
    await started;
    expect(logger.texts('info')).to.deep.equal(['Service compute goes on with its start']);
    const after = calls.slice(calls.lastIndexOf(waiting) + 1);
    expect(after.slice(0, 4)).to.deep.equal([
      'initHost',
      'ops start',
      'new-request start',
      'report running null',
    ]);
    expect(service.snapshot().reason).to.equal(null);
    await service.drain('end');
  });

  it('drains at once, without having begun anything, and with a last report (FD-33)', async () => {
    const calls: string[] = [];
    const { service } = held(calls);
    const started = service.start().catch((error: unknown) => (error as { code?: string }).code);
    await until(() => calls.length > 1);
    const report = await service.drain('SIGTERM');
    expect(report.outcome).to.equal('clean');
    expect(await started).to.equal('ERR_DRAINING');
    expect(calls).to.not.include('initHost');
    expect(calls).to.not.include('new-request start');
    expect(calls).to.include('report exited SIGTERM');
  });

  it('reports when it is asked to, once reports go out, and not before', async () => {
    const calls: string[] = [];
    const manager = { gate: () => undefined, reportState: () => void calls.push('report') };
    const service = new Service({ ...fakeParts(), manager });
    service.reportNow();
    expect(calls).to.deep.equal([]);
    await service.start();
    service.reportNow();
    expect(calls).to.deep.equal(['report', 'report']);
    await service.drain('end');
  });
});

describe('a service that leaves what it does', () => {
  const doing = async (): Promise<Service> => {
    const service = new Service(fakeParts());
    await service.start();
    service.registry.open({ name: 'build' });
    return service;
  };

  it('waits for no task, and its report names them, and why (FD-32)', async () => {
    const { outcome, unfinished, problems, reason } = await (await doing()).leave('forced down');
    expect([outcome, reason, problems]).to.deep.equal(['unfinished', 'forced down', ['forced down']]);
    expect(unfinished.map(({ name }) => name)).to.deep.equal(['build']);
  });

  it('ends a drain that is under way, which keeps its reason (FD-33)', async () => {
    const service = await doing();
    const drained = service.drain('SIGTERM');
    await until(() => service.snapshot().step === 'tasks');
    await Promise.all([service.leave('forced down'), service.leave('and again')]);
    const { outcome, unfinished, problems, reason } = await drained;
    expect([outcome, reason, problems]).to.deep.equal(['unfinished', 'SIGTERM', ['forced down']]);
    expect(unfinished.map(({ name }) => name)).to.deep.equal(['build']);
  });
});

describe('what comes after a service in its program', () => {
  const run = (
    next: (report: DrainReport) => Service | number | undefined,
    first = new Service(fakeParts()),
  ) => ({
    first,
    program: launch(first, { signals: [], exit: () => undefined, next }),
  });

  it('is another one, whose end is then that of the program (FD-32)', async () => {
    const second = new Service(fakeParts());
    const { first, program } = run((report) => (report.reason === 'replaced' ? second : undefined));
    await first.start();
    void first.leave('replaced');
    await until(() => second.state === 'running');
    program.terminate('SIGTERM');
    expect(await program.done).to.equal(0);
    expect((await second.exited).reason).to.equal('SIGTERM');
  });

  it('is an exit code of its own', async () => {
    const { first, program } = run(() => 5);
    void first.leave('refused');
    expect(await program.done).to.equal(5);
  });

  it('is the end, when a signal came, also while the first one was ending', async () => {
    const asked: string[] = [];
    const { first, program } = run(({ reason }) => {
      asked.push(reason);
      return new Service(fakeParts());
    });
    await first.start();
    void first.leave('replaced');
    program.terminate('SIGTERM');
    expect(await program.done).to.equal(3);
    expect(asked).to.deep.equal([]);
  });
});
