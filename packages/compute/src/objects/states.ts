/** What an instance is. */
export type VmState =
  | 'building'
  | 'active'
  | 'paused'
  | 'suspended'
  | 'stopped'
  | 'rescued'
  | 'resized'
  | 'shelved'
  | 'shelved_offloaded'
  | 'error'
  | 'deleted';

/** What is being done to an instance; null when nothing is. */
export type TaskState =
  | 'scheduling'
  | 'networking'
  | 'block_device_mapping'
  | 'spawning'
  | 'migrating'
  | 'resize_prep'
  | 'resize_migrating'
  | 'resize_migrated'
  | 'resize_finish'
  | 'resize_reverting'
  | 'deleting'
  | 'powering-on'
  | 'powering-off'
  | 'rebooting'
  | 'reboot_started'
  | 'rebooting_hard'
  | 'reboot_started_hard'
  | 'image_snapshot_pending'
  | 'image_snapshot'
  | 'image_uploading'
  | 'rebuilding'
  | 'rebuild_block_device_mapping'
  | 'rebuild_spawning'
  | 'pausing'
  | 'unpausing'
  | 'suspending'
  | 'resuming'
  | 'rescuing'
  | 'unrescuing'
  | 'updating_password'
  | 'shelving'
  | 'shelving_image_pending_upload'
  | 'shelving_image_uploading'
  | 'shelving_offloading'
  | 'unshelving'
  | null;

/** How far a migration is (`compute-rpc.md` 3). The last seven are final. */
export type MigrationStatus =
  | 'accepted'
  | 'queued'
  | 'preparing'
  | 'running'
  | 'running (post-copy)'
  | 'pre-migrating'
  | 'migrating'
  | 'post-migrating'
  | 'finished'
  | 'confirming'
  | 'reverting'
  | 'confirmed'
  | 'reverted'
  | 'done'
  | 'completed'
  | 'failed'
  | 'error'
  | 'cancelled';

const FINAL: ReadonlySet<string> = new Set([
  'confirmed',
  'reverted',
  'done',
  'completed',
  'failed',
  'error',
  'cancelled',
]);

/**
 * Nothing more happens to the instance of a migration with this status. After an evacuation that is `done` only the
 * host that failed has something to do, when it comes back.
 */
export function isFinal(status: MigrationStatus): boolean {
  return FINAL.has(status);
}

/** Nova's numbers for what the hypervisor says of a guest. */
export const POWER_STATE = { none: 0, running: 1, paused: 3, shutdown: 4, crashed: 6 } as const;
