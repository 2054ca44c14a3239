import type { RequestContext } from '@ebbgate/core';
import { notesOf } from '../../cells/move-notes.js';
import { takeAllocationsBack } from '../../db/move-allocations.js';
import { OperationAbortedError, UnexpectedStateError } from '../../errors.js';
import { faultOf } from '../../objects/instance-fault.js';
import type { Instance } from '../../objects/instance.js';
import { LibvirtLiveMigrateData } from '../../objects/migrate-data.js';
import { isCold, type Migration } from '../../objects/migration.js';
import { isFinal } from '../../objects/states.js';
import type { ConductorContext } from '../conductor-context.js';

/**
 * Is a cold move that an earlier run was cut off in still to be handed to a destination? Not when one has begun with it, or
 * when it leads to another cell: that is taken up by its notes. What a move that has ended still has is given back first.
 */
export async function isColdMoveOpen({ records }: ConductorContext, uuid: string): Promise<boolean> {
  const instance = await records.instances.get(uuid);
  if (instance.get('task_state') !== 'resize_prep') return false;
  const newest = (await records.migrations.find({ instance_uuid: uuid })).filter(isCold).at(-1);
  if (!newest) return true;
  const migrationUuid = newest.get('uuid');
  if (notesOf(instance)?.migration === migrationUuid) return false;
  const status = newest.get('status');
  if (!isFinal(status)) return status === 'pre-migrating' && (newest.find('dest_compute') ?? null) === null;
  await takeAllocationsBack(records.allocations, { instanceUuid: uuid, migrationUuid, dest: null });
  return true;
}

/**
 * Is a live migration that an earlier run was cut off in still to be handed to its source? Not when that has begun with it.
 * Else what was done is taken back first: it begins anew, with a record of its own.
 */
export async function isLiveMigrationOpen(
  conductor: ConductorContext,
  context: RequestContext,
  uuid: string,
): Promise<boolean> {
  const { instances, migrations } = conductor.records;
  const instance = await instances.get(uuid);
  if (instance.get('task_state') !== 'migrating') return false;
  const live = { instance_uuid: uuid, migration_type: 'live-migration' } as const;
  const newest = (await migrations.find(live)).at(-1);
  if (!newest) return true;
  const wasFinal = isFinal(newest.get('status'));
  if (!wasFinal && !(await endsUnbegun(conductor, newest))) return false;
  const isLeft = await takeBack(conductor, context, instance, newest);
  if (!wasFinal || !isLeft) return true;
  // It had failed already: only what was to be done after that was cut off.
  const fault = faultOf(
    new OperationAbortedError('The conductor ended in the middle of the migration'),
    null,
  );
  await instances.update(uuid, { task_state: null, fault }, { task_state: ['migrating'] });
  return false;
}

/** False when its source has begun with it. */
async function endsUnbegun({ records }: ConductorContext, migration: Migration): Promise<boolean> {
  try {
    await records.migrations.update(migration.get('uuid'), { status: 'error' }, { status: ['accepted'] });
    return true;
  } catch (error) {
    if (error instanceof UnexpectedStateError) return false;
    throw error;
  }
}

/** The hosts that were claimed are told, and have nothing of it. False when nothing was left. */
async function takeBack(
  { records, networking, computeApi, logger }: ConductorContext,
  context: RequestContext,
  instance: Instance,
  migration: Migration,
): Promise<boolean> {
  const { allocations } = records;
  const [instanceUuid, migrationUuid] = [instance.get('uuid'), migration.get('uuid')];
  if ((await allocations.find({ consumer: migrationUuid })).length === 0) return false;
  for (const { host } of await allocations.find({ consumer: instanceUuid })) {
    await networking.unbind(instanceUuid, host);
    const migrate_data = LibvirtLiveMigrateData.create({ is_shared_instance_path: true }); // its disks stay
    const args = { instance, destroy_disks: false, migrate_data };
    await computeApi
      .cast(context, 'rollback_live_migration_at_destination', host, args)
      .catch((error: unknown) => {
        logger.warn({ err: error, host, instance: instanceUuid }, 'A host is not told that nothing comes');
      });
  }
  await takeAllocationsBack(allocations, { instanceUuid, migrationUuid, dest: null });
  return true;
}
