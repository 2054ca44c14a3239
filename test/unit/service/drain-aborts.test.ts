import { install, type Clock } from '@sinonjs/fake-timers';
import {
  exitCodeOf,
  launch,
  Service,
  type ServiceOptions,
  type TaskAbort,
  type TaskHandle,
  TaskRegistry,
} from '@ebbgate/service';
import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { fakeParts, RecordingLogger } from './fakes.js';

/** For tasks; all times of these tests are simulated. */
const TASKS_MS = 60_000;
/** What the steps before and after the tasks may take of a test. */
const REST_MS = 1_000;

/** A task that is put back when it is told to. */
interface Work {
  readonly handle: TaskHandle;
  /** From now on it says that it needs so long. */
  says(needsMs: number): void;
  /** When it was aborted, since the drain began. */
  abortedAtMs: number | undefined;
}

describe('a drain that aborts before its deadline', () => {
  let clock: Clock;
  beforeEach(() => {
    clock = install({
      toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'],
    });
  });
  afterEach(() => clock.uninstall());

  async function started(options: Partial<ServiceOptions> = { abortBeforeDeadline: true }) {
    const logger = new RecordingLogger();
    const registry = new TaskRegistry();
    const budgets = { managerShutdownTimeoutMs: TASKS_MS };
    const service = new Service({ ...fakeParts(), logger, registry, budgets, ...options });
    await service.start();
    const open = (name: string, needsMs?: number, putBackMs = 2_000, more: Partial<TaskAbort> = {}): Work => {
      const begin = (reason: Error): boolean => {
        work.abortedAtMs = service.snapshot().drainingForMs ?? undefined;
        setTimeout(() => work.handle.end(new Error('put back', { cause: reason })), putBackMs);
        return true;
      };
      let endsAtMs = needsMs === undefined ? undefined : performance.now() + needsMs;
      const left = (): number | undefined => endsAtMs && Math.max(0, endsAtMs - performance.now());
      const abort = { begin, needsMs: left, reserveMs: 10_000, ...more };
      const says = (ms: number): void => {
        endsAtMs = performance.now() + ms;
        work.handle.changed();
      };
      const work: Work = { handle: registry.open({ name, abort }), says, abortedAtMs: undefined };
      return work;
    };
    return { logger, registry, service, open };
  }

  /** A drain from its beginning; the steps before that of the tasks are over. */
  async function drain(service: Service) {
    const ended = service.drain('SIGTERM');
    await clock.tickAsync(0);
    return ended;
  }

  const names = (tasks: readonly { readonly name: string }[]): string[] => tasks.map(({ name }) => name);

  it('aborts nothing unless it is told to: what does not end is left when the time for tasks is over (GS-72, GS-76, GS-103)', async () => {
    const { service, open } = await started({});
    const work = open('copy', 3_600_000);
    const drained = drain(service);
    await clock.tickAsync(TASKS_MS + REST_MS);
    const report = await drained;
    expect(work.abortedAtMs).to.equal(undefined);
    expect([report.outcome, names(report.unfinished), report.aborted]).to.deep.equal([
      'unfinished',
      ['copy'],
      [],
    ]);
    expect(exitCodeOf(report)).to.equal(3);
  });

  it('puts back at its beginning what says that it needs longer, completes what fits, and is clean (GS-103)', async () => {
    const { logger, registry, service, open } = await started();
    const [long, short] = [open('long copy', TASKS_MS + 1), open('short copy', 30_000)];
    const drained = drain(service);
    setTimeout(() => short.handle.end(), 30_000);
    await clock.tickAsync(30_000 + REST_MS);
    const report = await drained;
    expect([long.abortedAtMs, short.abortedAtMs]).to.deep.equal([0, undefined]);
    expect([report.outcome, exitCodeOf(report)]).to.deep.equal(['clean', 0]);
    expect(report).to.include({ completed: 1, failed: 0 });
    expect(names(report.aborted)).to.deep.equal(['long copy']);
    expect(registry.counts).to.deep.equal({ opened: 2, completed: 1, failed: 0, aborted: 1 });
    expect(logger.texts().filter((text) => /long copy|^Tasks/.test(text))).to.deep.equal([
      'Task long copy is aborted and put back: it needs 60 s, and 60 s are left',
      'Task long copy was put back',
      'Tasks: 1 completed, 0 failed, 1 aborted, 0 left',
    ]);
  });

  it('lets what cannot tell how long it needs go on until only its reserve is left (GS-103)', async () => {
    const { service, open } = await started();
    const [unknown, completes] = [open('snapshot'), open('another snapshot')];
    const drained = drain(service);
    await clock.tickAsync(TASKS_MS - 10_000 - 1);
    expect(unknown.abortedAtMs).to.equal(undefined);
    completes.handle.end();
    await clock.tickAsync(2_000 + REST_MS);
    const report = await drained;
    expect(unknown.abortedAtMs).to.equal(TASKS_MS - 10_000);
    expect([report.outcome, report.completed, names(report.aborted)]).to.deep.equal([
      'clean',
      1,
      ['snapshot'],
    ]);
  });

  it('asks again when a task tells that it needs longer, or less long, than it has said (GS-103)', async () => {
    const { service, open } = await started();
    const [slower, faster] = [open('slower', 20_000), open('faster', 50_000)];
    const drained = drain(service);
    await clock.tickAsync(15_000);
    slower.says(45_000);
    await clock.tickAsync(0);
    expect(slower.abortedAtMs).to.equal(undefined); // exactly what is left
    slower.says(45_001);
    await clock.tickAsync(0);
    expect(slower.abortedAtMs).to.equal(15_000);
    faster.says(1_000);
    setTimeout(() => faster.handle.end(), 1_000);
    await clock.tickAsync(2_000 + REST_MS);
    const report = await drained;
    expect(report.outcome).to.equal('clean');
    expect([faster.abortedAtMs, names(report.aborted)]).to.deep.equal([undefined, ['slower']]);
  });

  it('takes at its word what says that it ends within its reserve, once (GS-103)', async () => {
    const { service, open } = await started();
    const [keeps, breaks] = [open('keeps it', 55_000), open('breaks it', 55_000)];
    const drained = drain(service);
    await clock.tickAsync(55_500);
    keeps.handle.end();
    expect(breaks.abortedAtMs).to.equal(undefined);
    await clock.tickAsync(2_500 + REST_MS);
    const report = await drained;
    expect(breaks.abortedAtMs).to.equal(56_000);
    expect([report.outcome, names(report.aborted)]).to.deep.equal(['clean', ['breaks it']]);
  });

  it('never aborts what must complete, nor what says that there is no way back any more (GS-72, GS-76, GS-103)', async () => {
    const { logger, registry, service, open } = await started();
    const must = registry.open({ name: 'finish_resize' });
    let asked = 0;
    const begin = (): boolean => {
      asked += 1;
      return false;
    };
    const past = open('post-copy', 3_600_000, 0, { begin });
    const drained = drain(service);
    await clock.tickAsync(TASKS_MS - 1);
    expect([registry.size, asked]).to.deep.equal([2, 1]);
    expect(logger.texts().filter((text) => text.includes('post-copy'))).to.deep.equal([
      'Task post-copy cannot be aborted any more: it goes on',
    ]);
    must.end();
    past.handle.end();
    await clock.tickAsync(REST_MS);
    const report = await drained;
    expect([report.outcome, report.completed, report.aborted]).to.deep.equal(['clean', 2, []]);
  });

  it('looks at what begins during the drain, too (GS-103)', async () => {
    const { service, open } = await started();
    open('first');
    const drained = drain(service);
    await clock.tickAsync(40_000);
    const late = open('late', 30_000);
    await clock.tickAsync(0);
    expect(late.abortedAtMs).to.equal(40_000);
    await clock.tickAsync(TASKS_MS);
    expect(names((await drained).aborted)).to.deep.equal(['late', 'first']);
  });

  it('leaves an abort that hangs as unfinished at the deadline, with exit code 3 (GS-86, GS-103)', async () => {
    const { service, open } = await started();
    const hangs = open('hangs', 3_600_000, 3_600_000);
    const drained = drain(service);
    await clock.tickAsync(TASKS_MS - 1);
    expect(service.state).to.equal('draining');
    await clock.tickAsync(1 + REST_MS);
    const report = await drained;
    expect(hangs.abortedAtMs).to.equal(0);
    expect([report.outcome, exitCodeOf(report)]).to.deep.equal(['unfinished', 3]);
    expect([names(report.unfinished), report.aborted]).to.deep.equal([['hangs'], []]);
  });

  it('counts as failed what could not be put back, as completed what was faster (GS-103)', async () => {
    const { registry, service } = await started();
    const lasts = { needsMs: () => 3_600_000 };
    const begin = (end: () => void) => (): boolean => {
      setTimeout(end, 1_000);
      return true;
    };
    const fails = registry.open({
      name: 'fails',
      abort: { ...lasts, begin: begin(() => fails.end(new Error('the other host is down'))) },
    });
    const ends = registry.open({ name: 'ends', abort: { ...lasts, begin: begin(() => ends.end()) } });
    const throws = registry.open({
      name: 'throws',
      abort: {
        ...lasts,
        begin: () => {
          throw new Error('no such copy');
        },
      },
    });
    const drained = drain(service);
    await clock.tickAsync(5_000);
    throws.end();
    await clock.tickAsync(REST_MS);
    expect(await drained).to.deep.include({ outcome: 'clean', completed: 2, failed: 1, aborted: [] });
  });

  it('aborts the controller of a task; times that are none count as not said (GS-103)', async () => {
    const { registry, service } = await started();
    const controller = new AbortController();
    const work = registry.track(
      { name: 'copy', abort: { begin: controller, needsMs: () => NaN, reserveMs: -1 } },
      () =>
        new Promise((_resolve, reject) => {
          controller.signal.addEventListener('abort', () => reject(controller.signal.reason as Error)); // ours
        }),
    );
    work.catch(() => undefined);
    const drained = drain(service);
    await clock.tickAsync(TASKS_MS - 5_000 - 1);
    expect(controller.signal.aborted).to.equal(false);
    await clock.tickAsync(1 + REST_MS);
    expect(names((await drained).aborted)).to.deep.equal(['copy']);
    expect((controller.signal.reason as { code: string }).code).to.equal('ERR_DRAINING'); // ours
  });

  it('is not disturbed by a further SIGTERM: each task is asked once, and the exit code is 0 (GS-103, GS-106)', async () => {
    const { service, open } = await started();
    const work = open('copy', 3_600_000);
    const launched = launch(service, { signals: [], exit: () => undefined });
    launched.terminate('SIGTERM');
    await clock.tickAsync(1_000);
    launched.terminate('SIGTERM');
    work.handle.changed();
    await clock.tickAsync(1_000 + REST_MS);
    expect(await launched.done).to.equal(0);
    expect(work.abortedAtMs).to.equal(0);
    expect(names((await service.exited).aborted)).to.deep.equal(['copy']);
  });

  it('aborts nothing when no task is waited for (GS-103)', async () => {
    const budgets = { managerShutdownTimeoutMs: 0 };
    const { service, open } = await started({ abortBeforeDeadline: true, budgets });
    const work = open('copy', 3_600_000);
    const drained = drain(service);
    await clock.tickAsync(REST_MS);
    expect([(await drained).outcome, work.abortedAtMs]).to.deep.equal(['unfinished', undefined]);
  });

  it('is refused with a word that is neither true nor false', () => {
    const abortBeforeDeadline = 'yes' as unknown as boolean; // as from a caller without types
    expect(() => new Service({ ...fakeParts(), abortBeforeDeadline }))
      .to.throw('abortBeforeDeadline of a service must be true or false')
      .with.property('code', 'ERR_CONFIGURATION');
  });
});
