import type { RequestContext } from '@ebbgate/core';
import type { TaskState } from '../../objects/states.js';
import type { ArgsOf, ComputeMethods } from '../../rpc/methods.js';
import { EarlyEnd } from '../early-end.js';
import type { HostContext } from '../host-context.js';
import { afterFailure, beginAction } from '../instance-action.js';

const PENDING = 'image_snapshot_pending';
const TASKS: readonly TaskState[] = ['image_snapshot', 'image_uploading'];

/**
 * Copies the disk of an instance into an image: image_snapshot_pending → image_snapshot → image_uploading → none. When it
 * fails, or a drain aborts it, there is no image, and the instance is as it was.
 */
export function beginSnapshot(
  host: HostContext,
  context: RequestContext,
  { instance, image_id: imageId }: ArgsOf<ComputeMethods['snapshot_instance']>,
): void {
  const { records, virt } = host;
  const uuid = instance.get('uuid');
  const step = (from: TaskState, to: TaskState) =>
    records.instances.update(uuid, { task_state: to }, { task_state: [from], host: [host.host] });
  const early = new EarlyEnd();
  const work = async (signal: AbortSignal): Promise<void> => {
    const wanted = await step(PENDING, 'image_snapshot');
    host.emit({ context, action: 'snapshot', phase: 'start', instance: wanted, imageId });
    try {
      await virt.snapshot(wanted, imageId, {
        signal,
        onUpload: () => step('image_snapshot', 'image_uploading'),
      });
      early.pass();
      const done = await step('image_uploading', null);
      host.emit({ context, action: 'snapshot', phase: 'end', instance: done, imageId });
    } catch (error) {
      await afterFailure(host, uuid, TASKS, error);
      throw error;
    }
  };
  beginAction(host, context, 'snapshot_instance', uuid, work, { early, pending: [PENDING] });
}
