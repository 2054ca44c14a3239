import type { TaskSnapshot } from './task-registry.js';

/** The steps of a drain, in the order in which they run. Those that have nothing to do are left out. */
export type StepName =
  | 'stop-new-request'
  | 'start-up'
  | 'tasks'
  | 'stop-ops'
  | 'ops-tasks'
  | 'cleanup'
  | 'closing'
  | 'journal'
  | 'last-report'
  | 'on-exit';

/**
 * How a step ended. `timed-out`: its time was over first, and the drain went on without it. `not-waited`: its budget
 * is 0, so that it was begun and left to itself.
 */
export type StepOutcome = 'done' | 'failed' | 'timed-out' | 'not-waited';

/** One step of a drain that is over. */
export interface StepReport {
  /** Which step. */
  readonly name: StepName;
  /** Milliseconds since the drain began. */
  readonly startedMs: number;
  /** How long it was waited for. */
  readonly durationMs: number;
  /** Longest time that it could have taken: its own budget, cut to what was left of the overall limit. */
  readonly limitMs: number;
  /** What came of it. */
  readonly outcome: StepOutcome;
  /** What it failed with, redacted. */
  readonly error?: string;
}

/** A step that begins, or that has ended. */
export type StepEvent =
  | {
      readonly phase: 'started';
      readonly name: StepName;
      readonly startedMs: number;
      readonly limitMs: number;
    }
  | ({ readonly phase: 'finished' } & StepReport);

/**
 * `clean`: nothing was left. `unfinished`: work was left, or a step failed. `timed-out`: the overall limit ended the
 * drain. `start-failed`: the service never ran.
 */
export type DrainOutcome = 'clean' | 'unfinished' | 'timed-out' | 'start-failed';

/** What a drain came to. Plain data, ready for JSON. */
export interface DrainReport {
  /** Why the service drained, as given to `drain()`. */
  readonly reason: string;
  /** What came of it as a whole; `exitCodeOf` makes an exit code of the report. */
  readonly outcome: DrainOutcome;
  /** From the beginning of the drain to its end. */
  readonly durationMs: number;
  /** In the order in which they ended. */
  readonly steps: readonly StepReport[];
  /** Tasks that still ran at the end. */
  readonly unfinished: readonly TaskSnapshot[];
  /** Everything else that was not as it should be, in words. */
  readonly problems: readonly string[];
  /** Tasks that ended well during the drain. */
  readonly completed: number;
  /** Tasks that ended with an error during the drain. */
  readonly failed: number;
  /** Tasks that the drain has aborted as they could not end in time, and that were put back: nothing of them is left. */
  readonly aborted: readonly TaskSnapshot[];
}
