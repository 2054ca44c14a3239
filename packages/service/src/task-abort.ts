import type { TaskSnapshot } from './task-registry.js';

/**
 * How a task is ended early and put back, so that nothing of it is left. Only a drain with `abortBeforeDeadline` does that,
 * and only when the task cannot end in its time.
 */
export interface TaskAbort {
  /**
   * Begins to put it back. A controller is aborted; a function says `false` when it is too late for that: then the task
   * goes on, and is not asked again. The task ends as every other. When it was put back it ends with the reason that was
   * given here, or an error that the reason has caused; without an error it has completed all the same, with any other it
   * has failed.
   */
  readonly begin: AbortController | ((reason: Error) => boolean);
  /** How long it still needs, as far as it can tell. Asked when a drain begins and whenever something may have changed. */
  readonly needsMs?: () => number | undefined;
  /** How long the putting back takes: so long before its time is over the task has ended, or is aborted. Default 5000. */
  readonly reserveMs?: number;
}

/** A task that can be aborted, at one moment. */
export interface AbortableTask {
  /** What it is. */
  readonly task: TaskSnapshot;
  /** How long it still needs; undefined: it cannot tell. */
  readonly needsMs: number | undefined;
  /** How long the putting back takes. */
  readonly reserveMs: number;
  /** Begins to put it back; false when it is too late. Only the first call counts. @throws what its owner throws */
  readonly abort: (reason: Error) => boolean;
}

const RESERVE_MS = 5_000;
const MOST_CAUSES = 8;

/** What the owner of a task says of its times; what is no time counts as not said. */
export function timesOf({ needsMs, reserveMs }: TaskAbort): Pick<AbortableTask, 'needsMs' | 'reserveMs'> {
  return { needsMs: timeOf(() => needsMs?.()), reserveMs: timeOf(() => reserveMs) ?? RESERVE_MS };
}

/** Asks the owner to begin. */
export function beginAbort({ begin }: TaskAbort, reason: Error): boolean {
  if (typeof begin === 'function') return begin(reason);
  begin.abort(reason);
  return true;
}

/** A task that ended with this was ended by the reason. */
export function isCausedBy(error: unknown, reason: Error): boolean {
  let one = error;
  for (let links = 0; one instanceof Error && links < MOST_CAUSES; links += 1) {
    if (one === reason) return true;
    one = one.cause;
  }
  return false;
}

/** Anybody's function: that it fails must not keep a drain from going on. */
function timeOf(tell: () => unknown): number | undefined {
  try {
    const ms = tell();
    return typeof ms === 'number' && ms >= 0 && Number.isFinite(ms) ? ms : undefined;
  } catch {
    return undefined;
  }
}
