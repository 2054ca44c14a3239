import { secondsText } from '../objects/seconds-text.js';
import type { StateEvent } from './compute-event.js';
import { instanceData } from './instance-payload.js';
import { versioned, type VersionedPayload } from './versioned-payload.js';

/** Another state of an instance: `InstanceUpdatePayload` 2.1. The audit period is that of the present month. */
export function statePayload({ instance, before }: StateEvent): VersionedPayload {
  const now = new Date();
  return versioned('InstanceUpdatePayload', '2.1', {
    ...instanceData(instance, {}),
    state_update: versioned('InstanceStateUpdatePayload', '1.0', {
      old_state: before.get('vm_state'),
      state: instance.get('vm_state'),
      old_task_state: before.get('task_state'),
      new_task_state: instance.get('task_state'),
    }),
    audit_period: versioned('AuditPeriodPayload', '1.0', {
      audit_period_beginning: secondsText(new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth()))),
      audit_period_ending: secondsText(now),
    }),
    old_display_name: null,
    tags: [],
  });
}
