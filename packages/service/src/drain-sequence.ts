import type { Logger, MaybePromise } from '@ebbgate/core';
import type { DrainBudgets } from './budgets.js';
import { describeError } from './describe-error.js';
import { DrainAborts } from './drain-aborts.js';
import { DrainLog } from './drain-log.js';
import type { DrainOutcome, DrainReport, StepEvent, StepName, StepReport } from './drain-report.js';
import type { DrainableServer } from './drainable-server.js';
import type { DrainJournal } from './manager.js';
import { StepRunner } from './step-runner.js';
import type { TaskRegistry, TaskSnapshot } from './task-registry.js';

/** A server in a drain. */
export interface DrainingServer {
  readonly name: 'new-request' | 'ops';
  readonly server: DrainableServer;
  /** It has been up: there can be work in it. */
  readonly listening: boolean;
}

/** What a drain works on. */
export interface DrainParts {
  readonly reason: string;
  readonly budgets: DrainBudgets;
  /** An overall limit of others that is sooner than this service's own; Infinity for none. */
  readonly withinMs: number;
  readonly registry: TaskRegistry;
  /** What may be aborted, and cannot end in time, is put back. */
  readonly abortBeforeDeadline: boolean;
  readonly newRequest: DrainingServer;
  readonly ops: DrainingServer | undefined;
  /** `initHost`, when it is still under way. */
  readonly startUp: Promise<unknown> | undefined;
  readonly startFailed: boolean;
  readonly cleanupHost: (signal: AbortSignal) => MaybePromise<void>;
  readonly journal: DrainJournal | undefined;
  readonly lastReport: ((limitMs: number) => Promise<void>) | undefined;
  readonly onExit: ((report: DrainReport) => MaybePromise<void>) | undefined;
  readonly logger: Logger;
  readonly onStep: (event: StepEvent) => void;
}

/** A server's stop() ends in bounded time by itself; this is for one that does not. */
const STOP_MS = 5_000;
/** Kept of the overall limit, where it leaves so much, for what is written down and said at the very end. */
const LAST_WORDS_MS = 1_000;

/**
 * The order of a drain (decision 23): no new requests → the tasks end while follow-ups are still served → no follow-ups
 * either → what those had fetched → clean-up → replies and acknowledgements → what is left is written down → last report.
 */
export class DrainSequence {
  readonly #parts: DrainParts;
  readonly #runner: StepRunner;
  readonly #log: DrainLog;
  readonly #aborts: DrainAborts | undefined;
  readonly #problems: string[] = [];
  /** What the steps from the clean-up on need; kept for them by all before. */
  readonly #cleanupMs: number;
  readonly #closingMs: number;
  readonly #lastWordsMs: number;
  #tasksLeftMs: number;
  /** Resolves when no task is waited for any more. */
  readonly #leaving: Promise<void>;
  #leave: () => void = () => undefined;
  /** The tasks that are left to themselves; fixed before the last words: one that the exit hook cuts off was left all the same. */
  #left: readonly TaskSnapshot[] | undefined;

