import type { Instance, InstanceFields } from '../objects/instance.js';
import type { Migration, MigrationFields } from '../objects/migration.js';
import type { DrainSight } from '../servicegroup/drain-sight.js';

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
   * The record with this uuid, be it marked as deleted or not.
   * @throws RecordNotFoundError (`ERR_NOT_FOUND`)
   */
  get(uuid: string): Promise<Record>;
  /**
   * All records whose fields have these values, oldest first. Those that are marked as deleted are left out, unless
   * `where` names `deleted`: `{ deleted: true }` finds only them.
   */
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

/** What a daemon tells of itself. */
export interface ServiceReport {
  /** What it is: `compute`, … */
  readonly binary: string;
  /** Where it is. */
  readonly host: string;
  /** As it called itself. */
  readonly state: string;
  /** Milliseconds since the epoch. */
  readonly reportedAtMs: number;
  /** Key of the record, when it is made by this report; a random one by default. Afterwards it stays as it is. */
  readonly uuid?: string;
  /** Topic of its new-request server; that of the report before by default, at first that named by `binary`. */
  readonly topic?: string;
  /** Number of its version, by which others know what it understands; as before by default, at first 0: not known. */
  readonly version?: number;
  /** Zone that it is in; null: none. As before by default, at first null. */
  readonly availabilityZone?: string | null;
  /** When it started, in milliseconds since the epoch; as before by default, at first `reportedAtMs`. */
  readonly startedAtMs?: number;
  /** How its drain goes, or what it has left; null, by default: it does not drain, or has left nothing. */
  readonly drain?: DrainSight | null;
}

/** Who has said of a daemon that it is dead. */
export interface ForcedDownNote {
  /** The user; null: nobody in particular. */
  readonly by: string | null;
  /** Why, as that one said; null: nothing was said. */
  readonly reason: string | null;
  /** Milliseconds since the epoch. */
  readonly atMs: number;
}

/** A daemon as the others see it. */
export interface ServiceRecord extends Required<ServiceReport> {
  /** Number of the record; never given again, also not when the record is deleted. */
  readonly id: number;
  /** An operator wants no new requests to go there. */
  readonly disabled: boolean;
  /** Why, as the operator said; null: nothing was said. */
  readonly disabledReason: string | null;
  /** An operator says that it is dead, whatever it reports. */
  readonly forcedDown: boolean;
  /** Who has said so; null while it is not forced down, or when that was not kept. */
  readonly forcedDownNote: ForcedDownNote | null;
  /** Rises each time that it is said that it is dead: what was sent by a run of an earlier epoch is refused. */
  readonly epoch: number;
  /** How often it has reported. */
  readonly reportCount: number;
}

/** What operators change of a service; a daemon's reports leave it as it is. */
export interface ServiceChanges extends Partial<
  Pick<ServiceRecord, 'disabled' | 'disabledReason' | 'forcedDown'>
> {
  /**
   * Who forces it down; the time is that of the write. Of a daemon that is forced down already only a reason is news: without
   * one the note stays as it is.
   */
  readonly forcedDownNote?: Omit<ForcedDownNote, 'atMs'>;
}

/** What services are looked for by; all that is given must fit. */
export type ServiceFilter = Partial<Pick<ServiceRecord, 'binary' | 'host' | 'uuid' | 'id'>>;

