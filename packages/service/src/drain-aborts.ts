import type { Logger } from '@ebbgate/core';
import { DrainingError } from '@ebbgate/rpc';
import { describeError } from './describe-error.js';
import type { AbortableTask } from './task-abort.js';
import type { TaskRegistry } from './task-registry.js';

/** A task that has said when it ends may be late by this part of its reserve. */
const GRACE = 0.1;

/**
 * Aborts, while a drain waits for tasks, those that may be aborted and cannot end in the time that is left (GS-103). They
 * are looked at when the wait begins, when one of them has something new to tell, and when so little time is left that the
 * putting back needs it. Then what cannot tell how long it needs is aborted too; what ends within that time, as it says, is
 * taken at its word, once.
 */
export class DrainAborts {
  readonly #registry: TaskRegistry;
  readonly #logger: Logger;
  /** When those end that were taken at their word, by id. */
  readonly #promised = new Map<number, number>();
  /** When the wait is over; undefined while nothing is waited for. */
  #endsAtMs: number | undefined;
  #looksSoon = false;
  #timer: NodeJS.Timeout | undefined;
  #unsubscribe: readonly (() => void)[] = [];

  constructor(registry: TaskRegistry, logger: Logger) {
    this.#registry = registry;
    this.#logger = logger;
  }

  /** Begins to look. @param limitMs - how long tasks are waited for, from now on */
  begin(limitMs: number): void {
    this.#endsAtMs = performance.now() + limitMs;
    this.#unsubscribe = (['opened', 'changed'] as const).map((name) =>
      this.#registry.events.on(name, () => {
        this.#lookSoon();
      }),
    );
    this.#look();
  }

  /** The wait is over: aborts nothing any more, until it begins again. */
  end(): void {
    clearTimeout(this.#timer);
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    this.#unsubscribe = [];
    this.#promised.clear();
    this.#endsAtMs = undefined;
  }

  /** Not at once: whoever opens a task does not have its handle yet. */
  #lookSoon(): void {
    if (this.#looksSoon) return;
    this.#looksSoon = true;
    queueMicrotask(() => {
      this.#looksSoon = false;
      this.#look();
    });
  }

  #look(): void {
    if (this.#endsAtMs === undefined) return;
    const leftMs = this.#endsAtMs - performance.now();
    let nextMs = Infinity;
    for (const one of this.#registry.abortable()) {
      const why = whyNotInTime(one, leftMs);
      const againMs = why === undefined ? this.#untilNextLook(one, leftMs) : 0;
      if (againMs > 0) nextMs = Math.min(nextMs, againMs);
      else this.#abort(one, why ?? 'it has not ended when it said that it would');
    }
    clearTimeout(this.#timer);
    if (nextMs === Infinity) return;
    this.#timer = setTimeout(() => {
      this.#look();
    }, nextMs);
    this.#timer.unref();
  }

  /** How long a task goes on until it is looked at again; 0 or less: it has not kept its word. */
  #untilNextLook({ task, needsMs = 0, reserveMs }: AbortableTask, leftMs: number): number {
    if (leftMs > reserveMs) return leftMs - reserveMs;
    const nowMs = performance.now();
    const endsAtMs = this.#promised.get(task.id) ?? nowMs + needsMs + reserveMs * GRACE;
    this.#promised.set(task.id, endsAtMs);
    return endsAtMs - nowMs;
  }

  #abort({ task, abort }: AbortableTask, why: string): void {
    const fields = { ...task, why };
    try {
      if (abort(new DrainingError(`Aborted, since the service drains: ${why}`)))
        this.#logger.warn(fields, `Task ${task.name} is aborted and put back: ${why}`);
      else this.#logger.info(fields, `Task ${task.name} cannot be aborted any more: it goes on`);
    } catch (error) {
      const text = `Task ${task.name} could not be aborted: it goes on`;
      this.#logger.error({ ...fields, error: describeError(error) }, text);
    }
  }
}

/** Undefined: it ends in time, or it is too early to tell. */
function whyNotInTime({ needsMs, reserveMs }: AbortableTask, leftMs: number): string | undefined {
  const left = `${seconds(leftMs)} are left`;
  if (needsMs === undefined) {
    if (leftMs > reserveMs) return undefined;
    return `it cannot tell how long it needs, and ${left}`;
  }
  return needsMs > leftMs ? `it needs ${seconds(needsMs)}, and ${left}` : undefined;
}

function seconds(ms: number): string {
  return `${String(Math.round(Math.max(0, ms) / 100) / 10)} s`;
}
