import type { Generated } from 'kysely';

/** What the tables of versioned objects have in common. */
export interface ObjectColumns {
  readonly id: Generated<number>;
  readonly uuid: string;
  /** 0 or 1. */
  readonly deleted: number;
  /** The object, without the fields that have a column: JSON, as on the wire. */
  readonly object: string;
  /** JSON: names of the fields with a column that the object does not carry. */
  readonly unset: string;
}

/** Instances are searched by these. */
interface InstanceColumns extends ObjectColumns {
  readonly host: string | null;
  readonly node: string | null;
  readonly vm_state: string | null;
  readonly task_state: string | null;
  readonly user_id: string | null;
  readonly project_id: string | null;
  readonly availability_zone: string | null;
}

/** Migrations are searched by these. */
interface MigrationColumns extends ObjectColumns {
  readonly instance_uuid: string | null;
  readonly source_compute: string | null;
  readonly dest_compute: string | null;
  readonly status: string | null;
  readonly migration_type: string | null;
}

/** One daemon. Times are milliseconds since the epoch. */
export interface ServiceColumns {
  readonly id: Generated<number>;
  readonly binary: string;
  readonly host: string;
  readonly uuid: string;
  readonly topic: string;
  readonly version: number;
  readonly state: string;
  readonly availability_zone: string | null;
  /** 0 or 1. */
  readonly disabled: number;
  readonly disabled_reason: string | null;
  /** 0 or 1. */
  readonly forced_down: number;
  readonly epoch: number;
  readonly report_count: number;
  readonly started_at_ms: number;
  readonly reported_at_ms: number;
  /** JSON; null: it does not drain. */
  readonly drain: string | null;
  /** JSON; null: it is not forced down, or nobody knows by whom. */
  readonly forced_down_note: string | null;
}

interface ResourceColumns {
  readonly vcpus: number;
  readonly memory_mb: number;
  readonly disk_gb: number;
}

interface CapacityColumns extends ResourceColumns {
  readonly host: string;
}

interface AllocationColumns extends ResourceColumns {
  readonly consumer: string;
  readonly host: string;
}

interface CellColumns {
  readonly name: string;
  readonly transport_url: string;
  readonly database_url: string;
}

interface MappingColumns {
  readonly instance_uuid: string;
  readonly cell: string;
}

interface NetworkColumns {
  readonly instance_uuid: string;
  /** JSON. */
  readonly state: string;
}

/** The tables, as the last migration leaves them. */
export interface Schema {
  readonly instances: InstanceColumns;
  readonly migrations: MigrationColumns;
  readonly services: ServiceColumns;
  readonly capacities: CapacityColumns;
  readonly allocations: AllocationColumns;
  readonly cells: CellColumns;
  readonly instance_mappings: MappingColumns;
  readonly networks: NetworkColumns;
}
