import { checkLogger, type Logger, silentLogger, TypedEvents } from '@ebbgate/core';
import { describeError } from './describe-error.js';
import { OpenTask, OpenTasks } from './open-task.js';
import { type AbortableTask, beginAbort, isCausedBy, type TaskAbort, timesOf } from './task-abort.js';

/** `handler`: one request being served. `background`: work that goes on without one. `operation`: spans several requests. */
export type TaskKind = 'handler' | 'background' | 'operation';

/** What is known of a task when it begins. */
export interface TaskRecord {
  /** What it does: a method's or an operation's name. */
  readonly name: string;
  /** Default `background`. */
  readonly kind?: TaskKind;
  /** Default: that of the request being served here, if any. */
  readonly requestId?: string | null;
  /** What it is about, by id; nothing when it is about nothing in particular. */
  readonly instance?: string | null;
  /** How far it is, from 0 to 1, if it can tell. Asked whenever somebody looks. */
  readonly progress?: () => number | undefined;
  /** How it is ended early and put back, where a drain may do that; default: it may not, the task must complete. */
  readonly abort?: TaskAbort;
}

/** A task at one moment. Plain data, ready for JSON. */
export interface TaskSnapshot {
  /** Unique in its registry. */
  readonly id: number;
  /** What is being done. */
  readonly name: string;
  /** A request being handled, background work, or an operation over several requests. */
  readonly kind: TaskKind;
  /** What it is done to: the id of an instance, say. */
  readonly subject: string | null;
  /** Of the request that it belongs to. */
  readonly requestId: string | null;
  /** Since it began. */
  readonly ageMs: number;
  /** From 0 to 1; null when nobody tells. */
  readonly progress: number | null;
}

/** What the owner of a task tells of it. */
export interface TaskHandle {
  /** Unique in its registry. */
  readonly id: number;
  /** Its progress, or what it still needs, has changed. */
  changed(): void;
  /** The task is over: failed when an error is given, else completed. Only the first call counts. */
  end(error?: unknown): void;
}

/** What a registry tells. */
export interface TaskEvents {
  /** A task has begun. */
  readonly opened: TaskSnapshot;
  /** A task has got further, or tells otherwise how long it still needs. */
  readonly changed: TaskSnapshot;
  /** A task has ended: whether by an error, by which, and how many are still open. */
  readonly ended: {
    readonly task: TaskSnapshot;
    readonly failed: boolean;
    /** It was aborted and put back; then it has not failed. */
    readonly aborted: boolean;
    readonly error: unknown;
    readonly left: number;
  };
}

/** Since the registry was made. */
export interface TaskCounts {
  /** Tasks that were begun. */
  readonly opened: number;
  /** Tasks that ended well. */
  readonly completed: number;
  /** Tasks that ended with an error. */
  readonly failed: number;
  /** Tasks that a drain has aborted, and that were put back. */
  readonly aborted: number;
}

/** How a registry is made. */
export interface TaskRegistryOptions {
  /** Hears of listeners that throw, and of nothing else. */
  readonly logger?: Logger;
  /** A monotonic clock, in milliseconds. */
  readonly clock?: () => number;
}

const KINDS: readonly unknown[] = ['handler', 'background', 'operation'] satisfies TaskKind[];
/** An id or a name comes from the wire: what is shown of it is bounded. */
const SHOWN = 200;

/**
 * Everything that runs in a service, from its first moment to its end: what a drain waits for, and what is shown and
 * written down meanwhile (COMP-02). Says nothing while nobody listens.
 */
export class TaskRegistry {
  /** Tells of each task as it begins, changes and ends. */
  readonly events: TypedEvents<TaskEvents>;
  readonly #clock: () => number;
  readonly #tasks = new OpenTasks();
  readonly #operations = new Map<string, Set<OpenTask>>();
  #opened = 0;
  #completed = 0;
  #failed = 0;
  #aborted = 0;
  #idle: { readonly promise: Promise<void>; readonly resolve: () => void } | undefined;

  constructor(options: TaskRegistryOptions = {}) {
    const logger = checkLogger(options.logger ?? silentLogger);
    this.#clock = options.clock ?? (() => performance.now());
    this.events = new TypedEvents<TaskEvents>((error, event) => {
      logger.error({ event, error: describeError(error) }, 'A listener to the task registry failed');
    });
  }

  /** Tasks that run. */
  get size(): number {
    return this.#tasks.size;
  }

  /** Since the registry was made; a copy. */
  get counts(): TaskCounts {
    return {
      opened: this.#opened,
      completed: this.#completed,
      failed: this.#failed,
      aborted: this.#aborted,
    };
  }

  /** Records a task that begins now. Whoever opens it sees to it that it ends. */
  open(record: TaskRecord): TaskHandle {
    return this.#open(record, undefined);
  }

