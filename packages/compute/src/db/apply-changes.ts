import type { InstanceFields } from '../objects/instance.js';
import type { NovaObject } from '../objects/nova-object.js';
import type { VmState } from '../objects/states.js';
import type { Identified } from './memory-repository.js';

/** In these an instance keeps its fault. */
const UNSETTLED: readonly VmState[] = ['building', 'error', 'deleted'];

/**
 * Writes changes into a record, and when that was. The end of an operation that succeeded, which says what the instance is
 * now, takes the fault of an earlier one away.
 */
export function applyChanges<Fields extends Identified>(
  record: NovaObject<Fields>,
  changes: Partial<Fields>,
): void {
  const touched: Partial<Identified> = { updated_at: new Date() };
  record.update(changes).update(touched as Partial<Fields>); // Fields has the members of Identified
  const { vm_state: state, fault } = changes as Partial<InstanceFields>; // no other record has these
  if (state === undefined || UNSETTLED.includes(state) || fault !== undefined) return;
  const instance = record as unknown as NovaObject<InstanceFields>; // it has a vm_state
  if (instance.find('fault') && instance.find('task_state') === null) instance.update({ fault: null });
}
