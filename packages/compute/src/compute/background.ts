import { type RequestContext, runWithContext } from '@ebbgate/core';
import type { TaskHandle, TaskRecord } from '@ebbgate/service';
import { OperationAbortedError } from '../errors.js';
import type { HostContext } from './host-context.js';

/** What work in the background belongs to. */
export type BackgroundParts = Pick<HostContext, 'tasks' | 'accepted' | 'logger' | 'lifetime'>;

/**
 * Begins work that goes on after its request is over. It is in the task registry before this returns, and until it has
 * ended, whichever way (GS-3, GS-98); the deadline of the request does not bind it.
 *
 * @param work - sees to the records itself; what it throws is logged and counted as a failed task
 */
export function beginInBackground(
  { tasks, accepted, logger, lifetime }: BackgroundParts,
  context: RequestContext,
  record: TaskRecord,
  work: (task: Pick<TaskHandle, 'changed'>) => Promise<void>,
): void {
  const tracked = runWithContext(context.detached(), () =>
    tasks.track({ ...record, requestId: context.requestId ?? null }, (task) =>
      accepted.hold(() => work(task)),
    ),
  );
  tracked.catch((error: unknown) => {
    if (lifetime.aborted) return; // cut off with the process: the drain has reported it
    const fields = { err: error, task: record.name, instance: record.instance };
    if (error instanceof OperationAbortedError) logger.info(fields, 'A task was aborted');
    else logger.error(fields, 'A task failed');
  });
}
