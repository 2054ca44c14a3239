import { isThenable } from '@ebbgate/core';
import type { ServerInterceptor, ServerRequest } from '@ebbgate/rpc';
import type { TaskHandle, TaskRegistry } from './task-registry.js';

/** Which requests are recorded, and as what. */
export interface TaskInterceptorOptions {
  /**
   * True for methods that are not recorded (GS-99): those that only look, and those that hand their work to a task
   * which they open themselves, so that it is not counted twice. By method name, whatever the version or namespace.
   */
  readonly skip?: (method: string) => boolean;
  /** What a request is about; default: its argument `instance` (text, or an object with a `uuid`). */
  readonly subject?: (request: ServerRequest) => string | null | undefined;
}

/**
 * Records every request as a task while its handler runs (GS-95). One registry may serve several servers.
 *
 * @param registry - of the service that the server belongs to
 */
export function taskInterceptor(
  registry: TaskRegistry,
  options: TaskInterceptorOptions = {},
): ServerInterceptor {
  const { skip = () => false, subject = instanceOf } = options;
  return function recordTask(request, next) {
    if (skip(request.method)) return next(request);
    const record = {
      name: request.method,
      kind: 'handler',
      requestId: request.context.requestId ?? null,
      instance: orNull(subject, request),
    } as const;
    const task = registry.open(record);
    let outcome: unknown;
    try {
      outcome = next(request);
    } catch (error) {
      task.end(error ?? new Error('thrown without a reason'));
      throw error;
    }
    if (isThenable(outcome)) return untilSettled(task, outcome);
    task.end();
    return outcome;
  };
}

/** As `registry.track` does it, with a promise less: this is done for every request. */
function untilSettled(task: TaskHandle, outcome: PromiseLike<unknown>): Promise<unknown> {
  const running = Promise.resolve(outcome); // itself when it is a promise
  // Heard here first, so that the task has ended when its request is answered.
  void running.then(
    () => {
      task.end();
    },
    (error: unknown) => {
      task.end(error ?? new Error('rejected without a reason'));
    },
  );
  return running;
}

/** To find out what a request is about must never keep it from being served. */
function orNull(
  find: (request: ServerRequest) => string | null | undefined,
  request: ServerRequest,
): string | null {
  try {
    return find(request) ?? null;
  } catch {
    return null;
  }
}

function instanceOf({ args }: ServerRequest): string | null {
  const instance = own(args, 'instance') ?? own(args, 'instance_uuid');
  if (typeof instance === 'string') return instance;
  const uuid = own(instance, 'uuid');
  return typeof uuid === 'string' ? uuid : null;
}

/** Arguments are data from the wire: only what is their own is looked at. */
function own(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
  return (value as Record<string, unknown>)[name]; // its own
}
