import type { Records, ServiceFilter, ServiceRecord } from '../db/repositories.js';
import type { ComputeApi } from '../rpc/compute-api.js';
import { isUnreachable } from './faults.js';

/** A cell, as far as its services are concerned. */
export interface ServiceCell {
  readonly records: Records;
  readonly computeApi: ComputeApi;
}

/** All cells that can be reached now, but for the one of this name: what a `CellRegistry` tells. */
export interface ServiceCells {
  others(name: string): Promise<readonly (ServiceCell & { readonly name: string })[]>;
}

/** What is known of a service whose cell cannot be reached. */
export type UnreachableService = Pick<ServiceRecord, 'binary' | 'host'>;

/** What was found. */
export interface ServiceSights {
  readonly services: readonly ServiceRecord[];
  /** Compute services of cells that cannot be reached now, as they were seen last. */
  readonly unreachable: readonly UnreachableService[];
}

type Where = Pick<ServiceFilter, 'binary' | 'host'>;

/** The services of all cells. One cell alone has to be reachable; of several, those that are answer. */
export class ServiceDirectory {
  readonly #own: ServiceCell;
  readonly #cells: ServiceCells | undefined;
  /** By the name of the cell. */
  readonly #seen = new Map<string, readonly ServiceRecord[]>();

  /** @param cells - all of them, if there are several */
  constructor(own: ServiceCell, cells: ServiceCells | undefined) {
    this.#own = own;
    this.#cells = cells;
  }

  /** By cell, then by number. Rejects as the records do when there is one cell, and it cannot be reached. */
  async list(where: Where): Promise<ServiceSights> {
    if (!this.#cells) return { services: await this.#own.records.services.find(where), unreachable: [] };
    const present = new Map<string, readonly ServiceRecord[]>();
    for (const { name, records } of await this.#cells.others('')) {
      try {
        present.set(name, await records.services.find({}));
      } catch (error) {
        if (!isUnreachable(error)) throw error;
      }
    }
    const absent = [...this.#seen].flatMap(([name, services]) => (present.has(name) ? [] : services));
    for (const [name, services] of present) this.#seen.set(name, services);
    return {
      services: [...present.values()].flat().filter((one) => fits(one, where)),
      unreachable: absent.filter((one) => one.binary === 'compute' && fits(one, where)),
    };
  }

  /** The one that fits, and where it is; undefined: none does. Rejects when a cell cannot be reached. */
  async findOne(
    where: ServiceFilter,
  ): Promise<{ readonly cell: ServiceCell; readonly service: ServiceRecord } | undefined> {
    for (const cell of (await this.#cells?.others('')) ?? [this.#own]) {
      const [service] = await cell.records.services.find(where);
      if (service) return { cell, service };
    }
    return undefined;
  }
}

function fits(service: ServiceRecord, { binary, host }: Where): boolean {
  return (binary ?? service.binary) === service.binary && (host ?? service.host) === service.host;
}
