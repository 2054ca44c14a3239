import type { Instance } from '../objects/instance.js';
import type { Migration } from '../objects/migration.js';
import type { JobEvent } from './job-events.js';

/** What is shown of the record of an instance. */
export function instanceEvent(instance: Instance): Extract<JobEvent, { kind: 'instance' }> {
  const uuid = instance.get('uuid');
  return {
    kind: 'instance',
    uuid,
    name: instance.find('display_name') ?? uuid,
    host: instance.find('host') ?? null,
    vmState: instance.get('vm_state'),
    taskState: instance.get('task_state'),
  };
}

/** What is shown of the record of a migration. @param name - of its instance */
export function migrationEvent(migration: Migration, name: string): Extract<JobEvent, { kind: 'migration' }> {
  const total = migration.find('memory_total') ?? 0;
  const remaining = migration.find('memory_remaining') ?? null;
  // What is processed can be more: some is copied again.
  const copied = remaining === null ? (migration.find('memory_processed') ?? 0) : total - remaining;
  return {
    kind: 'migration',
    uuid: migration.get('uuid'),
    name,
    status: migration.get('status'),
    source: migration.get('source_compute'),
    dest: migration.find('dest_compute') ?? null,
    progress: total === 0 ? 0 : copied / total,
  };
}
