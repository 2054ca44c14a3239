/** What an instance is. */
export type VmState = 'building' | 'active' | 'paused' | 'stopped' | 'error' | 'deleted';

/** What is being done to an instance; null when nothing is. */
export type TaskState =
  'scheduling' | 'networking' | 'block_device_mapping' | 'spawning' | 'migrating' | null;

/** How far a migration is (`compute-rpc.md` 3.1). The last four are final. */
export type MigrationStatus =
  'accepted' | 'queued' | 'preparing' | 'running' | 'completed' | 'failed' | 'error' | 'cancelled';

const FINAL: ReadonlySet<string> = new Set(['completed', 'failed', 'error', 'cancelled']);

/** Nothing more happens to a migration with this status. */
export function isFinal(status: MigrationStatus): boolean {
  return FINAL.has(status);
}

/** Nova's numbers for what the hypervisor says of a guest. */
export const POWER_STATE = { none: 0, running: 1, paused: 3, shutdown: 4, crashed: 6 } as const;
