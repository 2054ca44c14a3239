import type { InstanceMappings } from '../db/instance-mappings.js';
import { orUndefined } from '../db/or-undefined.js';
import type { AllocationRepository, Records, Repository, ServiceRepository } from '../db/repositories.js';
import { RecordNotFoundError, UnexpectedStateError } from '../errors.js';
import type { Instance, InstanceFields } from '../objects/instance.js';
import type { Migration, MigrationFields } from '../objects/migration.js';
import type { NovaObject } from '../objects/nova-object.js';
import type { CellAccess } from './cell-access.js';

/** What is needed of a cell to look at it. */
export type CellSight = Pick<CellAccess, 'name' | 'records'>;

/** A record, and the cell that has it. */
interface Found<Record> {
  readonly cell: CellSight;
  readonly record: Record;
}

/**
 * The records of several cells as if they were those of one: an instance and its migration are there once at each moment,
 * also while they are on their way from one cell to another. Changes go to the cell that has the record, or the host;
 * hosts of two cells must have different names. New instances and migrations are made in one of the cells, not here.
 */
export class UnitedRecords implements Records {
  readonly instances: Repository<Instance, InstanceFields>;
  readonly migrations: Repository<Migration, MigrationFields>;
  readonly services: ServiceRepository;
  readonly allocations: AllocationRepository;
  readonly #cells: readonly CellSight[];
  readonly #mappings: InstanceMappings;

  constructor(cells: readonly CellSight[], mappings: InstanceMappings) {
    this.#cells = cells;
    this.#mappings = mappings;
    this.instances = this.#united<InstanceFields>('instance', ({ instances }) => instances, 'uuid');
    this.migrations = this.#united<MigrationFields>(
      'migration',
      ({ migrations }) => migrations,
      'instance_uuid',
    );
    this.services = servicesOf(cells);
    this.allocations = allocationsOf(cells);
  }

  /** The name of the cell that an instance is in. @throws RecordNotFoundError (`ERR_NOT_FOUND`) */
  async cellOf(instanceUuid: string): Promise<string> {
    const mapped = await this.#mappings.find(instanceUuid);
    if (mapped !== undefined) return mapped;
    const [found] = await this.#copies(({ instances }) => orNone(instances.get(instanceUuid)));
    if (found) return found.cell.name;
    throw new RecordNotFoundError('instance', instanceUuid);
  }

  #united<
    Fields extends { readonly uuid: string; readonly created_at: Date | null; readonly hidden: boolean },
  >(
    kind: string,
    repositoryOf: (records: Records) => Repository<NovaObject<Fields>, Fields>,
    instanceField: keyof Fields & string,
  ): Repository<NovaObject<Fields>, Fields> {
    const one = async (uuid: string): Promise<Found<NovaObject<Fields>>> => {
      const copies = await this.#copies((records) => orNone(repositoryOf(records).get(uuid)));
      const found = copies.length < 2 ? copies[0] : await this.#present(copies, instanceField);
      if (found ?? copies[0]) return (found ?? copies[0]) as Found<NovaObject<Fields>>; // as just seen
      throw new RecordNotFoundError(kind, uuid);
    };
    return {
      create: () => Promise.reject(new UnexpectedStateError(`A new ${kind} is made in one of the cells`)),
      get: async (uuid) => (await one(uuid)).record,
      find: async (where) => {
        const copies = await this.#copies((records) => repositoryOf(records).find(where));
        const groups = new Map<string, Found<NovaObject<Fields>>[]>();
        for (const found of copies) {
          const uuid = found.record.get('uuid');
          groups.set(uuid, [...(groups.get(uuid) ?? []), found]);
        }
        const present = await Promise.all(
          [...groups.values()].map((group) => this.#present(group, instanceField)),
        );
        return present
          .flatMap((found) => (found ? [found.record] : []))
          .sort((a, b) => timeOf(a) - timeOf(b));
      },
      update: async (uuid, changes, expected) => {
        const { cell } = await one(uuid);
        return repositoryOf(cell.records).update(uuid, changes, expected);
      },
    };
  }

  async #copies<Record>(
    look: (records: Records) => Promise<readonly Record[]>,
  ): Promise<readonly Found<Record>[]> {
    const looks = this.#cells.map(async (cell) => {
      return (await look(cell.records)).map((record) => ({ cell, record }));
    });
    return (await Promise.all(looks)).flat();
  }

  /** The copy that counts: the one that is shown; while none is, or two are, that of the cell which the mapping names. */
  async #present<Fields extends { readonly hidden: boolean }>(
    copies: readonly Found<NovaObject<Fields>>[],
    instanceField: keyof Fields & string,
  ): Promise<Found<NovaObject<Fields>> | undefined> {
    const shown = copies.filter(({ record }) => record.find('hidden') !== true);
    const [first] = shown;
    if (first && shown.length === 1) return first;
    const [copy] = copies;
    const mapped = copy && (await this.#mappings.find(String(copy.record.get(instanceField))));
    const found = copies.find(({ cell }) => cell.name === mapped) ?? first;
    return found && { cell: found.cell, record: shownOf(found.record) };
  }
}

