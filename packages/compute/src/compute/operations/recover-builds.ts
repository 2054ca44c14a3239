import { faultOf } from '../../objects/instance-fault.js';
import { Attempts } from '../attempts.js';
import type { HostContext } from '../host-context.js';
import { cutOff } from '../instance-action.js';

/**
 * Builds that an end of the process has cut off: nothing of them stays here, and the instance ends in ERROR. Those whose
 * request still waits in the queue belong to no host yet, and are left as they are (B10, GS-75).
 */
export async function recoverBuilds({ host, records, virt, networking, logger }: HostContext): Promise<void> {
  for (const instance of await records.instances.find({ host, vm_state: 'building' })) {
    const uuid = instance.get('uuid');
    if (instance.get('task_state') === 'deleting') continue;
    logger.info({ instance: uuid }, 'A build was cut off');
    const attempts = new Attempts(logger, { instance: uuid });
    await attempts.make('removing the guest', () => virt.destroy(uuid));
    await attempts.make('removing the ports', () => networking.deallocate(uuid));
    await attempts.make('giving the allocations back', () => records.allocations.release(uuid, host));
    await attempts.make('recording the error', () =>
      records.instances.update(
        uuid,
        { vm_state: 'error', task_state: null, fault: faultOf(cutOff(), host) },
        { host: [host], vm_state: ['building'], task_state: [instance.get('task_state')] },
      ),
    );
  }
}
