import type { Logger } from '@ebbgate/core';
import { describeError } from './describe-error.js';
import type { DrainReport } from './drain-report.js';
import type { TaskCounts, TaskRegistry, TaskSnapshot } from './task-registry.js';

/** While tasks are left they are listed this often. */
const EVERY_MS = 10_000;
/** At most so many are listed at a time; the count tells the rest. */
const SHOWN = 100;

/**
 * What a drain says of its tasks: all of them when it begins, each that ends (and each that still begins), all that are left
 * every ten seconds and at the time-out, and the totals (GS-96). In normal operation nothing is said.
 */
export class DrainLog {
  readonly #registry: TaskRegistry;
  readonly #logger: Logger;
  readonly #before: TaskCounts;
  readonly #aborted: TaskSnapshot[] = [];
  readonly #unsubscribe: readonly (() => void)[];
  readonly #timer: NodeJS.Timeout;

  /** Begins to log. */
  constructor(registry: TaskRegistry, logger: Logger) {
    this.#registry = registry;
    this.#logger = logger;
    this.#before = registry.counts;
    const tasks = registry.snapshot();
    if (tasks.length === 0) logger.info({ left: 0 }, 'No tasks are running');
    else logger.info(listed(tasks), `Waiting for ${tasks.length} running tasks`);
    this.#unsubscribe = [
      registry.events.on('opened', (task) => {
        logger.info({ ...task, left: registry.size }, `Task ${task.name} has begun during the drain`);
      }),
      registry.events.on('ended', ({ task, failed, aborted, error, left }) => {
        if (aborted) this.#aborted.push(task);
        if (aborted) logger.info({ ...task, left }, `Task ${task.name} was put back`);
        else if (failed)
          logger.warn({ ...task, left, error: describeError(error) }, `Task ${task.name} has failed`);
        else logger.info({ ...task, left }, `Task ${task.name} has completed`);
      }),
    ];
    this.#timer = setInterval(() => {
      const waiting = registry.snapshot();
      if (waiting.length > 0) logger.info(listed(waiting), `Still waiting for ${waiting.length} tasks`);
    }, EVERY_MS);
    this.#timer.unref();
  }

  /** Tasks that have ended since the drain began. */
  get totals(): Pick<DrainReport, 'completed' | 'failed' | 'aborted'> {
    const { completed, failed } = this.#registry.counts;
    return {
      completed: completed - this.#before.completed,
      failed: failed - this.#before.failed,
      aborted: [...this.#aborted],
    };
  }

  /** Nobody waits for tasks any more: lists those that are left, if there are any. */
  timeIsOver(): void {
    const tasks = this.#registry.snapshot();
    if (tasks.length === 0) return;
    this.#logger.warn(listed(tasks), `The time for tasks is over: ${tasks.length} are still running`);
  }

  /** Says the totals, and nothing more after that. */
  end(): void {
    clearInterval(this.#timer);
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    const { completed, failed, aborted } = this.totals;
    const left = this.#registry.size;
    this.#logger.info(
      { completed, failed, aborted: aborted.length, left },
      `Tasks: ${completed} completed, ${failed} failed, ${aborted.length} aborted, ${left} left`,
    );
  }
}

function listed(tasks: readonly TaskSnapshot[]): object {
  return { left: tasks.length, tasks: tasks.slice(0, SHOWN) };
}
