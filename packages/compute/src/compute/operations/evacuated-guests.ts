import type { RequestContext } from '@ebbgate/core';
import type { Instance } from '../../objects/instance.js';
import type { Migration } from '../../objects/migration.js';
import { isFinal } from '../../objects/states.js';
import type { HostContext } from '../host-context.js';

/** What the clean-up works with. */
type CleaningHost = Pick<HostContext, 'host' | 'records' | 'virt' | 'computeApi' | 'locks' | 'logger'>;

/**
 * What a host that had failed does about the instances that were evacuated from it (`compute-rpc.md` 3.6), at its start
 * and again and again while it runs. Only guests of evacuations that are `done` are destroyed (`decisions.md` 32): those
 * of one that is under way are shut down, so that no two run, and keep their disks until it is known how it ended. Each
 * evacuation is seen to for itself (COMP-15), and to do it twice does no harm (COMP-07).
 */
export async function cleanUpEvacuated(host: CleaningHost, context: RequestContext): Promise<void> {
  const from = { source_compute: host.host, migration_type: 'evacuation' } as const;
  for (const migration of await host.records.migrations.find(from)) {
    try {
      await cleanUpOne(host, context, migration);
    } catch (error) {
      host.logger.error(
        { err: error, migration: migration.get('uuid') },
        'What an evacuation has left here could not be removed',
      );
    }
  }
}

async function cleanUpOne(host: CleaningHost, context: RequestContext, migration: Migration): Promise<void> {
  const { records, virt, locks } = host;
  const status = migration.get('status');
  const uuid = migration.get('instance_uuid');
  if (status !== 'done' && isFinal(status)) return;
  await locks.run(uuid, async () => {
    const instance = await records.instances.get(uuid);
    if (status !== 'done') {
      if ((await virt.guestState(uuid)) === 'running') await virt.powerOff(instance, { clean: false });
      return;
    }
    if (await isElsewhere(host, instance)) await removeGuest(host, context, instance);
    // With its guest it has come back here since, or it is deleted: what it has here is then its own, or nothing.
    if (instance.get('host') !== host.host) await records.allocations.release(uuid, host.host);
    await records.migrations.update(migration.get('uuid'), { status: 'completed' }, { status: ['done'] });
  });
}

/** Neither here nor on its way here: then a guest of that name is what the evacuation has left. */
async function isElsewhere({ records, host }: CleaningHost, instance: Instance): Promise<boolean> {
  if (instance.get('host') === host) return false;
  const moves = await records.migrations.find({ instance_uuid: instance.get('uuid') });
  return !moves.some((move) => !isFinal(move.get('status')) && move.find('dest_compute') === host);
}

async function removeGuest(host: CleaningHost, context: RequestContext, instance: Instance): Promise<void> {
  const { virt, logger } = host;
  const uuid = instance.get('uuid');
  if ((await virt.guestState(uuid)) === undefined) return;
  const keepDisks = instance.get('vm_state') !== 'deleted' && (await sharesStorage(host, context, instance));
  logger.info({ instance: uuid, keepDisks }, 'Removing the guest of an instance that was evacuated');
  await virt.destroy(uuid, { keepDisks });
}

/** Asks the new host whether it sees the same disks. Without an answer they are kept: they may be those of the new guest. */
async function sharesStorage(
  { virt, computeApi, logger }: CleaningHost,
  context: RequestContext,
  instance: Instance,
): Promise<boolean> {
  const uuid = instance.get('uuid');
  const elsewhere = instance.get('host');
  const mark = await virt.markDisks(uuid);
  if (elsewhere === null || mark === undefined) return false;
  try {
    return await computeApi.call(context, 'check_instance_shared_storage', elsewhere, { data: mark });
  } catch (error) {
    logger.warn({ err: error, instance: uuid }, 'The new host did not say whether it has the same disks');
    return true;
  } finally {
    await virt.unmarkDisks(mark);
  }
}
