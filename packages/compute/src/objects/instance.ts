import type { BlockDeviceMappingList } from './block-device.js';
import { defineObject, type ObjectDefinition } from './definition.js';
import type { Flavor } from './flavor.js';
import type { InstanceFault } from './instance-fault.js';
import type { MigrationContext } from './migration-context.js';
import type { NovaObject } from './nova-object.js';
import type { ShareMapping } from './share-mapping.js';
import type { TaskState, VmState } from './states.js';

/** A virtual machine as the records have it. */
export interface InstanceFields {
  /** Number of the record in its cell's database. */
  readonly id: number;
  /** The key of the record, by which all others name the instance. */
  readonly uuid: string;
  /** Who ordered it. */
  readonly user_id: string;
  /** The project that it belongs to. */
  readonly project_id: string;
  /** What its user calls it. */
  readonly display_name: string;
  /** Its user's words about it; null, or absent: none. */
  readonly display_description: string | null;
  /** What the guest calls itself. */
  readonly hostname: string;
  /** Id of the image that it was made of; empty when it boots from a volume. */
  readonly image_ref: string;
  /** Name of the SSH key that was put into it; null: none. */
  readonly key_name: string | null;
  /** Where it is; null until a host has begun to build it. */
  readonly host: string | null;
  /** The host's hypervisor, whose name may differ from the host's (a host may drive more than one); null as `host`. */
  readonly node: string | null;
  /** Host that built it; moves do not change it. Null until a host has begun to. */
  readonly launched_on: string | null;
  /** Zone that it is in, or that was asked for; null: no particular one. */
  readonly availability_zone: string | null;
  /** What it is when nothing is being done to it. */
  readonly vm_state: VmState;
  /** What is being done to it; null: nothing. */
  readonly task_state: TaskState;
  /** What the hypervisor last said: 0 nothing known, 1 running, 3 paused, 4 shut down, 6 crashed. */
  readonly power_state: number;
  /** How much of a live migration is done, in per cent; 0 when there is none. */
  readonly progress: number;
  /** MiB of memory, from its flavor. */
  readonly memory_mb: number;
  /** Virtual CPUs, from its flavor. */
  readonly vcpus: number;
  /** Root disk in GiB, from its flavor. */
  readonly root_gb: number;
  /** Second disk in GiB, from its flavor; 0: none. */
  readonly ephemeral_gb: number;
  /** Number `id` of its flavor. */
  readonly instance_type_id: number;
  /** The size that it has. */
  readonly flavor: Flavor;
  /** The size that it had before a resize that is not confirmed yet; null: there is no such resize. */
  readonly old_flavor: Flavor | null;
  /** The size that a resize gives it, until that is confirmed; null: there is no such resize. */
  readonly new_flavor: Flavor | null;
  /** It is only a copy: the instance is in another cell, or is not yet in this one. Absent: it is not. */
  readonly hidden: boolean;
  /** What the destination of a move has set apart for it; null: nothing. */
  readonly migration_context: MigrationContext | null;
  /** Only administrators may change it, and, when its owner has locked it, its owner. Absent: it is not locked. */
  readonly locked: boolean;
  /** Who has locked it; null: nobody. */
  readonly locked_by: 'owner' | 'admin' | null;
  /** Why the last operation on it failed; null, or absent: it did not. */
  readonly fault: InstanceFault | null;
  /** Its user's notes, by name. */
  readonly metadata: Readonly<Record<string, string>>;
  /** Nova's own notes, by name: `old_vm_state`, … */
  readonly system_metadata: Readonly<Record<string, string>>;
  /** The volumes that it was given after its boot, which Nova keeps as records of their own. Absent: none. */
  readonly block_device_mapping: BlockDeviceMappingList;
  /** The shares that its host has access to for it: Nova's objects ShareMapping, likewise. Absent: none. */
  readonly share_mapping: readonly ShareMapping[];
  /** When its boot was complete; null until it is. */
  readonly launched_at: Date | null;
  /** When its guest was destroyed for good; null while it is not. */
  readonly terminated_at: Date | null;
  /** When the record was made; null until it is stored. */
  readonly created_at: Date | null;
  /** When the record was last changed; null until it is. */
  readonly updated_at: Date | null;
  /** When the record was marked as deleted; null while it is not. */
  readonly deleted_at: Date | null;
  /** Deleted for users; the record is kept all the same. */
  readonly deleted: boolean;
}

/** Nova's object Instance. */
export type Instance = NovaObject<InstanceFields>;
/** How to make and read Nova's object Instance. */
export const Instance: ObjectDefinition<InstanceFields> = defineObject<InstanceFields>('Instance', '2.7', [
  'launched_at',
  'terminated_at',
  'created_at',
  'updated_at',
  'deleted_at',
]);

/** What people call an instance: its display name, or else its id. */
export function nameOf(instance: Instance): string {
  return instance.find('display_name') ?? instance.get('uuid');
}
