import { notesOf } from '../../cells/move-notes.js';
import type { CrossCellEnds } from './cross-cell-ends.js';

/**
 * Step 6 of a move (`compute-rpc.md` 3.5): from the moment when the mapping is written the instance is in the other cell.
 * Done again after it was cut off it does the rest.
 * @throws UnexpectedStateError (`ERR_UNEXPECTED_STATE`) when the instance is being deleted, or the move was taken back
 */
export async function switchOver(ends: CrossCellEnds): Promise<void> {
  const { source, target, registry, uuid, migrationUuid } = ends;
  const here = source.records;
  if ((await here.migrations.get(migrationUuid)).get('status') !== 'finished') {
    const sent = { task_state: ['resize_migrated'] } as const; // it is not being deleted
    await here.instances.update(uuid, { hidden: true }, sent);
    const left = { status: 'finished', hidden: true } as const;
    await here.migrations.update(migrationUuid, left, { status: ['post-migrating', 'finished'] });
  }
  await registry.mappings.set(uuid, target.name);
  const shown = { hidden: false } as const;
  await target.records.instances.update(uuid, shown);
  await target.records.migrations.update(migrationUuid, shown);
  const image = notesOf(await here.instances.get(uuid))?.image ?? '';
  if (image !== '') await registry.images.remove(image); // its destination may have been cut off before it did
}
