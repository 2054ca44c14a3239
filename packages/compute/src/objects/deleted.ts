import type { InstanceFields } from './instance.js';
import { POWER_STATE, type VmState } from './states.js';

/** What an instance can be that is not deleted. */
export const EXISTING: readonly VmState[] = [
  'building',
  'active',
  'paused',
  'suspended',
  'stopped',
  'rescued',
  'resized',
  'shelved',
  'shelved_offloaded',
  'error',
];

/** What the record of an instance says that is no more. */
export function deletedNow(): Partial<InstanceFields> {
  const now = new Date();
  return {
    vm_state: 'deleted',
    task_state: null,
    power_state: POWER_STATE.none,
    terminated_at: now,
    deleted_at: now,
    deleted: true,
  };
}
