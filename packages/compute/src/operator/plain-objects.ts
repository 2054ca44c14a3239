import type { InstanceFault } from '../objects/instance-fault.js';
import { type Instance, nameOf } from '../objects/instance.js';
import type { Migration } from '../objects/migration.js';
import { migrationEvent } from '../main-job/record-events.js';

/** An instance as `--json` prints it. */
export function plainInstance(instance: Instance, migration?: Migration): Readonly<Record<string, unknown>> {
  const carried = new Map(instance.entries());
  const orNull = (field: string): unknown => carried.get(field) ?? null;
  return {
    id: instance.get('uuid'),
    name: nameOf(instance),
    host: orNull('host'),
    vm_state: instance.get('vm_state'),
    task_state: instance.get('task_state'),
    power_state: orNull('power_state'),
    flavor: instance.find('flavor')?.find('name') ?? null,
    image: orNull('image_ref'),
    availability_zone: orNull('availability_zone'),
    created_at: orNull('created_at'),
    launched_at: orNull('launched_at'),
    updated_at: orNull('updated_at'),
    fault: plainFault(instance.find('fault')),
    migration: migration ? plainMigration(migration) : null,
  };
}

function plainFault(fault: InstanceFault | null | undefined): Readonly<Record<string, unknown>> | null {
  if (!fault) return null;
  const names = ['code', 'message', 'details', 'host', 'created_at'] as const;
  return Object.fromEntries(names.map((name) => [name, fault.find(name) ?? null]));
}

/** A migration as `--json` prints it; `progress` is a number from 0 to 1. */
export function plainMigration(migration: Migration): Readonly<Record<string, unknown>> {
  const { uuid, source, dest, status, progress } = migrationEvent(migration, '');
  return {
    id: uuid,
    instance: migration.get('instance_uuid'),
    type: migration.get('migration_type'),
    status,
    source,
    dest,
    progress: status === 'completed' ? 1 : progress,
    created_at: migration.find('created_at') ?? null,
    updated_at: migration.find('updated_at') ?? null,
  };
}
