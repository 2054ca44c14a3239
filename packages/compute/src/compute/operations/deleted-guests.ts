import { orUndefined } from '../../db/or-undefined.js';
import type { HostContext } from '../host-context.js';

/**
 * Removes the guests of instances that were deleted while this host was down, which the API then does alone. Guests
 * that no record knows are left alone: they may be somebody else's.
 */
export async function removeDeletedGuests({ records, virt, locks, logger }: HostContext): Promise<void> {
  for (const { uuid } of await virt.listGuests()) {
    try {
      const known = await orUndefined(records.instances.get(uuid));
      if (known?.get('vm_state') !== 'deleted') continue;
      logger.info({ instance: uuid }, 'Removing the guest of an instance that was deleted');
      await locks.run(uuid, () => virt.destroy(uuid));
    } catch (error) {
      logger.error({ err: error, instance: uuid }, 'The guest of a deleted instance could not be removed');
    }
  }
}
