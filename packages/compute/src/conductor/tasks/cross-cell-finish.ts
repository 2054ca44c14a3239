import type { RequestContext } from '@ebbgate/core';
import { notesOf } from '../../cells/move-notes.js';
import { UnexpectedStateError } from '../../errors.js';
import type { Instance } from '../../objects/instance.js';
import type { ConductorContext } from '../conductor-context.js';
import { type CrossCellEnds, recordsOf } from './cross-cell-ends.js';
import { switchOver } from './cross-cell-switch.js';
import { takeBack } from './cross-cell-take-back.js';

/**
 * Steps 5 and 6 of a move (`compute-rpc.md` 3.5): the source has sent the disks, the destination makes the guest of them, and
 * the instance is in the other cell. Done again after it was cut off it does the rest.
 * @throws what the destination throws, and then there is no guest
 */
export async function finishMove(context: RequestContext, ends: CrossCellEnds): Promise<void> {
  const { source, target, uuid, migrationUuid } = ends;
  const { instances, migrations } = target.records;
  const sent = await source.records.instances.get(uuid);
  await tellSent(ends, sent);
  const migration = await migrations.get(migrationUuid);
  const image = notesOf(sent)?.image ?? '';
  const method = 'finish_snapshot_based_resize_at_dest';
  await target.computeApi.call(context, method, migration.get('dest_compute') ?? '', {
    instance: await instances.get(uuid),
    migration,
    snapshot_id: image === '' ? null : image,
  });
  await switchOver(ends);
}

/** Another conductor may be further: what the records do not allow any more, the destination refuses. */
async function tellSent(
  { target: { records }, uuid, migrationUuid }: CrossCellEnds,
  sent: Instance,
): Promise<void> {
  const changes = { task_state: 'resize_migrated', power_state: sent.get('power_state') } as const;
  const open = { status: ['pre-migrating', 'post-migrating'] } as const;
  try {
    await records.instances.update(uuid, changes, { task_state: ['resize_prep', 'resize_migrated'] });
    await records.migrations.update(migrationUuid, { status: 'post-migrating' }, open);
  } catch (error) {
    if (!(error instanceof UnexpectedStateError)) throw error;
  }
}

/**
 * Does a part of a move. When it fails, the move is taken back, unless the mapping says that the instance is in the other
 * cell: then what is missing is done later.
 */
export async function orTakeBack(
  conductor: ConductorContext,
  context: RequestContext,
  endsNow: () => CrossCellEnds,
  work: () => Promise<void>,
): Promise<void> {
  try {
    await work();
  } catch (error) {
    const ends = endsNow();
    const { registry, target, uuid, migrationUuid } = ends;
    const fields = { err: error, instance: uuid, migration: migrationUuid };
    if ((await registry.mappings.find(uuid).catch(() => undefined)) === target.name) {
      conductor.logger.error(
        fields,
        'A record of a move between cells was not written; it is tried again later',
      );
      return;
    }
    conductor.logger.error(fields, 'A move to another cell is taken back');
    await takeBack(conductor, context, ends, error);
  }
}

/** The source has sent, the destination has not failed, and is up: then it is asked again, whatever it has done. */
export async function canFinish({ hosts }: ConductorContext, ends: CrossCellEnds): Promise<boolean> {
  const { instance, there, copy } = await recordsOf(ends);
  const dest = there?.find('dest_compute') ?? null;
  if (dest === null || instance.get('task_state') !== 'resize_migrated') return false;
  if (copy?.find('deleted') !== false || copy.get('vm_state') === 'error') return false;
  return hosts.isUp(ends.target.records, dest);
}
