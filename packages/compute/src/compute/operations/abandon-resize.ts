import { takeAllocationsBack } from '../../db/move-allocations.js';
import { Attempts } from '../attempts.js';
import type { HostContext } from '../host-context.js';
import { NO_OTHER_SIZE, type ResizeJob } from './resize-job.js';

/**
 * Ends a move of which nothing has been done but the choice of a host: the instance is as it was. Messages about it that
 * are still under way find that it is over.
 * @throws UnexpectedStateError (`ERR_UNEXPECTED_STATE`) when the source has begun meanwhile, and nothing has happened
 */
export async function abandonResize({ records, logger }: HostContext, job: ResizeJob): Promise<void> {
  const { uuid: instanceUuid, migrationUuid, migration } = job;
  const preparing = { status: ['pre-migrating'] } as const;
  await records.migrations.update(migrationUuid, { status: 'error' }, preparing);
  const attempts = new Attempts(logger, { instance: instanceUuid, migration: migrationUuid });
  const dest = migration.find('dest_compute') ?? null;
  await attempts.make('giving the allocations back', () =>
    takeAllocationsBack(records.allocations, { instanceUuid, migrationUuid, dest }),
  );
  await attempts.make('resetting the instance', () => {
    const changes = { ...NO_OTHER_SIZE, task_state: null };
    return records.instances.update(instanceUuid, changes, { task_state: ['resize_prep'] });
  });
}
