import { randomUUID } from 'node:crypto';
import { Instance, type InstanceFields, type MigrationFields } from '@ebbgate/compute';
import type { HttpBed } from './http-bed.js';

/** An instance that is being migrated live, from a to b; resolves with its path. */
export async function moving(
  bed: HttpBed,
  {
    instance = {},
    migration = {},
  }: {
    readonly instance?: Partial<InstanceFields>;
    readonly migration?: Partial<MigrationFields>;
  } = {},
): Promise<string> {
  const uuid = randomUUID();
  const there = { uuid, vm_state: 'active', task_state: 'migrating', host: 'a', deleted: false } as const;
  await bed.records.instances.create(Instance.create({ ...there, ...instance }));
  await move(bed, { instance_uuid: uuid, status: 'running', ...migration });
  return `/servers/${uuid}/migrations`;
}

/** A migration of an instance, from a to b; by default a live one that is over. Resolves with its uuid. */
export async function move(bed: HttpBed, fields: Partial<MigrationFields>): Promise<string> {
  const made = await bed.migration({
    status: 'completed',
    migration_type: 'live-migration',
    source_compute: 'a',
    source_node: 'a',
    dest_compute: 'b',
    dest_node: 'b',
    dest_host: null,
    hidden: false,
    deleted: false,
    ...fields,
  });
  return made.get('uuid');
}
