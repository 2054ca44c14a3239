import {
  type DrainReport,
  Service,
  type ServiceSnapshot,
  type StepName,
  type TaskSnapshot,
} from '@ebbgate/service';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { deferred, fakeParts, shortBudgets } from './fakes.js';

function step(report: DrainReport, name: StepName): DrainReport['steps'][number] {
  const found = report.steps.find((each) => each.name === name);
  if (!found) throw new Error(`there was no step ${name}`);
  return found;
}

describe('budgets of a drain', () => {
  it('bound the wait for tasks; clean-up runs all the same, and the work left is told and written down (GS-69, GS-84, COMP-02, COMP-04)', async () => {
    const calls: string[] = [];
    const written: TaskSnapshot[] = [];
    const journal = { write: (unfinished: readonly TaskSnapshot[]) => void written.push(...unfinished) };
    const service = new Service({ ...fakeParts(calls), journal });
    await service.start();
    service.registry.open({ name: 'endless', instance: 'i-1' });
    const report = await service.drain('SIGTERM');
    expect(report.outcome).to.equal('unfinished');
    expect(step(report, 'tasks')).to.include({ outcome: 'timed-out', limitMs: 60 });
    expect(step(report, 'cleanup').outcome).to.equal('done');
    expect(calls).to.include.members([
      'cleanupHost',
      'new-request wait',
      'ops wait',
      'report exited',
      'onExit',
    ]);
    expect(report.unfinished.map(({ subject }) => subject)).to.deep.equal(['i-1']);
    expect(written.map(({ name }) => name)).to.deep.equal(['endless']);
  });

  it('give tasks all of managerShutdownTimeoutMs, both waits together (GS-69, GS-83)', async () => {
    const service = new Service(fakeParts());
    await service.start();
    const task = service.registry.open({ name: 'long' });
    setTimeout(() => task.end(), 30);
    const parts = await service.drain('SIGTERM');
    expect(parts.outcome).to.equal('clean');
    const tasks = step(parts, 'tasks');
    expect(tasks.limitMs).to.equal(60);
    expect(tasks.durationMs).to.be.above(0);
    expect(step(parts, 'ops-tasks').limitMs).to.be.within(0, 60 - tasks.durationMs + 1);
  });

  it('are not used up: an idle service has drained in no time, one with a task when that ends (GS-71, GS-72)', async () => {
    const idle = new Service({ ...fakeParts(), budgets: {} });
    await idle.start();
    expect((await idle.drain('SIGTERM')).durationMs).to.be.lessThan(1000);

    const busy = new Service({ ...fakeParts(), budgets: {} });
    await busy.start();
    const end = deferred();
    let ended = false;
    void busy.registry.track('live_migration', async () => {
      await end.promise;
      ended = true;
    });
    const drained = busy.drain('SIGTERM');
    setImmediate(() => end.resolve());
    expect((await drained).outcome).to.equal('clean');
    expect(ended).to.equal(true);
  });

  it('of 0 for tasks mean: do not wait (GS-69, COMP-03)', async () => {
    const service = new Service({
      ...fakeParts(),
      budgets: { ...shortBudgets, managerShutdownTimeoutMs: 0 },
    });
    await service.start();
    const task = service.registry.open({ name: 'endless' });
    const report = await service.drain('SIGTERM');
    expect(step(report, 'tasks').outcome).to.equal('not-waited');
    expect(report.outcome).to.equal('unfinished');
    task.end();

    const idle = new Service({ ...fakeParts(), budgets: { ...shortBudgets, managerShutdownTimeoutMs: 0 } });
    await idle.start();
    const idleReport = await idle.drain('SIGTERM');
    expect(step(idleReport, 'tasks').outcome).to.equal('done');
    expect(idleReport.outcome).to.equal('clean');
  });

  it('of 0 for clean-up and closing begin both and do not wait (COMP-03)', async () => {
    const calls: string[] = [];
    const parts = fakeParts(calls);
    const cleanupHost = async (): Promise<void> => {
      calls.push('cleanupHost');
      await new Promise(() => undefined);
    };
    const budgets = { ...shortBudgets, cleanupTimeoutMs: 0, closingTimeoutMs: 0 };
    const service = new Service({ ...parts, budgets, manager: { cleanupHost } });
    await service.start();
    parts.opsServer.behaviours.wait = 'hangs';
    const report = await service.drain('SIGTERM');
    expect(step(report, 'cleanup').outcome).to.equal('not-waited');
    expect(step(report, 'closing').outcome).to.equal('not-waited');
    expect(calls).to.include.members(['cleanupHost', 'new-request wait', 'ops wait']);
    expect(report.outcome).to.equal('clean');
  });

  it('of 0 overall mean no limit: tasks still get their whole time (B6, GS-70, COMP-03)', async () => {
    const budgets = { ...shortBudgets, gracefulShutdownTimeoutMs: 0 };
    const service = new Service({ ...fakeParts(), budgets });
    await service.start();
    const task = service.registry.open({ name: 'long' });
    setTimeout(() => task.end(), 30);
    const drained = service.drain('SIGTERM');
    expect(service.snapshot().budgetLeftMs).to.equal(null);
    const report = await drained;
    expect(step(report, 'tasks')).to.include({ outcome: 'done', limitMs: 60 });
    expect(report.outcome).to.equal('clean');
  });

  it('end a drain in which everything hangs, at the overall limit, with all steps begun (GS-79, GS-80, GS-84, COMP-04, COMP-20)', async () => {
    const calls: string[] = [];
    const parts = fakeParts(calls);
    const aborted: string[] = [];
    const hang = (name: string) => (signal: AbortSignal) =>
      new Promise<void>(() => {
        calls.push(name);
        signal.addEventListener('abort', () => aborted.push(name));
      });
    const service = new Service({
      ...parts,
      manager: {
        cleanupHost: hang('cleanupHost'),
        reportState: (state, signal) =>
          state.state === 'running' ? undefined : hang(`report ${state.state}`)(signal),
      },
      journal: { write: () => hang('journal')(new AbortController().signal) },
      onExit: () => hang('onExit')(new AbortController().signal),
    });
    await service.start();
    service.registry.open({ name: 'endless' });
    for (const server of [parts.newRequestServer, parts.opsServer]) {
      server.behaviours.stop = 'hangs';
      server.behaviours.wait = 'hangs';
    }
    const startedAt = performance.now();
    const report = await service.drain('SIGTERM');
    const tookMs = performance.now() - startedAt;
    expect(report.outcome).to.equal('timed-out');
    expect(tookMs).to.be.within(290, 600);
    expect(report.steps.map(({ name }) => name)).to.deep.equal([
      'stop-new-request',
      'tasks',
      'stop-ops',
      'ops-tasks',
      'cleanup',
      'closing',
      'journal',
      'last-report',
      'on-exit',
    ]);
    expect(step(report, 'cleanup').limitMs).to.equal(40); // all of it, whatever hung before
    expect(calls).to.include.members(['ops stop', 'cleanupHost', 'ops wait', 'journal', 'onExit']);
    expect(aborted).to.include('cleanupHost');
    expect(report.unfinished).to.have.length(1);
  });

  it('are over when the event loop was blocked beyond the overall limit; the steps left are begun (GS-78, GS-80, GS-84)', async () => {
    const calls: string[] = [];
    const parts = fakeParts(calls);
    const service = new Service(parts);
    await service.start();
    parts.newRequestServer.behaviours.stop = async () => {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 320);
    };
    const report = await service.drain('SIGTERM');
    expect(report.outcome).to.equal('timed-out');
    expect(calls).to.include.members(['cleanupHost', 'new-request wait', 'ops wait', 'onExit']);
  });

  it('are cut to what several services share (COMP-03)', async () => {
    const service = new Service({ ...fakeParts(), budgets: {} });
    await service.start();
    service.registry.open({ name: 'endless' });
    const report = await service.drain('SIGTERM', { withinMs: 80 });
    expect(report.durationMs).to.be.lessThan(1000);
    for (const { limitMs } of report.steps) expect(limitMs).to.be.within(0, 80);
    expect(step(report, 'cleanup').limitMs).to.be.greaterThan(0);
    expect(report.unfinished).to.have.length(1);
  });

  it('tell as left, in the last report too, what only the exit hook cuts off (COMP-04)', async () => {
    const lifetime = new AbortController();
    const parts = fakeParts();
    const reports: ServiceSnapshot[] = [];
    const manager = {
      ...parts.manager,
      reportState: (snapshot: ServiceSnapshot) => void reports.push(snapshot),
    };
    const onExit = (): void => lifetime.abort(new Error('cut off'));
    const service = new Service({ ...parts, manager, onExit });
    await service.start();
    const handle = service.registry.open({ name: 'endless' });
    lifetime.signal.addEventListener('abort', () => handle.end(lifetime.signal.reason));
    const report = await service.drain('SIGTERM');
    expect(report.outcome).to.equal('unfinished');
    expect(report.unfinished.map(({ name }) => name)).to.deep.equal(['endless']);
    const last = reports.at(-1);
    expect([last?.state, last?.tasks, service.snapshot().tasks]).to.deep.equal([
      'exited',
      report.unfinished,
      report.unfinished,
    ]);
  });

  it('leave no work behind unsaid when a server could not confirm something (COMP-04)', async () => {
    const parts = fakeParts();
    const service = new Service(parts);
    await service.start();
    parts.opsServer.unconfirmed = ['2 replies'];
    const report = await service.drain('SIGTERM');
    expect(report).to.deep.include({
      outcome: 'unfinished',
      problems: ['ops server: not confirmed: 2 replies'],
    });
  });
});
