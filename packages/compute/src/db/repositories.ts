import type { Instance, InstanceFields } from '../objects/instance.js';
import type { Migration, MigrationFields } from '../objects/migration.js';

/**
 * States that a record must be in for a change: each field named must have one of the values. Checked and written as one
 * step, so that two writers cannot both win.
 */
export type Expected<Fields> = { readonly [Name in keyof Fields]?: readonly Fields[Name][] };

/** Records of one kind. What goes in and what comes out are copies: changing them changes no record. */
export interface Repository<Record, Fields> {
  /**
   * Stores a record and resolves with it as stored: it then has its `id` and `created_at`.
   * @throws UnexpectedStateError (`ERR_UNEXPECTED_STATE`) when the uuid is taken
   */
  create(record: Record): Promise<Record>;
  /**
   * The record with this uuid.
   * @throws RecordNotFoundError (`ERR_NOT_FOUND`)
   */
  get(uuid: string): Promise<Record>;
  /** All records whose fields have these values, oldest first. */
  find(where: Partial<Fields>): Promise<readonly Record[]>;
  /**
   * Writes some fields and resolves with the record as it is then.
   * @throws RecordNotFoundError (`ERR_NOT_FOUND`); UnexpectedStateError (`ERR_UNEXPECTED_STATE`) when the record is in
   * none of the expected states: nothing was written.
   */
  update(uuid: string, changes: Partial<Fields>, expected?: Expected<Fields>): Promise<Record>;
}

/** Records of instances. */
export type InstanceRepository = Repository<Instance, InstanceFields>;
/** Records of migrations. */
export type MigrationRepository = Repository<Migration, MigrationFields>;

/** A daemon as the others see it. */
export interface ServiceRecord {
  /** What it is: `compute`, … */
  readonly binary: string;
  /** Where it is. */
  readonly host: string;
  /** As it called itself. */
  readonly state: string;
  /** Milliseconds since the epoch. */
  readonly reportedAtMs: number;
}

/** The last report of each service. */
export interface ServiceRepository {
  /** Writes the record of one daemon; makes it when there is none. */
  report(record: ServiceRecord): Promise<void>;
  /** All daemons of one kind, by host name. */
  list(binary: string): Promise<readonly ServiceRecord[]>;
}

/** All records. Conductors, schedulers and the API have them; computes will go through the conductor. */
export interface Records {
  /** One for each instance. */
  readonly instances: InstanceRepository;
  /** One for each attempt to move an instance. */
  readonly migrations: MigrationRepository;
  /** The last report of each service. */
  readonly services: ServiceRepository;
}