  /** The overall limit counts from here. */
  constructor(parts: DrainParts) {
    this.#parts = parts;
    const { managerShutdownTimeoutMs, cleanupTimeoutMs, closingTimeoutMs, gracefulShutdownTimeoutMs } =
      parts.budgets;
    const ownMs = gracefulShutdownTimeoutMs === 0 ? Infinity : gracefulShutdownTimeoutMs;
    const overallMs = Math.min(ownMs, parts.withinMs);
    const sparedMs = ownMs - managerShutdownTimeoutMs - cleanupTimeoutMs - closingTimeoutMs; // above 0: checked
    const lastWordsMs = Math.min(LAST_WORDS_MS, sparedMs / 2);
    const reserveMs = cleanupTimeoutMs + closingTimeoutMs + lastWordsMs;
    const fits = Math.min(1, overallMs / reserveMs); // below 1 only when others left less than that
    this.#cleanupMs = cleanupTimeoutMs * fits;
    this.#closingMs = closingTimeoutMs * fits;
    this.#lastWordsMs = lastWordsMs * fits;
    this.#tasksLeftMs = managerShutdownTimeoutMs;
    this.#leaving = new Promise((resolve) => {
      this.#leave = resolve;
    });
    this.#runner = new StepRunner(overallMs, parts.onStep);
    this.#log = new DrainLog(parts.registry, parts.logger);
    if (parts.abortBeforeDeadline) this.#aborts = new DrainAborts(parts.registry, parts.logger);
  }

  get step(): StepName | undefined {
    return this.#runner.current;
  }

  get elapsedMs(): number {
    return this.#runner.elapsedMs;
  }

  /** Infinity without a limit. */
  get leftMs(): number {
    return this.#runner.leftMs;
  }

  /** The tasks that are left to themselves, once nothing waits for tasks any more. */
  get left(): readonly TaskSnapshot[] | undefined {
    return this.#left;
  }

  /** What still runs is left: no task is waited for from now on, and the drain is not clean. */
  leave(reason: string): void {
    if (this.#left) return;
    this.#left = this.#parts.registry.snapshot();
    this.#problems.push(reason);
    this.#leave();
  }

  /** Waits for nothing any more: see {@link StepRunner.expire}. */
  expire(): void {
    this.#runner.expire();
  }

  /** Ends it at once: see {@link StepRunner.cutOff}. */
  cutOff(): void {
    this.#runner.cutOff();
  }

  /** Never rejects; ends within the overall limit, whatever the parts do. */
  async run(): Promise<DrainReport> {
    const { newRequest, ops, startUp } = this.#parts;
    await this.#stop('stop-new-request', newRequest);
    if (startUp) {
      const { outcome } = await this.#waitForTasks('start-up', () => startUp.catch(() => undefined));
      if (outcome === 'timed-out') this.#problems.push('initHost did not end in its time');
    }
    await this.#waitForTasks('tasks', () => this.#idle([newRequest]));
    if (ops) {
      await this.#stop('stop-ops', ops);
      await this.#waitForTasks('ops-tasks', () => this.#idle([newRequest, ops]));
    }
    this.#log.timeIsOver();
    await this.#cleanup();
    await this.#close(ops ? [newRequest, ops] : [newRequest]);
    await this.#lastWords();
    return this.#report();
  }

  async #stop(name: StepName, { server, listening }: DrainingServer): Promise<void> {
    await this.#step({
      name,
      limitMs: STOP_MS,
      reserveMs: this.#cleanupMs + this.#closingMs + this.#lastWordsMs,
      doNotWait: !listening, // it ends its start first, and that may never end; nothing can be in it
      run: () => server.stop(),
    });
  }

  /** All waits for tasks together take at most `managerShutdownTimeoutMs`. */
  async #waitForTasks(name: StepName, run: () => Promise<unknown>): Promise<StepReport> {
    const doNotWait = this.#parts.budgets.managerShutdownTimeoutMs === 0;
    const report = await this.#runner.run({
      name,
      limitMs: this.#tasksLeftMs,
      reserveMs: this.#cleanupMs + this.#closingMs + this.#lastWordsMs,
      doNotWait,
      run: (_signal, limitMs) => {
        if (!doNotWait) this.#aborts?.begin(limitMs); // what nobody waits for could not be put back either
        return Promise.race([run(), this.#leaving]);
      },
    });
    this.#aborts?.end();
    this.#tasksLeftMs = Math.max(0, this.#tasksLeftMs - report.durationMs);
    return report;
  }

  /** Nothing is in the registry, and nothing is in the servers that is not there yet: fetched, or just being accepted. */
  async #idle(servers: readonly DrainingServer[]): Promise<void> {
    const { registry } = this.#parts;
    do {
      await registry.whenIdle();
      await Promise.all(servers.map(async ({ server }) => server.whenIdle?.()));
    } while (registry.size > 0);
  }

  async #cleanup(): Promise<void> {
    const { cleanupHost, budgets } = this.#parts;
    const { outcome } = await this.#step({
      name: 'cleanup',
      limitMs: this.#cleanupMs,
      reserveMs: this.#closingMs + this.#lastWordsMs / 2, // timers are late: half is for that
      doNotWait: budgets.cleanupTimeoutMs === 0,
      run: cleanupHost,
    });
    if (outcome === 'timed-out') this.#problems.push('cleanupHost did not end in its time');
  }

  async #close(servers: readonly DrainingServer[]): Promise<void> {
    const doNotWait = this.#parts.budgets.closingTimeoutMs === 0;
    const wasUp = servers.some(({ listening }) => listening);
    const problems: string[] = [];
    const { outcome } = await this.#step({
      name: 'closing',
      limitMs: wasUp ? this.#closingMs : Math.min(this.#closingMs, LAST_WORDS_MS),
      reserveMs: this.#lastWordsMs / 2,
      doNotWait,
      run: async (_signal, limitMs) => {
        // A little earlier than the step, so that what a server hands back at its time limit is back before the end.
        const timeoutMs = limitMs - Math.min(100, limitMs / 5);
        await Promise.all(servers.map((each) => this.#waitFor(each, timeoutMs, problems)));
      },
    });
    if (outcome === 'timed-out' && problems.length === 0 && wasUp) {
      problems.push('the servers had not ended when the time for closing was over');
    }
    if (!doNotWait) this.#problems.push(...problems);
  }

  async #waitFor(
    { name, server, listening }: DrainingServer,
    timeoutMs: number,
    problems: string[],
  ): Promise<void> {
    try {
      const end = await server.wait({ timeoutMs });
      for (const what of end?.unconfirmed ?? []) problems.push(`${name} server: not confirmed: ${what}`);
    } catch (error) {
      if (listening) problems.push(`${name} server: ${describeError(error)}`);
    }
  }

  async #lastWords(): Promise<void> {
    const { registry, journal, lastReport, onExit, budgets } = this.#parts;
    const limitMs = Math.max(LAST_WORDS_MS, budgets.closingTimeoutMs);
    const unfinished = (this.#left ??= registry.snapshot());
    if (journal && unfinished.length > 0) {
      const run = (): MaybePromise<void> => journal.write(unfinished);
      const { outcome } = await this.#step({
        name: 'journal',
        limitMs,
        reserveMs: this.#lastWordsMs / 2,
        run,
      });
      if (outcome === 'timed-out') this.#problems.push('the journal was not written in time');
    }
    if (lastReport) {
      await this.#runner.run({
        name: 'last-report',
        limitMs,
        reserveMs: 0,
        run: (_signal, ms) => lastReport(ms),
      });
    }
    this.#log.end();
    if (onExit) {
      const report = this.#report();
      await this.#step({ name: 'on-exit', limitMs, reserveMs: 0, run: () => onExit(report) });
    }
  }

  /** A step whose failure is a problem of the drain. */
  async #step(step: Parameters<StepRunner['run']>[0]): Promise<StepReport> {
    const report = await this.#runner.run(step);
    if (report.outcome === 'failed') this.#problems.push(`${report.name} failed: ${report.error ?? ''}`);
    return report;
  }

  #report(): DrainReport {
    const unfinished = this.#left ?? [];
    return {
      reason: this.#parts.reason,
      outcome: this.#outcome(unfinished),
      durationMs: Math.round(this.#runner.elapsedMs),
      steps: [...this.#runner.reports],
      unfinished,
      problems: [...this.#problems],
      ...this.#log.totals,
    };
  }

  #outcome(unfinished: readonly TaskSnapshot[]): DrainOutcome {
    if (this.#parts.startFailed) return 'start-failed';
    if (this.#runner.expired) return 'timed-out';
    return unfinished.length > 0 || this.#problems.length > 0 ? 'unfinished' : 'clean';
  }
}
