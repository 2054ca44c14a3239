import type { RequestContext } from '@ebbgate/core';
import { notesOf, withoutNotes } from '../../cells/move-notes.js';
import { releaseIfDeleted } from '../../db/move-allocations.js';
import { faultOf } from '../../objects/instance-fault.js';
import type { Instance, InstanceFields } from '../../objects/instance.js';
import { type MigrationStatus, POWER_STATE, type TaskState } from '../../objects/states.js';
import type { ConductorContext } from '../conductor-context.js';
import { removeInstance, removeMigration } from './cross-cell-copies.js';
import { type CrossCellEnds, isDeleted, recordsOf } from './cross-cell-ends.js';

/** How long a destination may take to say that it has dropped everything; if it does not it finds out by its records. */
const DROP_LIMIT_MS = 10_000;

/** What a move can be that is taken back. */
const OPEN: readonly MigrationStatus[] = [
  'pre-migrating',
  'migrating',
  'post-migrating',
  'finished',
  'reverting',
  'reverted',
  'error',
];

/** Tasks in which the guest is not there any more, or may not be: of its disks a hard reboot makes it again. */
const LEFT: readonly TaskState[] = [
  'resize_migrating',
  'resize_migrated',
  'resize_reverting',
  'powering-off',
];

/**
 * Takes a move between cells back, whatever of it was done, and in whatever step it was cut off: the instance is in its old
 * cell, as it was or in ERROR with its disks, and nothing is left in the other one. All that it needs to know is in the
 * records; done twice it does nothing more. A step that fails is logged and keeps no other from being taken; the notes then
 * stay, by which the next look of a conductor knows that there is more to do.
 *
 * @param failure - why it is taken back; the fault that the destination has stored says it better
 */
export async function takeBack(
  conductor: ConductorContext,
  context: RequestContext,
  ends: CrossCellEnds,
  failure: unknown,
): Promise<void> {
  const { source, target, registry, uuid, migrationUuid } = ends;
  let complete = true;
  const step = async (what: string, undo: () => Promise<unknown>): Promise<void> => {
    try {
      await undo();
    } catch (error) {
      complete = false;
      const fields = { err: error, step: what, instance: uuid, migration: migrationUuid };
      conductor.logger.error(fields, 'A step of a move between cells could not be taken back');
    }
  };
  // First all that a message which comes late, or a conductor that only was slow, would go by.
  await step('the migration in the target cell', () => endThere(ends));
  await step('the migration', () => endHere(ends));
  await step('the mapping', () => registry.mappings.set(uuid, source.name));
  await step('what the destination holds', () => drop(conductor, context, ends));
  await step('the records in the target cell', () => clearTarget(ends));
  await step('what is claimed there', () => target.records.allocations.release(uuid));
  await step('the image', () => removeImage(ends));
  await step('what the instance has of its host', () => giveBack(ends));
  await step('the instance', () => settle(ends, complete, failure));
}

async function endThere(ends: CrossCellEnds): Promise<void> {
  const { records } = ends.target;
  const { there, copy } = await recordsOf(ends);
  if (copy && isOurs(ends, copy)) await records.instances.update(ends.uuid, { hidden: true });
  if (there && !isDeleted(there)) await records.migrations.update(ends.migrationUuid, { status: 'error' });
}

async function endHere({ source, migrationUuid }: CrossCellEnds): Promise<void> {
  const ended = { status: 'error', hidden: false } as const;
  await source.records.migrations.update(migrationUuid, ended, { status: OPEN });
}

/** One that does not answer finds out by its records, at its next start at the latest. */
async function drop(
  { logger }: ConductorContext,
  context: RequestContext,
  ends: CrossCellEnds,
): Promise<void> {
  const { there, copy } = await recordsOf(ends);
  const host = there?.find('dest_compute') ?? null;
  if (host === null || isDeleted(there) || !copy || !isOurs(ends, copy)) return;
  const signal = AbortSignal.timeout(DROP_LIMIT_MS);
  const method = 'drop_move_claim_at_destination';
  await ends.target.computeApi
    .call(context, method, host, { instance: copy }, { signal })
    .catch((error: unknown) => {
      logger.warn(
        { err: error, host, instance: ends.uuid },
        'A destination does not say that it has dropped a move',
      );
    });
}

/** The record of the migration goes last: as long as that is there the others may be. */
async function clearTarget(ends: CrossCellEnds): Promise<void> {
  const { target, uuid, migrationUuid } = ends;
  const { there, copy } = await recordsOf(ends);
  if (copy && isOurs(ends, copy)) {
    await target.networking.deallocate(uuid);
    await removeInstance(target, uuid);
  }
  if (there && !isDeleted(there)) await removeMigration(target, migrationUuid, 'error');
}

async function removeImage({ registry, source, uuid }: CrossCellEnds): Promise<void> {
  const image = notesOf(await source.records.instances.get(uuid))?.image ?? '';
  if (image !== '') await registry.images.remove(image);
}

/** What it had is the migration's as long as it moves; an instance that is deleted has nothing. */
async function giveBack({ source, uuid, migrationUuid }: CrossCellEnds): Promise<void> {
  const { allocations, instances } = source.records;
  const [kept] = await allocations.find({ consumer: migrationUuid });
  if (kept) {
    await allocations.release(uuid); // of a scheduler whose answer was lost
    await allocations.transfer(migrationUuid, uuid);
  }
  await releaseIfDeleted(allocations, await instances.get(uuid));
}

async function settle(ends: CrossCellEnds, complete: boolean, failure: unknown): Promise<void> {
  const { source, uuid } = ends;
  const { instance: now, copy } = await recordsOf(ends);
  const task = now.get('task_state');
  const state = afterTask(task);
  const fault = copy?.find('fault') ?? faultOf(failure, null);
  const notes = complete ? { system_metadata: withoutNotes(now) } : {};
  await source.records.instances.update(
    uuid,
    { ...state, ...notes, ...(state && { fault }) },
    { task_state: [task] },
  );
}

function afterTask(task: TaskState): Partial<InstanceFields> | undefined {
  if (task === 'resize_prep') return { task_state: null };
  if (!LEFT.includes(task)) return undefined; // its host has settled it, or it is being deleted
  const off = task === 'resize_migrating' ? {} : { power_state: POWER_STATE.shutdown };
  return { vm_state: 'error', task_state: null, hidden: false, ...off };
}

/** Is it the copy of this move? One of a later move has other notes. */
function isOurs({ migrationUuid }: CrossCellEnds, copy: Instance): boolean {
  return !isDeleted(copy) && notesOf(copy)?.migration === migrationUuid;
}
