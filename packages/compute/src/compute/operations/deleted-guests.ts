import { orUndefined } from '../../db/or-undefined.js';
import type { HostContext } from '../host-context.js';

/**
 * Removes the guests of instances that were deleted while this host was down, which the API then does alone. Guests
 * that no record knows are left alone: they may be somebody else's.
 */
export async function removeDeletedGuests(host: HostContext): Promise<void> {
  const { virt, locks, logger } = host;
  for (const { uuid } of await virt.listGuests()) {
    try {
      await locks.run(uuid, () => removeIfDeleted(host, uuid));
    } catch (error) {
      logger.error({ err: error, instance: uuid }, 'The guest of a deleted instance could not be removed');
    }
  }
}

/** Removes the guest of an instance, if that was deleted. Under the lock of the instance. */
export async function removeIfDeleted({ records, virt, logger }: HostContext, uuid: string): Promise<void> {
  const known = await orUndefined(records.instances.get(uuid));
  if (known?.get('vm_state') !== 'deleted') return;
  logger.info({ instance: uuid }, 'Removing the guest of an instance that was deleted');
  await virt.destroy(uuid);
}
