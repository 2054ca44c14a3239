import { type RequestContext, runWithContext } from '@ebbgate/core';
import type { TaskRecord } from '@ebbgate/service';
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
  work: () => Promise<void>,
): void {
  const tracked = runWithContext(context.detached(), () =>
    tasks.track({ ...record, requestId: context.requestId ?? null }, () => accepted.hold(work)),
  );
  tracked.catch((error: unknown) => {
    if (lifetime.aborted) return; // cut off with the process: the drain has reported it
    logger.error({ err: error, task: record.name, instance: record.instance }, 'A task failed');
  });
}
