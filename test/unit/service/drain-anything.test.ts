import { type DrainReport, Service } from '@ebbgate/service';
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import { behave, type Behaviour, FakeServer } from './fakes.js';

const GRACEFUL_MS = 100;
const budgets = {
  managerShutdownTimeoutMs: 20,
  cleanupTimeoutMs: 10,
  closingTimeoutMs: 10,
  gracefulShutdownTimeoutMs: GRACEFUL_MS,
};
/** What timers and a busy machine may add. */
const TOLERANCE_MS = 400;

const behaviour = fc.constantFrom<Behaviour>('ok', 'throws', 'rejects', 'hangs');
const faults = fc.record({
  start: behaviour,
  opsStart: behaviour,
  initHost: behaviour,
  stop: behaviour,
  wait: behaviour,
  opsStop: behaviour,
  opsWait: behaviour,
  cleanupHost: behaviour,
  report: behaviour,
  journal: behaviour,
  onExit: behaviour,
  ops: fc.boolean(),
  tasks: fc.array(fc.constantFrom('ends', 'fails', 'hangs'), { maxLength: 4 }),
  drainAt: fc.constantFrom('before the start', 'at once', 'when it has started'),
});
type Faults = typeof faults extends fc.Arbitrary<infer T> ? T : never;

function makeService(fault: Faults, cleanedUp: () => void): Service {
  const opsServer = new FakeServer('ops', [], {
    start: fault.opsStart,
    stop: fault.opsStop,
    wait: fault.opsWait,
  });
  const made = new Service({
    name: 'compute',
    host: 'a',
    budgets,
    reportIntervalMs: 5,
    newRequestServer: new FakeServer('new-request', [], {
      start: fault.start,
      stop: fault.stop,
      wait: fault.wait,
    }),
    ...(fault.ops ? { opsServer } : {}),
    manager: {
      initHost: async () => {
        await behave(fault.initHost, 'initHost');
      },
      cleanupHost: async () => {
        cleanedUp();
        await behave(fault.cleanupHost, 'cleanupHost');
      },
      reportState: async () => {
        await behave(fault.report, 'report');
      },
    },
    journal: {
      write: async () => {
        await behave(fault.journal, 'journal');
      },
    },
    onExit: async () => {
      await behave(fault.onExit, 'onExit');
    },
  });
  for (const how of fault.tasks) {
    const work = (): Promise<unknown> =>
      how === 'hangs'
        ? new Promise(() => undefined)
        : new Promise((resolve, reject) => {
            setImmediate(how === 'ends' ? resolve : reject, new Error('task failed'));
          });
    made.registry.track(how, work).catch(() => undefined);
  }
  return made;
}

async function drainOne(fault: Faults): Promise<{ report: DrainReport; tookMs: number; cleanups: number }> {
  let cleanups = 0;
  const service = makeService(fault, () => (cleanups += 1));
  if (fault.drainAt === 'before the start') void service.drain('test');
  const started = service.start().then(
    () => undefined,
    () => undefined,
  );
  if (fault.drainAt === 'when it has started') {
    // A start that hangs is ended by the drain.
    await Promise.race([started, new Promise((resolve) => setTimeout(resolve, 15))]);
  }
  const startedAt = performance.now();
  const report = await service.drain('test');
  const tookMs = performance.now() - startedAt;
  await started;
  return { report, tookMs, cleanups };
}

describe('a drain in which anything may fail or hang', () => {
  it('ends within its budget, has cleaned up once, and tells what is left (GS-80, GS-84, GS-104, GS-105, COMP-03, COMP-04)', async function () {
    this.timeout(30_000);
    await fc.assert(
      fc.asyncProperty(faults, async (fault) => {
        const { report, tookMs, cleanups } = await drainOne(fault);
        expect(tookMs).to.be.lessThan(GRACEFUL_MS + TOLERANCE_MS);
        expect(cleanups).to.equal(1);
        const hanging = fault.tasks.filter((how) => how === 'hangs').length;
        expect(report.unfinished).to.have.length(hanging);
        if (hanging > 0) expect(report.outcome).to.not.equal('clean');
        for (const { durationMs, limitMs } of report.steps)
          expect(durationMs).to.be.lessThan(limitMs + TOLERANCE_MS);
      }),
      { numRuns: 60 },
    );
  });
});
