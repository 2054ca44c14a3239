import type { AllocationRepository } from './repositories.js';

/** An instance on its way from one host to another, as far as it concerns what it has of the two. */
export interface AllocatedMove {
  /** Has what it takes at the destination. */
  readonly instanceUuid: string;
  /** Has meanwhile what the instance takes at the source. */
  readonly migrationUuid: string;
  /** Null: none was chosen. */
  readonly dest: string | null;
}

/** The instance does not move: it has again what it had at the source, and nothing at the destination. Idempotent. */
export async function takeAllocationsBack(
  allocations: AllocationRepository,
  { instanceUuid, migrationUuid, dest }: AllocatedMove,
): Promise<void> {
  if (dest !== null) await allocations.release(instanceUuid, dest);
  await allocations.transfer(migrationUuid, instanceUuid);
}
