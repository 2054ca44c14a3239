import type { TypedEvents } from '@ebbgate/core';
import type { Instance } from '../objects/instance.js';
import type { RecordEvents } from './memory-records.js';

/** Tells of an instance that was written, and of its state when that has changed. */
export function tellOfInstance(
  events: TypedEvents<RecordEvents>,
  instance: Instance,
  before: Instance | undefined,
): void {
  events.emit('instance', instance);
  if (!before || !events.has('instanceState') || isSame(instance, before)) return;
  events.emit('instanceState', { instance, before });
}

function isSame(one: Instance, other: Instance): boolean {
  return (
    one.find('vm_state') === other.find('vm_state') && one.find('task_state') === other.find('task_state')
  );
}
