import type { Flavor, FlavorFields } from '../objects/flavor.js';
import { versioned, type VersionedPayload } from './versioned-payload.js';

/** What is null where the flavor does not carry it. */
const NULLABLE: readonly (keyof FlavorFields)[] = [
  'flavorid',
  'memory_mb',
  'vcpus',
  'root_gb',
  'ephemeral_gb',
  'rxtx_factor',
  'vcpu_weight',
  'extra_specs',
  'description',
];

/** A size: `FlavorPayload` 1.4. Which projects may use it is nobody's to know here. */
export function flavorPayload(flavor: Flavor): VersionedPayload {
  return versioned('FlavorPayload', '1.4', {
    ...Object.fromEntries(NULLABLE.map((name) => [name, flavor.find(name) ?? null])),
    name: flavor.find('name') ?? '',
    swap: flavor.find('swap') ?? 0,
    disabled: flavor.find('disabled') ?? false,
    is_public: flavor.find('is_public') ?? true,
    projects: null,
  });
}
