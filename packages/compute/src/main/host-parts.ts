import type { ComputeHostOptions } from '../compute/host-options.js';
import type { FakeVirtOptions } from '../virt/fake.js';
import type { HostDaemonOptions } from './daemon-options.js';

/** What the options say of a compute host itself. */
export function hostParts(
  options: HostDaemonOptions,
): Pick<ComputeHostOptions, 'budgets' | 'limits' | 'opsTopic' | 'availabilityZone' | 'allocationRatios'> {
  const { opsServer, opsTopic, availabilityZone } = options;
  return {
    budgets: options.budgets,
    limits: {
      maxConcurrentBuilds: options.maxConcurrentBuilds,
      maxConcurrentLiveMigrations: options.maxConcurrentLiveMigrations,
      recheckMs: options.recheckInterval * 1000,
    },
    ...(opsTopic !== undefined && { opsTopic }),
    ...(!opsServer && { opsTopic: null }),
    ...(availabilityZone !== undefined && { availabilityZone }),
    allocationRatios: {
      vcpus: options.cpuAllocationRatio,
      memoryMb: options.ramAllocationRatio,
      diskGb: options.diskAllocationRatio,
    },
  };
}

/** What the options say of its hypervisor. */
export function virtParts({
  bootMs: spawnMs,
  migrationMs,
  vcpus,
  memoryMb,
  diskGb,
}: HostDaemonOptions): Pick<FakeVirtOptions, 'spawnMs' | 'migrationMs' | 'resources'> {
  return { spawnMs, migrationMs, resources: { vcpus, memoryMb, diskGb } };
}