function shownOf<Fields extends { readonly hidden: boolean }>(
  record: NovaObject<Fields>,
): NovaObject<Fields> {
  const shown = { hidden: false } as Partial<Fields>; // Fields has `hidden`
  return record.clone().update(shown);
}

function timeOf(record: { find(name: 'created_at'): Date | null | undefined }): number {
  return record.find('created_at')?.getTime() ?? 0;
}

async function orNone<T>(found: Promise<T>): Promise<readonly T[]> {
  const one = await orUndefined(found);
  return one === undefined ? [] : [one];
}

function servicesOf(cells: readonly CellSight[]): ServiceRepository {
  const all = async <T>(
    look: (services: ServiceRepository) => Promise<readonly T[]>,
  ): Promise<readonly T[]> => (await Promise.all(cells.map(({ records }) => look(records.services)))).flat();
  const having = async (binary: string, host: string): Promise<ServiceRepository> => {
    for (const { records } of cells)
      if (await orUndefined(records.services.get(binary, host))) return records.services;
    throw new RecordNotFoundError(`service ${binary} of`, host);
  };
  return {
    register: () => Promise.reject(new UnexpectedStateError('A service registers in its own cell')),
    report: () => Promise.reject(new UnexpectedStateError('A service reports to its own cell')),
    list: async (binary) =>
      [...(await all((services) => services.list(binary)))].sort((a, b) => (a.host < b.host ? -1 : 1)),
    find: (where) => all((services) => services.find(where)),
    get: async (binary, host) => (await having(binary, host)).get(binary, host),
    update: async (binary, host, changes) => (await having(binary, host)).update(binary, host, changes),
    delete: async (binary, host) => (await having(binary, host)).delete(binary, host),
  };
}

function allocationsOf(cells: readonly CellSight[]): AllocationRepository {
  const each = async <T>(work: (allocations: AllocationRepository) => Promise<T>): Promise<readonly T[]> =>
    Promise.all(cells.map(({ records }) => work(records.allocations)));
  const at = async (host: string): Promise<AllocationRepository> => {
    for (const { records } of cells) {
      const known = await records.allocations.capacities();
      if (known.some((one) => one.host === host)) return records.allocations;
    }
    throw new RecordNotFoundError('capacity of host', host);
  };
  return {
    report: async (host, total) => (await at(host)).report(host, total),
    forget: async (host) => {
      await each((allocations) => allocations.forget(host));
    },
    capacities: async () => (await each((allocations) => allocations.capacities())).flat(),
    claim: async (consumer, host, resources) => (await at(host)).claim(consumer, host, resources),
    transfer: async (from, to) => {
      await each((allocations) => allocations.transfer(from, to));
    },
    release: async (consumer, host) => {
      await each((allocations) => allocations.release(consumer, host));
    },
    find: async (where) => (await each((allocations) => allocations.find(where))).flat(),
  };
}
