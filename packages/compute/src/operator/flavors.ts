import { FLAVOR_NAMES, listedFlavors, spelledFlavor } from '../api/flavors.js';
import type { Flavor } from '../objects/flavor.js';
import { OperatorUsageError } from './work.js';

/** For help. */
export const FLAVOR_WORDS: string = `${FLAVOR_NAMES.join(', ')}, or VCPUS:MEMORY_MB:DISK_GB, as in 2:4096:40`;

/**
 * The flavor of this name, or of the size that it spells out.
 * @throws OperatorUsageError
 */
export function flavorOf(word: string): Flavor {
  const flavor = listedFlavors().find((one) => one.get('name') === word) ?? spelledFlavor(word);
  if (flavor) return flavor;
  throw new OperatorUsageError(`--flavor is "${word}", and must be ${FLAVOR_WORDS}`);
}
