import { defineObject, type ObjectDefinition } from './definition.js';
import type { NovaObject } from './nova-object.js';
import type { MigrationStatus } from './states.js';

/** The move of one instance from host to host. */
export interface MigrationFields {
  readonly id: number;
  readonly uuid: string;
  readonly instance_uuid: string;
  readonly source_compute: string;
  readonly source_node: string;
  /** Null until a destination was found. */
  readonly dest_compute: string | null;
  readonly dest_node: string | null;
  /** Address of the destination. */
  readonly dest_host: string | null;
  readonly status: MigrationStatus;
  readonly migration_type: 'live-migration' | 'migration' | 'resize' | 'evacuation';
  readonly old_instance_type_id: number;
  readonly new_instance_type_id: number;
  readonly hidden: boolean;
  readonly cross_cell_move: boolean;
  /** Bytes; null until the hypervisor has begun. */
  readonly memory_total: number | null;
  readonly memory_processed: number | null;
  readonly memory_remaining: number | null;
  readonly disk_total: number | null;
  readonly disk_processed: number | null;
  readonly disk_remaining: number | null;
  readonly user_id: string | null;
  readonly project_id: string | null;
  readonly created_at: Date | null;
  readonly updated_at: Date | null;
  readonly deleted_at: Date | null;
  readonly deleted: boolean;
}

/** Nova's object Migration. */
export type Migration = NovaObject<MigrationFields>;
/** How to make and read Nova's object Migration. */
export const Migration: ObjectDefinition<MigrationFields> = defineObject<MigrationFields>(
  'Migration',
  '1.7',
  ['created_at', 'updated_at', 'deleted_at'],
);
