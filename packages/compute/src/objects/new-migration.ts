import { randomUUID } from 'node:crypto';
import type { Instance } from './instance.js';
import { Migration, type MigrationFields } from './migration.js';

type Begun = Pick<MigrationFields, 'source_compute' | 'status' | 'migration_type'>;

/** The move of an instance that begins: nothing is known yet of where it goes. Both types are numbers of flavors. */
export function newMigration(
  instance: Instance,
  begun: Begun,
  oldType: number = instance.find('instance_type_id') ?? 0,
  newType: number = oldType,
): Migration {
  return Migration.create({
    uuid: randomUUID(),
    instance_uuid: instance.get('uuid'),
    ...begun,
    source_node: instance.find('node') ?? begun.source_compute,
    dest_compute: null,
    dest_node: null,
    dest_host: null,
    old_instance_type_id: oldType,
    new_instance_type_id: newType,
    hidden: false,
    cross_cell_move: false,
    memory_total: null,
    memory_processed: null,
    memory_remaining: null,
    user_id: instance.find('user_id') ?? null,
    project_id: instance.find('project_id') ?? null,
    deleted: false,
  });
}
