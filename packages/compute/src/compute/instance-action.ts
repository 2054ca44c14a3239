import type { RequestContext } from '@ebbgate/core';
import { OperationAbortedError, UnexpectedStateError } from '../errors.js';
import type { Expected } from '../db/repositories.js';
import type { Instance, InstanceFields } from '../objects/instance.js';
import type { TaskState } from '../objects/states.js';
import { beginInBackground } from './background.js';
import type { HostContext } from './host-context.js';
import { onceAnswered, UnsettledWriteError } from './sure-write.js';

/**
 * Begins what somebody asked to be done to an instance: a task from now on, also while it waits until nothing else is
 * done to that instance here.
 *
 * @param work - its signal aborts when a delete wants it to end, and at the end of the process
 */
export function beginAction(
  host: HostContext,
  context: RequestContext,
  name: string,
  instanceUuid: string,
  work: (signal: AbortSignal) => Promise<void>,
): void {
  const record = { name, kind: 'operation', instance: instanceUuid } as const;
  beginInBackground(host, context, record, () => host.locks.run(instanceUuid, work));
}

/**
 * Takes back what an action that failed had written, unless another task has taken its place meanwhile (a delete, say).
 * A process that is gone writes nothing: its instance is seen to at the next start.
 *
 * @param tasks - what the action itself may have left there
 */
export async function afterFailure(
  host: HostContext,
  instanceUuid: string,
  tasks: readonly TaskState[],
  changes: Partial<InstanceFields> = {},
): Promise<void> {
  if (host.lifetime.aborted) return;
  try {
    await host.records.instances.update(
      instanceUuid,
      { task_state: null, ...changes },
      { task_state: tasks, host: [host.host] },
    );
  } catch (error) {
    const fields = { err: error, instance: instanceUuid };
    if (error instanceof UnexpectedStateError || error instanceof OperationAbortedError) {
      host.logger.info(fields, 'Another task has taken the place of one that failed');
    } else host.logger.error(fields, 'The task of an instance could not be taken back');
  }
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
    return await onceAnswered(host, () =>
      host.records.instances.update(instanceUuid, { progress: 0 }, expected),
    );
  } catch (error) {
    if (error instanceof UnsettledWriteError) await afterFailure(host, instanceUuid, expected.task_state);
    throw error;
  }
}
