import { Flavor } from '../objects/flavor.js';
import { OperatorUsageError } from './work.js';

/** Nova's old default flavors: name, number, CPUs, MiB of memory, GiB of disk. */
const KNOWN: readonly (readonly [string, number, number, number, number])[] = [
  ['m1.tiny', 1, 1, 512, 1],
  ['m1.small', 2, 1, 2048, 20],
  ['m1.medium', 3, 2, 4096, 40],
  ['m1.large', 4, 4, 8192, 80],
  ['m1.xlarge', 5, 8, 16_384, 160],
];
const SIZES = /^(\d{1,4}):(\d{1,7}):(\d{1,6})$/;

/** For help. */
export const FLAVOR_WORDS: string = `${KNOWN.map(([name]) => name).join(', ')}, or VCPUS:MEMORY_MB:DISK_GB, as in 2:4096:40`;

/**
 * The size that a word stands for: there is no list of flavors to look it up in, so there are Nova's old ones, and sizes
 * spelt out.
 * @throws OperatorUsageError
 */
export function flavorOf(word: string): Flavor {
  const known = KNOWN.find(([name]) => name === word);
  if (known) return make(...known);
  const [, vcpus, memory, disk] = SIZES.exec(word) ?? [];
  if (vcpus === undefined || memory === undefined || disk === undefined || +vcpus === 0 || +memory === 0) {
    throw new OperatorUsageError(`--flavor is "${word}", and must be ${FLAVOR_WORDS}`);
  }
  return make(word, numberOf(word), +vcpus, +memory, +disk);
}

function make(name: string, id: number, vcpus: number, memoryMb: number, diskGb: number): Flavor {
  return Flavor.create({
    id,
    name,
    flavorid: String(id),
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
