import type { Records, ServiceFilter, ServiceRecord } from '../db/repositories.js';
import type { ComputeApi } from '../rpc/compute-api.js';
import { answersOf } from './answering-cells.js';
import { badRequest, notFound } from './http-error.js';
import { clientBinary } from './service-view.js';

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
  /** Names of the cells that have answered; of one cell alone nothing is said. */
  readonly answering: ReadonlySet<string>;
}

type Where = Pick<ServiceFilter, 'binary' | 'host'>;

/** A service, and where it is. */
export interface FoundService {
  readonly cell: ServiceCell;
  readonly service: ServiceRecord;
}

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
    if (!this.#cells) {
      const services = await this.#own.records.services.find(where);
      return { services, unreachable: [], answering: new Set() };
    }
    const cells = await this.#cells.others('');
    const answers = await answersOf(cells, ({ records }) => records.services.find({}));
    const present = new Map(answers.map(({ cell, answer }) => [cell.name, answer]));
    const absent = [...this.#seen].flatMap(([name, services]) => (present.has(name) ? [] : services));
    for (const [name, services] of present) this.#seen.set(name, services);
    return {
      services: [...present.values()].flat().filter((one) => fits(one, where)),
      unreachable: absent.filter((one) => one.binary === 'compute' && fits(one, where)),
      answering: new Set(present.keys()),
    };
  }

  /** The one that fits, and where it is; undefined: none does. Rejects when a cell cannot be reached. */
  async findOne(where: ServiceFilter): Promise<FoundService | undefined> {
    for (const cell of (await this.#cells?.others('')) ?? [this.#own]) {
      const [service] = await cell.records.services.find(where);
      if (service) return { cell, service };
    }
    return undefined;
  }

  /** The compute service with this uuid. @throws HttpError 404; 400 for what is no host. Rejects as {@link findOne} */
  async compute(uuid: string): Promise<FoundService> {
    const found = await this.findOne({ uuid: uuid.toLowerCase() });
    if (!found) throw notFound(`Service ${uuid} not found.`);
    onlyComputes(found.service);
    return found;
  }
}

/** @throws HttpError 400 */
export function onlyComputes({ binary }: ServiceRecord): void {
  if (binary === 'compute') return;
  throw badRequest(
    `Updating a ${clientBinary(binary)} service is not supported. Only nova-compute services can be updated.`,
  );
}

function fits(service: ServiceRecord, { binary, host }: Where): boolean {
  return (binary ?? service.binary) === service.binary && (host ?? service.host) === service.host;
}
