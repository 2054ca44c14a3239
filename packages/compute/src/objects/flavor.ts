import { defineObject, type ObjectDefinition } from './definition.js';
import type { NovaObject } from './nova-object.js';

/** The size of an instance. */
export interface FlavorFields {
  readonly id: number;
  readonly name: string;
  readonly memory_mb: number;
  readonly vcpus: number;
  readonly root_gb: number;
  readonly ephemeral_gb: number;
  readonly flavorid: string;
  readonly swap: number;
  readonly rxtx_factor: number;
  readonly vcpu_weight: number;
  readonly disabled: boolean;
  readonly is_public: boolean;
  readonly extra_specs: Readonly<Record<string, string>>;
  readonly description: string | null;
  readonly created_at: Date | null;
  readonly updated_at: Date | null;
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
