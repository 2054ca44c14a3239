import type { Expected } from '../db/repositories.js';
import type { Instance, InstanceFields } from '../objects/instance.js';
import type { TaskState } from '../objects/states.js';
import { type ActionParts, liveHostOf } from './action-parts.js';
import { sendOrTakeBack } from './take-back.js';

/**
 * Writes what is to be done to an instance, in the same step in which its states are checked, and sends it to its host. A
 * request that was certainly not sent leaves nothing behind. Resolves with the instance as it was sent.
 * @throws UnexpectedStateError (`ERR_UNEXPECTED_STATE`); HostDownError (`ERR_HOST_DOWN`); RecordNotFoundError
 * (`ERR_NOT_FOUND`); whatever the sending rejects with
 */
export async function askHost(
  parts: Pick<ActionParts, 'records' | 'liveness'>,
  uuid: string,
  task: TaskState,
  expected: Expected<InstanceFields>,
  send: (host: string, instance: Instance) => Promise<unknown>,
): Promise<Instance> {
  const { instances } = parts.records;
  const host = await liveHostOf(parts, await instances.get(uuid));
  const instance = await instances.update(uuid, { task_state: task }, { ...expected, host: [host] });
  await sendOrTakeBack(
    () => send(host, instance),
    () => instances.update(uuid, { task_state: null }, { task_state: [task] }),
  );
  return instance;
}
