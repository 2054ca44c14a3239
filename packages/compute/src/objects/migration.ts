import { defineObject, type ObjectDefinition } from './definition.js';
import type { NovaObject } from './nova-object.js';
import type { MigrationStatus } from './states.js';

/** The move of one instance from host to host. */
export interface MigrationFields {
  /** Number of the record, by which `live_migration_abort` names it. */
  readonly id: number;
  /** The key of the record. */
  readonly uuid: string;
  /** The instance that moves. */
  readonly instance_uuid: string;
  /** Host that it leaves. */
  readonly source_compute: string;
  /** Hypervisor of that host. */
  readonly source_node: string;
  /** Null until a destination was found. */
  readonly dest_compute: string | null;
  /** Hypervisor of the destination; null as `dest_compute`. */
  readonly dest_node: string | null;
  /** Address of the destination. */
  readonly dest_host: string | null;
  /** How far it is. */
  readonly status: MigrationStatus;
  /** How it moves: `migration` is a cold one, `resize` one to another size, `evacuation` from a failed host. */
  readonly migration_type: 'live-migration' | 'migration' | 'resize' | 'evacuation';
  /** Number `id` of the flavor before. */
  readonly old_instance_type_id: number;
  /** Number `id` of the flavor afterwards; that of before when the size stays. */
  readonly new_instance_type_id: number;
  /** Not shown to users, as the copy in the target cell of a cross-cell move is. */
  readonly hidden: boolean;
  /** The destination is in another cell (`compute-rpc.md` 3.5). */
  readonly cross_cell_move: boolean;
  /** Bytes; null until the hypervisor has begun. */
  readonly memory_total: number | null;
  /** Bytes of memory copied; null as `memory_total`. */
  readonly memory_processed: number | null;
  /** Bytes of memory still to be copied; null as `memory_total`. */
  readonly memory_remaining: number | null;
  /** Bytes of disks to be copied in all; null: the hypervisor has told nothing. */
  readonly disk_total: number | null;
  /** Bytes of disks copied; null as `disk_total`. */
  readonly disk_processed: number | null;
  /** Bytes of disks still to be copied; null as `disk_total`. */
  readonly disk_remaining: number | null;
  /** Who ordered the move; null: not known. */
  readonly user_id: string | null;
  /** The project of that user; null: not known. */
  readonly project_id: string | null;
  /** When the record was made; null until it is stored. */
  readonly created_at: Date | null;
  /** When the record was last changed; null until it is. */
  readonly updated_at: Date | null;
  /** When the record was marked as deleted; null while it is not. */
  readonly deleted_at: Date | null;
  /** Deleted for users; the record is kept all the same. */
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

/** Both kinds of moves of an instance that is shut down. */
export function isCold(migration: Migration): boolean {
  return ['migration', 'resize'].includes(migration.get('migration_type'));
}
