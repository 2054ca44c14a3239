import { Flavor } from '../objects/flavor.js';

/** Nova's old default flavors: name, number, CPUs, MiB of memory, GiB of disk. */
const KNOWN: readonly (readonly [string, number, number, number, number])[] = [
  ['m1.tiny', 1, 1, 512, 1],
  ['m1.small', 2, 1, 2048, 20],
  ['m1.medium', 3, 2, 4096, 40],
  ['m1.large', 4, 4, 8192, 80],
  ['m1.xlarge', 5, 8, 16_384, 160],
];
const SIZES = /^(\d{1,4}):(\d{1,7}):(\d{1,6})$/;

/** What the flavors that are listed are called. */
export const FLAVOR_NAMES: readonly string[] = KNOWN.map(([name]) => name);

/** The flavors that are listed: nobody can make others. Their ids are 1 to 5. */
export function listedFlavors(): readonly Flavor[] {
  return KNOWN.map(([name, id, ...sizes]) => make(name, id, String(id), sizes));
}

/**
 * The flavor that a size is which is spelt out, `VCPUS:MEMORY_MB:DISK_GB`: that is its name and its id.
 * @returns undefined when it is none
 */
export function spelledFlavor(word: string): Flavor | undefined {
  const [, vcpus, memory, disk] = SIZES.exec(word) ?? [];
  if (vcpus === undefined || memory === undefined || disk === undefined) return undefined;
  if (+vcpus === 0 || +memory === 0) return undefined;
  return make(word, numberOf(word), word, [+vcpus, +memory, +disk]);
}

/** The flavor that has this id, listed or spelt out; undefined: none. */
export function flavorById(id: string): Flavor | undefined {
  return listedFlavors().find((one) => one.get('flavorid') === id) ?? spelledFlavor(id);
}

function make(
  name: string,
  id: number,
  flavorid: string,
  [vcpus, memoryMb, diskGb]: readonly [number, number, number],
): Flavor {
  return Flavor.create({
    id,
    name,
    flavorid,
    vcpus,
    memory_mb: memoryMb,
    root_gb: diskGb,
    ephemeral_gb: 0,
    swap: 0,
    rxtx_factor: 1,
    vcpu_weight: 0,
    disabled: false,
    is_public: true,
    extra_specs: {},
    description: null,
  });
}

/** The same number for the same word, none of those above, and such that a column of 31 bits has room for it. */
function numberOf(word: string): number {
  let hash = 0x811c9dc5;
  for (const letter of word) hash = Math.imul(hash ^ letter.charCodeAt(0), 0x01000193) >>> 0;
  return 1000 + (hash % 2_000_000_000);
}