/** The last report of each service. */
export interface ServiceRepository {
  /**
   * The first report of a run: makes the record when there is none, enabled and not forced down, with an epoch above that of
   * any record of it that was deleted before. Resolves with the record as it is then.
   */
  register(report: ServiceReport): Promise<ServiceRecord>;
  /**
   * A later report; resolves with the record as it is then, so that a daemon learns what was said of it.
   * @throws RecordNotFoundError (`ERR_NOT_FOUND`) when there is none: it was deleted, and is not made again (COMP-18)
   */
  report(report: ServiceReport): Promise<ServiceRecord>;
  /** All daemons of one kind, by host name. */
  list(binary: string): Promise<readonly ServiceRecord[]>;
  /** All daemons that fit, by number. */
  find(where: ServiceFilter): Promise<readonly ServiceRecord[]>;
  /**
   * One daemon.
   * @throws RecordNotFoundError (`ERR_NOT_FOUND`) when it is not registered
   */
  get(binary: string, host: string): Promise<ServiceRecord>;
  /**
   * Writes what an operator says of a daemon; resolves with the record as it is then. The epoch rises by one when
   * `forcedDown` becomes true; without a note it then has one of nobody, of now. It has none once it is false again.
   * @throws RecordNotFoundError (`ERR_NOT_FOUND`) when it is not registered
   */
  update(binary: string, host: string, changes: ServiceChanges): Promise<ServiceRecord>;
  /**
   * Removes the record of a daemon. It comes back when the daemon registers again.
   * @throws RecordNotFoundError (`ERR_NOT_FOUND`) when it is not registered
   */
  delete(binary: string, host: string): Promise<void>;
}

/** What an instance takes of a host, or a host has. */
export interface Resources {
  /** Virtual CPUs. */
  readonly vcpus: number;
  /** MiB of memory. */
  readonly memoryMb: number;
  /** GiB of disk. */
  readonly diskGb: number;
}

/** A host, as those see it who look for room. */
export interface HostCapacity {
  /** Its name. */
  readonly host: string;
  /** What may be allocated in all: allocation ratios are in it. */
  readonly total: Resources;
  /** What is allocated; more than `total` where a host has become smaller. */
  readonly used: Resources;
}

/** What one consumer has of one host. */
export interface Allocation {
  /** Uuid of an instance; or of a migration, for what its instance has had where it comes from. */
  readonly consumer: string;
  /** Where. */
  readonly host: string;
  /** How much. */
  readonly resources: Resources;
}

/** Who has what on which host. A consumer has at most one allocation on each. */
export interface AllocationRepository {
  /** A compute tells what it has, at its start and when that changes. */
  report(host: string, total: Resources): Promise<void>;
  /**
   * Forgets what a host has, so that nothing can be claimed there until it reports again; nothing when it is not known.
   * @throws UnexpectedStateError (`ERR_UNEXPECTED_STATE`) while something is allocated there: nothing was written
   */
  forget(host: string): Promise<void>;
  /** All hosts that have reported, by name. */
  capacities(): Promise<readonly HostCapacity[]>;
  /**
   * Takes resources of a host for a consumer, in one step, so that no two can take the same. Resolves with false, and
   * has written nothing, when they do not fit, or the host has never reported. The same claim again is true; one of
   * another size takes the place of the consumer's on that host.
   */
  claim(consumer: string, host: string, resources: Resources): Promise<boolean>;
  /**
   * What one consumer has, on all hosts, becomes that of another, in one step; nothing when the first has nothing.
   * @throws UnexpectedStateError (`ERR_UNEXPECTED_STATE`) when the other has something on one of the hosts already:
   * nothing was written
   */
  transfer(from: string, to: string): Promise<void>;
  /** Gives back what a consumer has, on one host or on all; nothing when it has nothing. */
  release(consumer: string, host?: string): Promise<void>;
  /** The allocations of a consumer, on a host, or both; all of them by default. By consumer, then host. */
  find(where: { readonly consumer?: string; readonly host?: string }): Promise<readonly Allocation[]>;
}

/** All records. Conductors, schedulers and the API have them; computes go through the conductor. */
export interface Records {
  /** One for each instance. */
  readonly instances: InstanceRepository;
  /** One for each attempt to move an instance. */
  readonly migrations: MigrationRepository;
  /** The last report of each service. */
  readonly services: ServiceRepository;
  /** What instances, and migrations, have of the hosts. */
  readonly allocations: AllocationRepository;
}
