import type { Instance } from '../objects/instance.js';
import type { AllocationRepository } from './repositories.js';

/** An instance on its way from one host to another, as far as it concerns what it has of the two. */
export interface AllocatedMove {
  /** Has what it takes at the destination. */
  readonly instanceUuid: string;
  /** Has meanwhile what the instance takes at the source. */
  readonly migrationUuid: string;
  /** Null: it is not known whether one was chosen. */
  readonly dest: string | null;
}

/** The instance does not move: it has again what it had at the source, and nothing at the destination. Idempotent. */
export async function takeAllocationsBack(
  allocations: AllocationRepository,
  { instanceUuid, migrationUuid, dest }: AllocatedMove,
): Promise<void> {
  if (dest !== null) await allocations.release(instanceUuid, dest);
  // While the migration has what the instance takes at its source, all that the instance has is claimed elsewhere.
  else if ((await allocations.find({ consumer: migrationUuid })).length > 0) {
    await allocations.release(instanceUuid);
  }
  await allocations.transfer(migrationUuid, instanceUuid);
}

/** After an instance was given something back: a delete has released what it had before that. */
export async function releaseIfDeleted(allocations: AllocationRepository, now: Instance): Promise<void> {
  if (now.get('task_state') === 'deleting' || now.get('vm_state') === 'deleted')
    await allocations.release(now.get('uuid'));
}
