import { defineObject, type ObjectDefinition } from './definition.js';
import type { Flavor } from './flavor.js';
import type { NovaObject } from './nova-object.js';
import type { TaskState, VmState } from './states.js';

/** A virtual machine as the records have it. */
export interface InstanceFields {
  readonly id: number;
  readonly uuid: string;
  readonly user_id: string;
  readonly project_id: string;
  readonly display_name: string;
  readonly hostname: string;
  readonly image_ref: string;
  readonly key_name: string | null;
  /** Where it is; null until a host has begun to build it. */
  readonly host: string | null;
  readonly node: string | null;
  readonly launched_on: string | null;
  readonly availability_zone: string | null;
  readonly vm_state: VmState;
  readonly task_state: TaskState;
  readonly power_state: number;
  readonly progress: number;
  readonly memory_mb: number;
  readonly vcpus: number;
  readonly root_gb: number;
  readonly ephemeral_gb: number;
  readonly instance_type_id: number;
  readonly flavor: Flavor;
  readonly old_flavor: Flavor | null;
  readonly new_flavor: Flavor | null;
  readonly metadata: Readonly<Record<string, string>>;
  readonly system_metadata: Readonly<Record<string, string>>;
  readonly launched_at: Date | null;
  readonly terminated_at: Date | null;
  readonly created_at: Date | null;
  readonly updated_at: Date | null;
  readonly deleted_at: Date | null;
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
