import type { HostState } from './host-state.js';

/** A measure by which one host is better than another: more is better. */
export interface HostWeigher {
  /** What is measured. */
  readonly name: string;
  /** Its share in the sum. */
  readonly multiplier: number;
  /** The measure of one host, in whatever unit. */
  readonly weigh: (host: HostState) => number;
}

/** Nova's weighers of capacity: the emptiest host is the best. */
export const WEIGHERS: readonly HostWeigher[] = [
  { name: 'free vcpus', multiplier: 1, weigh: ({ free }) => free.vcpus },
  { name: 'free memory', multiplier: 1, weigh: ({ free }) => free.memoryMb },
  { name: 'free disk', multiplier: 1, weigh: ({ free }) => free.diskGb },
];

/** The hosts, the best first; equally good ones by name, so that the same question has the same answer. */
export function weighHosts(hosts: readonly HostState[]): readonly HostState[] {
  const sums = new Map(hosts.map((host) => [host, 0]));
  for (const { multiplier, weigh } of WEIGHERS) {
    const weights = hosts.map(weigh);
    const least = Math.min(...weights);
    const range = Math.max(...weights) - least;
    if (range === 0) continue; // they are all alike in this
    for (const host of hosts) {
      sums.set(host, (sums.get(host) ?? 0) + (multiplier * (weigh(host) - least)) / range);
    }
  }
  return [...hosts].sort((a, b) => (sums.get(b) ?? 0) - (sums.get(a) ?? 0) || (a.host < b.host ? -1 : 1));
}