  /** Runs `work` as a task: it ends with its promise, whichever way that settles (GS-98). Passes the outcome on. */
  async track<T>(
    record: string | TaskRecord,
    work: (task: Pick<TaskHandle, 'changed'>) => T | Promise<T>,
  ): Promise<T> {
    const handle = this.open(typeof record === 'string' ? { name: record } : record);
    try {
      const result = await work(handle);
      handle.end();
      return result;
    } catch (error) {
      handle.end(error ?? new Error('rejected without a reason'));
      throw error;
    }
  }

  /**
   * Opens a task that another request will close by `key`. When the key is open already (the first request came twice)
   * both stay, each with its own handle; none takes the other's place.
   */
  openOperation(key: string, record: TaskRecord): TaskHandle {
    return this.#open({ kind: 'operation', ...record }, key);
  }

  /**
   * The operation is over: ends all that is open under `key`, however often it was opened, as failed when an error is
   * given. False when nothing was.
   */
  closeOperation(key: string, error?: unknown): boolean {
    const open = [...(this.#operations.get(key) ?? [])];
    for (const task of open) task.end(error);
    return open.length > 0;
  }

  /** What runs, the oldest first. */
  snapshot(): TaskSnapshot[] {
    return Array.from(this.#tasks, (task) => this.#show(task));
  }

  /** What runs and may be ended early, the oldest first: without what was aborted already, or would not be any more. */
  abortable(): AbortableTask[] {
    return Array.from(this.#tasks).flatMap((task) => {
      const { abort } = task.record;
      if (!abort || task.abortReason) return [];
      const begin = (reason: Error): boolean => {
        if (task.abortReason) return false;
        task.abortReason = reason;
        return beginAbort(abort, reason);
      };
      return { task: this.#show(task), ...timesOf(abort), abort: begin };
    });
  }

  /** Resolves at the moment when nothing runs; at once when that is now. */
  whenIdle(): Promise<void> {
    if (this.#tasks.size === 0) return Promise.resolve();
    if (!this.#idle) {
      let resolve: () => void = () => undefined;
      const promise = new Promise<void>((done) => {
        resolve = done;
      });
      this.#idle = { promise, resolve };
    }
    return this.#idle.promise;
  }

  #open(record: TaskRecord, key: string | undefined): TaskHandle {
    this.#opened += 1;
    const task = new OpenTask(this.#opened, record, this.#clock(), key, this.#owner);
    this.#tasks.add(task);
    if (key !== undefined) {
      const siblings = this.#operations.get(key);
      if (siblings) siblings.add(task);
      else this.#operations.set(key, new Set([task]));
    }
    if (this.events.has('opened')) this.events.emit('opened', this.#show(task));
    return task;
  }

  readonly #owner = {
    onChange: (task: OpenTask): void => {
      if (this.events.has('changed')) this.events.emit('changed', this.#show(task));
    },
    onEnd: (task: OpenTask, error: unknown): void => {
      this.#end(task, error);
    },
  };

  #end(task: OpenTask, error: unknown): void {
    if (!this.#tasks.delete(task)) return;
    if (task.key !== undefined) {
      const siblings = this.#operations.get(task.key);
      siblings?.delete(task);
      if (siblings?.size === 0) this.#operations.delete(task.key);
    }
    const how = this.#count(task, error);
    if (this.events.has('ended')) {
      this.events.emit('ended', { task: this.#show(task), ...how, error, left: this.#tasks.size });
    }
    if (this.#tasks.size > 0 || !this.#idle) return;
    this.#idle.resolve();
    this.#idle = undefined;
  }

  #count({ abortReason }: OpenTask, error: unknown): { readonly failed: boolean; readonly aborted: boolean } {
    const aborted = abortReason !== undefined && isCausedBy(error, abortReason);
    const failed = error !== undefined && !aborted;
    if (aborted) this.#aborted += 1;
    else if (failed) this.#failed += 1;
    else this.#completed += 1;
    return { failed, aborted };
  }

  #show({ id, record, requestId, startedMs }: OpenTask): TaskSnapshot {
    return {
      id,
      name: shown(record.name) ?? 'a task without a name',
      kind: KINDS.includes(record.kind) && record.kind ? record.kind : 'background',
      subject: shown(record.instance),
      requestId: shown(requestId),
      ageMs: Math.round(this.#clock() - startedMs),
      progress: progressOf(record),
    };
  }
}

/** Text, or a number as text. Whatever else stands there must not keep the others from being shown, or a drain from going on. */
function shown(value: unknown): string | null {
  if (typeof value === 'string') return value.slice(0, SHOWN);
  return typeof value === 'number' || typeof value === 'bigint' ? String(value) : null;
}

/** A task that cannot tell its progress is shown without one. */
function progressOf(record: TaskRecord): number | null {
  try {
    const progress: unknown = record.progress?.(); // anybody's function
    return typeof progress === 'number' && Number.isFinite(progress) ? progress : null;
  } catch {
    return null;
  }
}
