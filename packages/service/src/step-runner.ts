import type { MaybePromise } from '@ebbgate/core';
import type { StepEvent, StepName, StepOutcome, StepReport } from './drain-report.js';
import { describeError } from './describe-error.js';

/** One step of a drain. */
export interface DrainStep {
  readonly name: StepName;
  /** Its own budget. */
  readonly limitMs: number;
  /** What it must leave of the overall limit for the steps after it. */
  readonly reserveMs: number;
  /** Begin it and go on: its budget is 0 by configuration. */
  readonly doNotWait?: boolean;
  /** The signal aborts when its time is over. */
  run(signal: AbortSignal, limitMs: number): MaybePromise<unknown>;
}

/** Node's timers count whole milliseconds and may fire one early. */
const TIMER_ERROR_MS = 2;
const LATE: unique symbol = Symbol('late');

/**
 * Runs steps one after another under one deadline. Every step is begun, whatever became of those before it (GS-105),
 * and none is waited for longer than its budget and what is left of the overall limit (COMP-03). Never rejects.
 */
export class StepRunner {
  readonly #startedAt = performance.now();
  #overallMs: number;
  readonly #onEvent: (event: StepEvent) => void;
  readonly #reports: StepReport[] = [];
  #current: StepName | undefined;
  #isCutOff = false;
  /** Ends the wait for the step that is under way. */
  #endWait: () => void = () => undefined;

  /** @param overallMs - from now, for all steps together; Infinity for no limit */
  constructor(overallMs: number, onEvent: (event: StepEvent) => void) {
    this.#overallMs = overallMs;
    this.#onEvent = onEvent;
  }

  get reports(): readonly StepReport[] {
    return this.#reports;
  }

  /** The step that is under way. */
  get current(): StepName | undefined {
    return this.#current;
  }

  get elapsedMs(): number {
    return performance.now() - this.#startedAt;
  }

  /** What is left of the overall limit. */
  get leftMs(): number {
    return Math.max(0, this.#overallMs - this.elapsedMs);
  }

  /** The overall limit has passed; timers are a little off, so that the last bit of it counts as none. */
  get expired(): boolean {
    return this.leftMs < TIMER_ERROR_MS;
  }

  /** The overall limit is over now: no step is waited for any more; those to come are begun all the same. */
  expire(): void {
    this.#overallMs = 0;
    this.#endWait();
  }

  /** As {@link StepRunner.expire}, and no step is begun any more. */
  cutOff(): void {
    this.#isCutOff = true;
    this.expire();
  }

  async run(step: DrainStep): Promise<StepReport> {
    const { name, doNotWait = false } = step;
    const limitMs = doNotWait ? 0 : Math.max(0, Math.min(step.limitMs, this.leftMs - step.reserveMs));
    const startedMs = this.elapsedMs;
    this.#current = name;
    this.#onEvent({ phase: 'started', name, startedMs: rounded(startedMs), limitMs: rounded(limitMs) });
    const { outcome, error } = await this.#outcomeOf(step, limitMs, doNotWait);
    this.#current = undefined;
    const report: StepReport = {
      name,
      startedMs: rounded(startedMs),
      durationMs: rounded(this.elapsedMs - startedMs),
      limitMs: rounded(limitMs),
      outcome,
      ...(error === undefined ? {} : { error }),
    };
    this.#reports.push(report);
    this.#onEvent({ phase: 'finished', ...report });
    return report;
  }

  async #outcomeOf(
    step: DrainStep,
    limitMs: number,
    doNotWait: boolean,
  ): Promise<{ outcome: StepOutcome; error?: string }> {
    if (this.#isCutOff) return { outcome: 'timed-out' };
    const end = new AbortController();
    const work = (async () => step.run(end.signal, limitMs))(); // what it throws at once is a rejection too
    try {
      if ((await this.#firstOf(work, limitMs)) !== LATE) return { outcome: 'done' };
      if (doNotWait) return { outcome: 'not-waited' };
      end.abort(new Error(`The step ${step.name} was over after ${Math.round(limitMs)} ms`));
      return { outcome: 'timed-out' };
    } catch (error) {
      return { outcome: 'failed', error: describeError(error) };
    }
  }

  /** The work's outcome, or LATE when the time is over first. With no time at all it still gets one turn of the loop. */
  async #firstOf(work: Promise<unknown>, limitMs: number): Promise<unknown> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<typeof LATE>((resolve) => {
      const end = (): void => {
        resolve(LATE);
      };
      if (limitMs > 0) timer = setTimeout(end, limitMs);
      else setImmediate(end);
      this.#endWait = end;
    });
    try {
      return await Promise.race([work, late]); // when it is late, what the work ends with hurts nobody
    } finally {
      clearTimeout(timer);
    }
  }
}

function rounded(ms: number): number {
  return Math.round(ms * 10) / 10;
}
