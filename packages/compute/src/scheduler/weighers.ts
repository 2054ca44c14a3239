import type { HostState } from './host-state.js';
import type { Neighbours } from './placement-request.js';

/** A measure by which one host is better than another: more is better. */
export interface HostWeigher {
  /** What is measured. */
  readonly name: string;
  /** Its share in the sum. */
  readonly multiplier: number;
  /** The measure of one host, in whatever unit. */
  readonly weigh: (host: HostState, neighbours: Neighbours) => number;
}

/** Nova's weighers: the emptiest host is the best, and one that is as a server group wishes it. */
export const WEIGHERS: readonly HostWeigher[] = [
  { name: 'free vcpus', multiplier: 1, weigh: ({ free }) => free.vcpus },
  { name: 'free memory', multiplier: 1, weigh: ({ free }) => free.memoryMb },
  { name: 'free disk', multiplier: 1, weigh: ({ free }) => free.diskGb },
  // More than the others together: the fuller host would else never be the one that is wished.
  { name: 'soft (anti-)affinity', multiplier: 4, weigh: ({ host }, { wished }) => wished.get(host) ?? 0 },
];

/** The hosts, the best first; equally good ones by name, so that the same question has the same answer. */
export function weighHosts(hosts: readonly HostState[], neighbours: Neighbours): readonly HostState[] {
  const sums = new Map(hosts.map((host) => [host, 0]));
  for (const { multiplier, weigh } of WEIGHERS) {
    const weights = hosts.map((host) => weigh(host, neighbours));
    const least = Math.min(...weights);
    const range = Math.max(...weights) - least;
    if (range === 0) continue; // they are all alike in this
    for (const [index, host] of hosts.entries()) {
      const above = (weights[index] ?? least) - least;
      sums.set(host, (sums.get(host) ?? 0) + (multiplier * above) / range);
    }
  }
  return [...hosts].sort((a, b) => (sums.get(b) ?? 0) - (sums.get(a) ?? 0) || (a.host < b.host ? -1 : 1));
}
