import { defineObject, type ObjectDefinition } from './definition.js';
import type { NovaObject } from './nova-object.js';

/** The size of an instance. */
export interface FlavorFields {
  /** Number of the record, which `instance_type_id` of an instance names. */
  readonly id: number;
  /** What people call it: `m1.small`. */
  readonly name: string;
  /** MiB of memory. */
  readonly memory_mb: number;
  /** How many virtual CPUs. */
  readonly vcpus: number;
  /** Root disk in GiB; 0: as large as the image. */
  readonly root_gb: number;
  /** A second disk, empty at first, in GiB; 0: none. */
  readonly ephemeral_gb: number;
  /** The id that users name it by: text, and not the number `id`. */
  readonly flavorid: string;
  /** Swap disk in MiB; 0: none. */
  readonly swap: number;
  /** Multiplies the bandwidth that its networks allow; 1 leaves it as it is. */
  readonly rxtx_factor: number;
  /** Its share of CPU time against that of other guests; 0: not weighted. */
  readonly vcpu_weight: number;
  /** Not to be used for new instances. */
  readonly disabled: boolean;
  /** Every project may use it; otherwise those that were given access. */
  readonly is_public: boolean;
  /** What it asks of scheduler and hypervisor besides: `hw:cpu_policy`, …, by name. */
  readonly extra_specs: Readonly<Record<string, string>>;
  /** Words for people; null: none. */
  readonly description: string | null;
  /** When the record was made; null until it is stored. */
  readonly created_at: Date | null;
  /** When the record was last changed; null until it is. */
  readonly updated_at: Date | null;
  /** When the record was marked as deleted; null while it is not. */
  readonly deleted_at: Date | null;
}

/** Nova's object Flavor. */
export type Flavor = NovaObject<FlavorFields>;
/** How to make and read Nova's object Flavor. */
export const Flavor: ObjectDefinition<FlavorFields> = defineObject<FlavorFields>('Flavor', '1.2', [
  'created_at',
  'updated_at',
  'deleted_at',
]);
