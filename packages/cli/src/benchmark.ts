import { createHistogram, performance, type RecordableHistogram } from 'node:perf_hooks';
import { setImmediate as turn } from 'node:timers/promises';
import { MessagingError } from '@ebbgate/core';
import { type Latency, latencyOf } from './latency.js';

/** What is measured, and for how long. */
export interface BenchmarkPlan {
  /** Sends one request, and resolves when it is done. */
  readonly send: () => Promise<unknown>;
  /** Requests at the same time. */
  readonly concurrency: number;
  /** Ends after so many requests … */
  readonly count: number;
  /** … or after so many milliseconds, whichever is first. */
  readonly durationMs: number;
  /** Ends it early; the report tells of what was done until then. */
  readonly signal: AbortSignal;
  /** Whether more may be sent after so many: keeps what is sent and not yet handled within bounds. */
  readonly hasRoom?: (sent: number) => boolean;
}

/** What was measured. */
export interface BenchmarkReport {
  readonly done: number;
  readonly failed: number;
  /** How often each code came. */
  readonly errors: Readonly<Record<string, number>>;
  readonly seconds: number;
  readonly perSecond: number;
  /** From the start of a request to its end; undefined when none succeeded. */
  readonly latencyMs: Latency | undefined;
}

/** More failures than that say nothing new. */
const MOST_FAILURES = 1_000;
/** Sends that resolve at once would otherwise leave no turn to timers, signals and the receiver. */
const SENDS_A_TURN = 64;

/** Sends requests at a fixed concurrency and measures them. */
export class Benchmark {
  readonly #plan: BenchmarkPlan;
  readonly #latency: RecordableHistogram = createHistogram();
  readonly #errors = new Map<string, number>();
  #begun = 0;
  #failed = 0;
  #startedMs = 0;
  #turn: Promise<void> | undefined;
  #lastError: MessagingError | undefined;

  constructor(plan: BenchmarkPlan) {
    this.#plan = plan;
  }

  /** The last failure; its code counts when anything failed. */
  get lastError(): MessagingError | undefined {
    return this.#lastError;
  }

  get done(): number {
    return this.#latency.count;
  }

  get elapsedMs(): number {
    return performance.now() - this.#startedMs;
  }

  /** @throws what is no MessagingError: a defect, not a result */
  async run(): Promise<BenchmarkReport> {
    this.#startedMs = performance.now();
    const { concurrency, count } = this.#plan;
    const work = Promise.all(Array.from({ length: Math.min(concurrency, count) }, () => this.#work()));
    await Promise.race([work, whenAborted(this.#plan.signal)]);
    return this.report();
  }

  /** Of what is done by now. */
  report(): BenchmarkReport {
    const seconds = this.elapsedMs / 1000;
    return {
      done: this.done,
      failed: this.#failed,
      errors: Object.fromEntries(this.#errors),
      seconds: Math.round(seconds * 1000) / 1000,
      perSecond: Math.round(this.done / seconds),
      latencyMs: latencyOf(this.#latency),
    };
  }

  get #isOver(): boolean {
    const { signal, count, durationMs } = this.#plan;
    return (
      signal.aborted || this.#begun >= count || this.#failed > MOST_FAILURES || this.elapsedMs >= durationMs
    );
  }

  async #work(): Promise<void> {
    const { hasRoom = () => true } = this.#plan;
    while (!this.#isOver) {
      if (!hasRoom(this.#begun)) {
        await (this.#turn ??= this.#nextTurn());
        continue;
      }
      this.#begun += 1;
      if (this.#begun % SENDS_A_TURN === 0) await turn();
      await this.#one();
    }
  }

  /** One for all who wait. */
  async #nextTurn(): Promise<void> {
    await turn();
    this.#turn = undefined;
  }

  async #one(): Promise<void> {
    const startedMs = performance.now();
    try {
      await this.#plan.send();
    } catch (error) {
      if (this.#plan.signal.aborted) return;
      if (!(error instanceof MessagingError)) throw error;
      this.#failed += 1;
      this.#lastError = error;
      this.#errors.set(error.code, (this.#errors.get(error.code) ?? 0) + 1);
      return;
    }
    this.#latency.record(Math.max(1, Math.round((performance.now() - startedMs) * 1e6)));
  }
}

/** What is under way then is left to itself. */
function whenAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const onAbort = (): void => {
      resolve();
    };
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
  });
}
