import { UnexpectedStateError } from '../errors.js';
import type { Allocation, AllocationRepository, HostCapacity, Resources } from './repositories.js';

export const NO_RESOURCES: Resources = Object.freeze({ vcpus: 0, memoryMb: 0, diskGb: 0 });

/** Both together. */
export function sum(a: Resources, b: Resources): Resources {
  return { vcpus: a.vcpus + b.vcpus, memoryMb: a.memoryMb + b.memoryMb, diskGb: a.diskGb + b.diskGb };
}

/** Is there room in `total` for all of `wanted`? */
export function fits(wanted: Resources, total: Resources): boolean {
  return wanted.vcpus <= total.vcpus && wanted.memoryMb <= total.memoryMb && wanted.diskGb <= total.diskGb;
}

/** Something is allocated on the host. */
export function stillAllocated(host: string): UnexpectedStateError {
  return new UnexpectedStateError(`Something is allocated on ${host}`);
}

/** Allocations in memory. Each operation is one step: nothing else runs between its check and its write. */
export class MemoryAllocations implements AllocationRepository {
  readonly #totals = new Map<string, Resources>();
  /** By consumer, then host. */
  readonly #taken = new Map<string, Map<string, Resources>>();
  /** The consumers of each host: who counts what is used there looks at no others. */
  readonly #consumers = new Map<string, Set<string>>();

  async report(host: string, total: Resources): Promise<void> {
    this.#totals.set(host, copyOf(total));
  }

  async forget(host: string): Promise<void> {
    if (this.#on(host).size > 0) throw stillAllocated(host);
    this.#totals.delete(host);
  }

  async capacities(): Promise<readonly HostCapacity[]> {
    const names = [...this.#totals.keys()].sort();
    return names.map((host) => ({
      host,
      total: this.#totals.get(host) ?? NO_RESOURCES,
      used: this.#usedOn(host),
    }));
  }

  async claim(consumer: string, host: string, resources: Resources): Promise<boolean> {
    const total = this.#totals.get(host);
    if (total === undefined) return false;
    const own = this.#taken.get(consumer) ?? new Map<string, Resources>();
    if (sameSize(own.get(host), resources)) return true;
    if (!fits(sum(this.#usedOn(host, consumer), resources), total)) return false;
    own.set(host, copyOf(resources));
    this.#taken.set(consumer, own);
    this.#on(host).add(consumer);
    return true;
  }

  async transfer(from: string, to: string): Promise<void> {
    const moved = this.#taken.get(from);
    if (moved === undefined || from === to) return;
    const present = this.#taken.get(to) ?? new Map<string, Resources>();
    const both = [...moved.keys()].find((host) => present.has(host));
    if (both !== undefined) throw new UnexpectedStateError(`${to} has an allocation on ${both} already`);
    this.#taken.delete(from);
    this.#taken.set(to, new Map([...present, ...moved]));
    for (const host of moved.keys()) {
      this.#on(host).delete(from);
      this.#on(host).add(to);
    }
  }

  async release(consumer: string, host?: string): Promise<void> {
    const own = this.#taken.get(consumer);
    for (const one of host === undefined ? [...(own?.keys() ?? [])] : [host]) {
      own?.delete(one);
      this.#on(one).delete(consumer);
    }
    if (own?.size === 0) this.#taken.delete(consumer);
  }

  async find(where: { readonly consumer?: string; readonly host?: string }): Promise<readonly Allocation[]> {
    return [...this.#all()]
      .filter(({ consumer }) => where.consumer === undefined || consumer === where.consumer)
      .filter(({ host }) => where.host === undefined || host === where.host)
      .sort((a, b) => order(a.consumer, b.consumer) || order(a.host, b.host));
  }

  *#all(): Iterable<Allocation> {
    for (const [consumer, hosts] of this.#taken) {
      for (const [host, resources] of hosts) yield { consumer, host, resources };
    }
  }

  #usedOn(host: string, without?: string): Resources {
    let used = NO_RESOURCES;
    for (const consumer of this.#on(host)) {
      const resources = this.#taken.get(consumer)?.get(host);
      if (resources && consumer !== without) used = sum(used, resources);
    }
    return used;
  }

  #on(host: string): Set<string> {
    const consumers = this.#consumers.get(host) ?? new Set<string>();
    this.#consumers.set(host, consumers);
    return consumers;
  }
}

function copyOf({ vcpus, memoryMb, diskGb }: Resources): Resources {
  return Object.freeze({ vcpus, memoryMb, diskGb });
}

function sameSize(a: Resources | undefined, b: Resources): boolean {
  return a?.vcpus === b.vcpus && a.memoryMb === b.memoryMb && a.diskGb === b.diskGb;
}

function order(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
