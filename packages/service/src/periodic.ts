import { ConfigurationError, type Logger, type MaybePromise } from '@ebbgate/core';
import { describeError } from './describe-error.js';
import type { TaskRegistry } from './task-registry.js';

/** Work that is repeated while a service runs. */
export interface PeriodicTask {
  /** Shown in the task registry while it runs, as `periodic:<name>`. */
  readonly name: string;
  /** From the start of one run to the start of the next; a run that takes longer delays the next, never overlaps it. */
  readonly intervalMs: number;
  /** Until the first run; default `intervalMs`. */
  readonly initialDelayMs?: number;
  /** What it throws is logged; the next run comes all the same. */
  run(): MaybePromise<unknown>;
}

/** What the runner keeps of one task. */
interface Entry {
  readonly task: PeriodicTask;
  timer: NodeJS.Timeout | undefined;
  failing: boolean;
}

/**
 * Repeats tasks, each in the task registry while it runs, until it is stopped: then none begins, and what runs goes on
 * to its end (GS-97, COMP-06). Keeps no process alive.
 */
export class PeriodicRunner {
  readonly #entries: readonly Entry[];
  readonly #registry: TaskRegistry;
  readonly #logger: Logger;
  #state: 'idle' | 'running' | 'stopped' = 'idle';

  /** @throws ConfigurationError (`ERR_CONFIGURATION`) naming the task whose times are none. */
  constructor(tasks: readonly PeriodicTask[], registry: TaskRegistry, logger: Logger) {
    for (const task of tasks) {
      checkInterval(task.name, 'intervalMs', task.intervalMs, 1);
      checkInterval(task.name, 'initialDelayMs', task.initialDelayMs ?? 0, 0);
    }
    this.#entries = tasks.map((task) => ({ task, timer: undefined, failing: false }));
    this.#registry = registry;
    this.#logger = logger;
  }

  /** Begins; has no effect once stopped. */
  start(): void {
    if (this.#state !== 'idle') return;
    this.#state = 'running';
    for (const entry of this.#entries) {
      this.#schedule(entry, entry.task.initialDelayMs ?? entry.task.intervalMs);
    }
  }

  /** From here on no run begins. */
  stop(): void {
    this.#state = 'stopped';
    for (const entry of this.#entries) clearTimeout(entry.timer);
  }

  #schedule(entry: Entry, delayMs: number): void {
    if (this.#state !== 'running') return;
    entry.timer = setTimeout(() => void this.#run(entry), delayMs);
    entry.timer.unref();
  }

  async #run(entry: Entry): Promise<void> {
    const startedMs = performance.now();
    const { name } = entry.task;
    try {
      await this.#registry.track(`periodic:${name}`, async () => entry.task.run());
      if (entry.failing) this.#logger.info({ task: name }, 'Periodic task works again');
      entry.failing = false;
    } catch (error) {
      if (!entry.failing)
        this.#logger.warn({ task: name, error: describeError(error) }, 'Periodic task failed');
      entry.failing = true;
    }
    this.#schedule(entry, Math.max(0, startedMs + entry.task.intervalMs - performance.now()));
  }
}

function checkInterval(task: string, name: string, value: number, min: number): void {
  if (value >= min && value <= 2_147_483_647) return;
  throw new ConfigurationError(
    `${name} of the periodic task "${task}" must be a number of milliseconds from ${min} to 2147483647, not ${String(value)}`,
  );
}
