import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { WorkerPlan } from '../fixtures/processes/worker.js';
import { TestProcess } from '../support/processes.js';

const WORKER = fileURLToPath(new URL('../fixtures/processes/worker.js', import.meta.url));
const budgets = {
  manager_shutdown_timeout: 0.2,
  cleanup_timeout: 0.1,
  closing_timeout: 0.1,
  graceful_shutdown_timeout: 0.6,
};

function worker(plan: WorkerPlan = {}): TestProcess {
  return new TestProcess(WORKER, [JSON.stringify(plan)]);
}

/** The lines from the first that is `from`. */
function since(process: TestProcess, from: string): string[] {
  return process.lines.slice(process.lines.indexOf(from));
}

const DRAIN = [
  'state draining',
  'report draining',
  'step stop-new-request',
  'step tasks',
  'step stop-ops',
  'step ops-tasks',
  'step cleanup',
  'cleanupHost',
  'step closing',
  'step last-report',
  'report exited',
  'step on-exit',
  'onExit clean',
  'state exited',
];

describe('signals to a service that is a process', function () {
  this.timeout(20_000);

  it('drains at SIGTERM, step by step, and ends with 0 (GS-34, GS-35, GS-36, GS-37, COMP-01, COMP-20)', async () => {
    const process = worker();
    await process.line('state running');
    process.signal('SIGTERM');
    expect(await process.ended).to.deep.equal({ code: 0, signal: null });
    expect(since(process, 'state draining')).to.deep.equal(DRAIN);
    expect(process.stderr).to.equal('');
  });

  it('drains at a SIGTERM that comes while a method blocks the event loop, once that has ended (GS-34, GS-78)', async () => {
    const process = worker({ tasks: 1, blockTasksMs: 500 });
    await process.line('state running');
    process.write('block\n');
    await process.line('blocked');
    process.signal('SIGTERM');
    await process.line('step tasks');
    process.write('end\n');
    expect(await process.ended).to.deep.equal({ code: 0, signal: null });
    expect(since(process, 'free').slice(1)).to.deep.equal(DRAIN);
  });

  it('is what a pod needs: ready until SIGTERM, then live and not ready while it finishes, and gone with 0 before SIGKILL (GS-7)', async () => {
    const process = worker({ tasks: 1, health: true });
    await process.line('state running');
    const port = process.lines.find((line) => line.startsWith('health '))?.split(' ')[1] ?? '';
    const probe = async (path: string): Promise<number> =>
      (await fetch(`http://127.0.0.1:${port}${path}`)).status;
    expect([await probe('/livez'), await probe('/readyz')]).to.deep.equal([200, 200]);
    const killer = setTimeout(() => process.signal('SIGKILL'), 15_000); // terminationGracePeriodSeconds
    process.signal('SIGTERM');
    await process.line('step tasks');
    expect([await probe('/livez'), await probe('/readyz')]).to.deep.equal([200, 503]);
    process.write('end\n');
    expect(await process.ended).to.deep.equal({ code: 0, signal: null });
    clearTimeout(killer);
    expect(await probe('/livez').catch(() => 'nobody')).to.equal('nobody');
  });

  it('drains at SIGTERM without an ops server (GS-37)', async () => {
    const process = worker({ ops: false });
    await process.line('state running');
    process.signal('SIGTERM');
    expect(await process.ended).to.deep.equal({ code: 0, signal: null });
    expect(since(process, 'state draining')).to.deep.equal(DRAIN.filter((line) => !line.includes('ops')));
  });

  it('waits for its tasks, and ends with the last of them (GS-32, GS-36, GS-71, GS-72, COMP-02)', async () => {
    const process = worker({ tasks: 2 });
    await process.line('state running');
    process.signal('SIGTERM');
    await process.line('step tasks');
    expect(process.lines).to.not.include('step stop-ops');
    process.write('end\n');
    expect((await process.ended).code).to.equal(0);
    expect(since(process, 'state draining')).to.deep.equal(DRAIN);
  });

  it('ends at once at SIGQUIT, which it leaves to the system, also while it drains (GS-106)', async () => {
    const process = worker({ tasks: 1 });
    await process.line('state running');
    process.signal('SIGTERM');
    await process.line('step tasks');
    process.signal('SIGQUIT');
    expect(await process.ended).to.deep.equal({ code: null, signal: 'SIGQUIT' });
  });

  for (const [when, first] of [
    ['in a drain', 'SIGTERM'],
    ['while it serves', undefined],
  ] as const) {
    it(`ends at SIGALRM as at the overall time-out, with 4: what is left is written down (${when}; GS-80, GS-106, COMP-20)`, async () => {
      const process = worker({ tasks: 1 });
      await process.line('state running');
      if (first) {
        process.signal(first);
        await process.line('step tasks');
      }
      process.signal('SIGALRM');
      expect(await process.ended).to.deep.equal({ code: 4, signal: null });
      expect(since(process, 'step tasks').filter((line) => !line.startsWith('report'))).to.deep.equal([
        'step tasks',
        'step stop-ops',
        'step ops-tasks',
        'step cleanup',
        'cleanupHost',
        'step closing',
        'step journal',
        'journal task-0',
        'step last-report',
        'step on-exit',
        'onExit timed-out',
        'state exited',
      ]);
    });
  }

  it('goes on when SIGTERM comes again and again during the drain (GS-106, COMP-20)', async () => {
    const process = worker({ tasks: 1 });
    await process.line('state running');
    process.signal('SIGTERM');
    await process.line('step tasks');
    for (let times = 0; times < 5; times += 1) process.signal('SIGTERM');
    await process.line('log The drain is under way already');
    process.write('end\n');
    expect(await process.ended).to.deep.equal({ code: 0, signal: null });
    const lines = since(process, 'state draining').filter((line) => !line.startsWith('log '));
    expect(lines).to.deep.equal(DRAIN);
  });

  it('drains to the end when nobody reads its output any more (GS-37, COMP-20)', async () => {
    const process = worker({ tasks: 1 });
    await process.line('state running');
    process.closeOutput();
    process.signal('SIGTERM');
    process.write('end\n');
    expect(await process.ended).to.deep.equal({ code: 0, signal: null });
    expect(process.stderr).to.equal('');
  });

  it('drains at the first SIGINT, ends at once at the second, with 130 (GS-106, COMP-20)', async () => {
    const process = worker({ tasks: 1 });
    await process.line('state running');
    process.signal('SIGINT');
    await process.line('step tasks');
    process.signal('SIGINT');
    expect(await process.ended).to.deep.equal({ code: 130, signal: null });
    expect(process.lines.at(-1)).to.equal('step tasks');
  });

  it('ends at once at a SIGINT after a SIGTERM, also when the drain hangs (GS-106, COMP-20)', async () => {
    const process = worker({ cleanupHost: 'hangs', budgets: { graceful_shutdown_timeout: 0 } });
    await process.line('state running');
    process.signal('SIGTERM');
    await process.line('cleanupHost');
    process.signal('SIGINT');
    expect(await process.ended).to.deep.equal({ code: 130, signal: null });
  });

  it('reads its configuration again at SIGHUP and goes on; during a drain that does nothing (B13, GS-106, COMP-20)', async () => {
    const process = worker({ tasks: 1 });
    await process.line('state running');
    process.signal('SIGHUP');
    await process.line('reload');
    process.signal('SIGTERM');
    await process.line('step tasks');
    process.signal('SIGHUP');
    await process.line('log No reload while draining');
    process.write('end\n');
    expect(await process.ended).to.deep.equal({ code: 0, signal: null });
    expect(process.lines.filter((line) => line === 'reload')).to.have.length(1);
    expect(process.lines.at(-1)).to.equal('state exited');
  });

  it('ends with 3 when tasks overran, after clean-up, with what is left written down (B12, GS-69, GS-84, GS-89, COMP-04)', async () => {
    const process = worker({ tasks: 2, budgets });
    await process.line('state running');
    process.signal('SIGTERM');
    expect(await process.ended).to.deep.equal({ code: 3, signal: null });
    expect(since(process, 'step cleanup')).to.deep.equal([
      'step cleanup',
      'cleanupHost',
      'step closing',
      'step journal',
      'journal task-0,task-1',
      'step last-report',
      'report exited',
      'step on-exit',
      'onExit unfinished',
      'state exited',
    ]);
  });

  it('ends with 3 when a step failed, and has gone through all others (GS-105)', async () => {
    const process = worker({ cleanupHost: 'throws', budgets });
    await process.line('state running');
    process.signal('SIGTERM');
    expect((await process.ended).code).to.equal(3);
    expect(process.lines.at(-1)).to.equal('state exited');
  });

  it('ends with 4 when the overall time is over, whatever hangs, with what is left written down (GS-79, GS-80, GS-84, COMP-04, COMP-20)', async () => {
    const process = worker({ tasks: 1, cleanupHost: 'hangs', lastReport: 'hangs', budgets });
    await process.line('state running');
    process.signal('SIGTERM');
    const startedAt = performance.now();
    expect(await process.ended).to.deep.equal({ code: 4, signal: null });
    expect(performance.now() - startedAt).to.be.within(500, 3000);
    expect(process.lines).to.include('cleanupHost').and.include('journal task-0');
  });

  it('ends with 4 when the event loop was blocked beyond the overall time (GS-78, GS-80)', async () => {
    const process = worker({ blockMs: 700, budgets });
    await process.line('state running');
    process.signal('SIGTERM');
    expect((await process.ended).code).to.equal(4);
  });

  it('ends with 0 at a SIGTERM while initHost runs, after clean-up (GS-104)', async () => {
    const process = worker({ initHost: 'heeds the signal' });
    await process.line('initHost');
    process.signal('SIGTERM');
    expect(await process.ended).to.deep.equal({ code: 0, signal: null });
    expect(process.lines).to.include('cleanupHost');
    expect(process.lines.indexOf('initHost stops')).to.be.within(0, process.lines.indexOf('cleanupHost'));
    expect(process.lines).to.not.include('state running');
  });

  it('ends with 3 at a SIGTERM while initHost hangs, after clean-up (GS-80, GS-104)', async () => {
    const process = worker({ initHost: 'hangs', budgets });
    await process.line('initHost');
    process.signal('SIGTERM');
    expect(await process.ended).to.deep.equal({ code: 3, signal: null });
    expect(process.lines).to.include('cleanupHost').and.not.include('state running');
  });

  it('ends with 0 at a SIGTERM right after the launch, and before there is a service (GS-104)', async () => {
    const early = worker({ termAtOnce: true });
    const making = worker({ slowFactory: true });
    await making.line('making');
    making.signal('SIGTERM');
    for (const process of [early, making]) {
      expect(await process.ended).to.deep.equal({ code: 0, signal: null });
      expect(process.lines).to.include('cleanupHost');
    }
    expect(making.lines).to.not.include('initHost');
  });

  it('ends in the same way when its top level awaits the start (GS-104)', async () => {
    const awaitStart = true;
    for (const [plan, line, code] of [
      [{ initHost: 'heeds the signal' }, 'initHost', 0],
      [{ initHost: 'hangs', budgets }, 'initHost', 3],
      [{ initHost: 'heeds the signal', cleanupHost: 'hangs', budgets }, 'initHost', 3],
    ] as const) {
      const process = worker({ ...plan, awaitStart });
      await process.line(line);
      process.signal('SIGTERM');
      expect(await process.ended, JSON.stringify(plan)).to.deep.equal({ code, signal: null });
      expect(process.lines).to.include('cleanupHost').and.not.include('started');
      expect(process.lines.at(-1)).to.equal('state exited');
      expect(process.stderr).to.equal('');
    }
    const well = worker({ awaitStart });
    await well.line('started');
    well.signal('SIGTERM');
    expect(await well.ended).to.deep.equal({ code: 0, signal: null });
    const failing = worker({ initHost: 'fails', awaitStart });
    expect(await failing.ended).to.deep.equal({ code: 1, signal: null });
    expect(failing.lines).to.include('cleanupHost').and.include('onExit start-failed');
    expect(failing.stderr).to.include('no hypervisor');
  });

  it('ends with 1 when it could not start, after clean-up', async () => {
    const process = worker({ initHost: 'fails' });
    expect(await process.ended).to.deep.equal({ code: 1, signal: null });
    expect(process.lines).to.include('cleanupHost').and.include('onExit start-failed');
  });

  it('is refused budgets that do not fit: it never starts (GS-70, COMP-03)', async () => {
    const process = worker({ budgets: { manager_shutdown_timeout: 180 } });
    expect((await process.ended).code).to.equal(1);
    expect(process.stderr).to.include(
      'manager_shutdown_timeout 180 + cleanup_timeout 10 + closing_timeout 5 = 195 s',
    );
    expect(process.lines).to.deep.equal([]);
  });
});
