import type { AllocationRepository, Resources } from '../db/repositories.js';
import type { VirtDriver } from '../virt/driver.js';

/** How often each resource of a machine may be given away. */
export interface AllocationRatios {
  /** Default 4: guests seldom all compute at once. */
  readonly vcpus: number;
  /** Default 1. */
  readonly memoryMb: number;
  /** Default 1. */
  readonly diskGb: number;
}

/** Nova's defaults. */
export const DEFAULT_RATIOS: AllocationRatios = Object.freeze({ vcpus: 4, memoryMb: 1, diskGb: 1 });

/** Tells what a host can give away: at its start, and when that changes. */
export class CapacityReport {
  readonly #allocations: AllocationRepository;
  readonly #virt: VirtDriver;
  readonly #ratios: AllocationRatios;
  #told: string | undefined;

  constructor(allocations: AllocationRepository, virt: VirtDriver, ratios: AllocationRatios) {
    this.#allocations = allocations;
    this.#virt = virt;
    this.#ratios = ratios;
  }

  /** Does nothing when the same was told before. */
  async tell(host: string): Promise<void> {
    const total = applied(await this.#virt.resources(), this.#ratios);
    const now = JSON.stringify(total);
    if (now === this.#told) return;
    await this.#allocations.report(host, total);
    this.#told = now;
  }
}

/** Whole units, so that nothing that is not there is given away. */
function applied(machine: Resources, ratios: AllocationRatios): Resources {
  return {
    vcpus: Math.floor(machine.vcpus * ratios.vcpus),
    memoryMb: Math.floor(machine.memoryMb * ratios.memoryMb),
    diskGb: Math.floor(machine.diskGb * ratios.diskGb),
  };
}
