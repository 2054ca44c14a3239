import { defineObject, type ObjectDefinition } from './definition.js';
import type { NovaObject } from './nova-object.js';

/** What a destination has set apart for an instance that is to come. Nothing here pins CPUs or devices, so most is null. */
export interface MigrationContextFields {
  /** The instance that moves. */
  readonly instance_uuid: string;
  /** Number `id` of its migration. */
  readonly migration_id: number;
  /** NUMA cells at the destination; null: none in particular. */
  readonly new_numa_topology: null;
  /** NUMA cells at the source; null: none in particular. */
  readonly old_numa_topology: null;
}

/** Nova's object MigrationContext. */
export type MigrationContext = NovaObject<MigrationContextFields>;
/** How to make and read Nova's object MigrationContext. */
export const MigrationContext: ObjectDefinition<MigrationContextFields> =
  defineObject<MigrationContextFields>('MigrationContext', '1.2');
