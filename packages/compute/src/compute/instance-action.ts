import type { RequestContext } from '@ebbgate/core';
import { OperationAbortedError, UnexpectedStateError } from '../errors.js';
import type { Expected } from '../db/repositories.js';
import { faultOf } from '../objects/instance-fault.js';
import type { Instance, InstanceFields } from '../objects/instance.js';
import type { TaskState } from '../objects/states.js';
import { beginInBackground } from './background.js';
import type { EarlyEnd } from './early-end.js';
import type { HostContext } from './host-context.js';
import { UnsettledWriteError } from './sure-write.js';

/** What a drain may abort, and put back. */
export interface Abortable {
  readonly early: EarlyEnd;
  /** What the instance has as its task before the turn of the action has come. */
  readonly pending: readonly TaskState[];
}

/**
 * Begins what somebody asked to be done to an instance: a task from now on, also while it waits until nothing else is
 * done to that instance here.
 *
 * @param work - its signal aborts when a delete wants it to end, with the early end, and at the end of the process
 * @param abortable - default: it completes, whatever time there is
 */
export function beginAction(
  host: HostContext,
  context: RequestContext,
  name: string,
  instanceUuid: string,
  work: (signal: AbortSignal) => Promise<void>,
  abortable?: Abortable,
): void {
  const record = { name, kind: 'operation', instance: instanceUuid } as const;
  if (!abortable) {
    beginInBackground(host, context, record, () => host.locks.run(instanceUuid, work));
    return;
  }
  const { abort } = abortable.early;
  beginInBackground(host, context, { ...record, abort }, () =>
    inTurnUnlessAborted(host, instanceUuid, work, abortable),
  );
}

/** What is aborted before its turn has nothing to put back but the task of its instance. */
async function inTurnUnlessAborted(
  host: HostContext,
  instanceUuid: string,
  work: (signal: AbortSignal) => Promise<void>,
  { early, pending }: Abortable,
): Promise<void> {
  const turn = { begun: false };
  const begin = (signal: AbortSignal): Promise<void> => {
    turn.begun = true;
    return work(signal);
  };
  try {
    await host.locks.run(instanceUuid, begin, early.signal);
  } catch (error) {
    if (!turn.begun && early.signal.aborted) await afterFailure(host, instanceUuid, pending, error);
    throw error;
  }
}

/**
 * Takes back what an action that failed had written, as {@link endTask}; resolves as that does.
 *
 * @param error - what it failed with, which becomes the fault of the instance
 */
export async function afterFailure(
  host: HostContext,
  instanceUuid: string,
  tasks: readonly TaskState[],
  error: unknown,
  changes: Partial<InstanceFields> = {},
): Promise<Instance | undefined> {
  return endTask(host, instanceUuid, tasks, { fault: faultOf(error, host.host), ...changes });
}

/**
 * Ends a task, unless another one has taken its place meanwhile (a delete, say). A process that is gone writes nothing: its
 * instance is seen to at the next start. Resolves with the instance; undefined when nothing was written.
 *
 * @param tasks - what the action itself may have left there
 */
export async function endTask(
  host: HostContext,
  instanceUuid: string,
  tasks: readonly TaskState[],
  changes: Partial<InstanceFields> = {},
): Promise<Instance | undefined> {
  if (host.lifetime.aborted) return undefined;
  try {
    return await host.records.instances.update(
      instanceUuid,
      { task_state: null, ...changes },
      { task_state: tasks, host: [host.host] },
    );
  } catch (failure) {
    const fields = { err: failure, instance: instanceUuid };
    if (failure instanceof UnexpectedStateError || failure instanceof OperationAbortedError) {
      host.logger.info(fields, 'Another task has taken the place of one that failed');
    } else host.logger.error(fields, 'The task of an instance could not be taken back');
    return undefined;
  }
}

/** What an operation failed with that an end of the process has cut off. */
export function cutOff(): OperationAbortedError {
  return new OperationAbortedError('The process ended in the middle of it');
}

/**
 * Is the action still wanted? Resolves with the instance. While the records do not answer it waits; when they do not in the
 * end its task is taken back, as far as that can be done.
 *
 * @param expected - its task among it
 * @throws UnexpectedStateError (`ERR_UNEXPECTED_STATE`) when it is not wanted any more, or has left this host: then it is
 * not ours to touch
 */
export async function beginWanted(
  host: HostContext,
  instanceUuid: string,
  expected: Expected<InstanceFields> & { readonly task_state: readonly TaskState[] },
): Promise<Instance> {
  try {
    return await host.records.instances.update(instanceUuid, { progress: 0 }, expected);
  } catch (error) {
    if (error instanceof UnsettledWriteError)
      await afterFailure(host, instanceUuid, expected.task_state, error);
    throw error;
  }
}
