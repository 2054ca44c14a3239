import { currentContext } from '@ebbgate/core';
import type { TaskHandle, TaskRecord } from './task-registry.js';

/** What a task tells its registry. */
interface TaskOwner {
  onChange(task: OpenTask): void;
  onEnd(task: OpenTask, error: unknown): void;
}

/** A task that runs; for whoever has opened it, its handle. */
export class OpenTask implements TaskHandle {
  readonly id: number;
  readonly record: TaskRecord;
  readonly requestId: string | null;
  readonly startedMs: number;
  /** The key under which it was opened as an operation. */
  readonly key: string | undefined;
  /** Why its owner was asked to put it back. */
  abortReason: Error | undefined;
  /** Its neighbours in {@link OpenTasks}. */
  before: OpenTask | undefined;
  after: OpenTask | undefined;
  readonly #owner: TaskOwner;

  constructor(id: number, record: TaskRecord, startedMs: number, key: string | undefined, owner: TaskOwner) {
    const { requestId = currentContext()?.requestId ?? null } = record;
    this.id = id;
    this.record = record;
    this.requestId = requestId;
    this.startedMs = startedMs;
    this.key = key;
    this.abortReason = undefined;
    this.before = undefined;
    this.after = undefined;
    this.#owner = owner;
  }

  changed(): void {
    this.#owner.onChange(this);
  }

  end(error?: unknown): void {
    this.#owner.onEnd(this, error);
  }
}

/**
 * Tasks in the order in which they were opened. Linked: a set would be made anew for every few requests that come one
 * after another.
 */
export class OpenTasks implements Iterable<OpenTask> {
  #oldest: OpenTask | undefined;
  #newest: OpenTask | undefined;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(task: OpenTask): void {
    task.before = this.#newest;
    if (this.#newest) this.#newest.after = task;
    else this.#oldest = task;
    this.#newest = task;
    this.#size += 1;
  }

  /** False when it is not here any more. */
  delete(task: OpenTask): boolean {
    const { before, after } = task;
    if (!before && this.#oldest !== task) return false;
    if (before) before.after = after;
    else this.#oldest = after;
    if (after) after.before = before;
    else this.#newest = before;
    task.before = undefined;
    task.after = undefined;
    this.#size -= 1;
    return true;
  }

  *[Symbol.iterator](): Iterator<OpenTask> {
    for (let task = this.#oldest; task; task = task.after) yield task;
  }
}
