import type { Resources } from '../db/repositories.js';
import type { Flavor } from '../objects/flavor.js';

const MIB_PER_GIB = 1024;

/**
 * What an instance of a flavor takes of a host.
 * @param options - `bootsFromVolume`: its root disk is on a volume, and takes no room on the host
 */
export function resourcesOf(
  flavor: Flavor,
  { bootsFromVolume = false }: { readonly bootsFromVolume?: boolean } = {},
): Resources {
  const swapGb = Math.ceil((flavor.find('swap') ?? 0) / MIB_PER_GIB);
  const rootGb = bootsFromVolume ? 0 : (flavor.find('root_gb') ?? 0);
  return Object.freeze({
    vcpus: flavor.find('vcpus') ?? 0,
    memoryMb: flavor.find('memory_mb') ?? 0,
    diskGb: rootGb + (flavor.find('ephemeral_gb') ?? 0) + swapGb,
  });
}
