import { takeAllocationsBack } from '../../db/move-allocations.js';
import { UnexpectedStateError } from '../../errors.js';
import { faultOf } from '../../objects/instance-fault.js';
import type { Migration } from '../../objects/migration.js';
import { isFinal } from '../../objects/states.js';
import { Attempts } from '../attempts.js';
import type { HostContext } from '../host-context.js';
import { cutOff } from '../instance-action.js';
import { NO_OTHER_SIZE, type ResizeJob } from './resize-job.js';

/**
 * Ends a move of which nothing has been done but the choice of a host: the instance is as it was. Messages about it that
 * are still under way find that it is over. The migration ends last: until then the next start does all of it again.
 * @throws UnexpectedStateError (`ERR_UNEXPECTED_STATE`) when the source has begun meanwhile, and nothing has happened
 */
export async function abandonResize({ records, logger, host }: HostContext, job: ResizeJob): Promise<void> {
  const { uuid: instanceUuid, migrationUuid, migration } = job;
  const { instances, migrations } = records;
  const task = (await instances.get(instanceUuid)).get('task_state');
  if (task === 'resize_migrating') throw new UnexpectedStateError('The source has begun');
  if (task === 'resize_prep') {
    const before = { ...NO_OTHER_SIZE, task_state: null, fault: faultOf(cutOff(), host) };
    await instances.update(instanceUuid, before, { task_state: [task] }); // what the source finds when it begins
  }
  const attempts = new Attempts(logger, { instance: instanceUuid, migration: migrationUuid });
  const dest = migration.find('dest_compute') ?? null;
  await attempts.make('giving the allocations back', () =>
    takeAllocationsBack(records.allocations, { instanceUuid, migrationUuid, dest }),
  );
  const preparing = { status: ['pre-migrating'] } as const;
  await attempts.make('recording the error', () =>
    migrations.update(migrationUuid, { status: 'error' }, preparing),
  );
}

function isBetweenOthers(move: Migration, host: string): boolean {
  const dest = move.find('dest_compute') ?? null;
  return dest !== null && dest !== host && move.get('source_compute') !== host;
}

/**
 * For a host to which an instance does not come, since its move was over before that host heard of it: what a scheduler has
 * claimed there goes. Nothing happens when the instance may still come, for another reason.
 */
export async function releaseUnused({ records, host }: HostContext, instanceUuid: string): Promise<void> {
  const instance = await records.instances.get(instanceUuid);
  const where = instance.find('host') ?? null;
  if (where === host || (where === null && instance.get('task_state') !== null)) return;
  const moves = await records.migrations.find({ instance_uuid: instanceUuid });
  if (moves.every((move) => isFinal(move.get('status')) || isBetweenOthers(move, host)))
    await records.allocations.release(instanceUuid, host);
}
