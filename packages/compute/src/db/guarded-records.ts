import { aborted } from '../virt/pause.js';
import type {
  AllocationRepository,
  Expected,
  Records,
  Repository,
  ServiceRepository,
} from './repositories.js';

/** A repository that refuses everything once a signal has aborted. */
class GuardedRepository<Record, Fields> implements Repository<Record, Fields> {
  readonly #inner: Repository<Record, Fields>;
  readonly #lifetime: AbortSignal;

  constructor(inner: Repository<Record, Fields>, lifetime: AbortSignal) {
    this.#inner = inner;
    this.#lifetime = lifetime;
  }

  async create(record: Record): Promise<Record> {
    check(this.#lifetime);
    return this.#inner.create(record);
  }

  async get(uuid: string): Promise<Record> {
    check(this.#lifetime);
    return this.#inner.get(uuid);
  }

  async find(where: Partial<Fields>): Promise<readonly Record[]> {
    check(this.#lifetime);
    return this.#inner.find(where);
  }

  async update(uuid: string, changes: Partial<Fields>, expected?: Expected<Fields>): Promise<Record> {
    check(this.#lifetime);
    return this.#inner.update(uuid, changes, expected);
  }
}

function guardedServices(inner: ServiceRepository, lifetime: AbortSignal): ServiceRepository {
  return Object.freeze<ServiceRepository>({
    register: async (report) => {
      check(lifetime);
      return inner.register(report);
    },
    report: async (report) => {
      check(lifetime);
      return inner.report(report);
    },
    list: async (binary) => {
      check(lifetime);
      return inner.list(binary);
    },
    find: async (where) => {
      check(lifetime);
      return inner.find(where);
    },
    get: async (binary, host) => {
      check(lifetime);
      return inner.get(binary, host);
    },
    update: async (binary, host, changes) => {
      check(lifetime);
      return inner.update(binary, host, changes);
    },
    delete: async (binary, host) => {
      check(lifetime);
      await inner.delete(binary, host);
    },
  });
}

function guardedAllocations(inner: AllocationRepository, lifetime: AbortSignal): AllocationRepository {
  return Object.freeze<AllocationRepository>({
    report: async (host, total) => {
      check(lifetime);
      await inner.report(host, total);
    },
    forget: async (host) => {
      check(lifetime);
      await inner.forget(host);
    },
    capacities: async () => {
      check(lifetime);
      return inner.capacities();
    },
    claim: async (consumer, host, resources) => {
      check(lifetime);
      return inner.claim(consumer, host, resources);
    },
    transfer: async (from, to) => {
      check(lifetime);
      await inner.transfer(from, to);
    },
    release: async (consumer, host) => {
      check(lifetime);
      await inner.release(consumer, host);
    },
    find: async (where) => {
      check(lifetime);
      return inner.find(where);
    },
  });
}

function check(lifetime: AbortSignal): void {
  if (lifetime.aborted) throw aborted(lifetime);
}

/**
 * The records as one run of a service has them: after its end it can neither read nor write them, as a process that is
 * gone cannot. Everything then rejects with OperationAbortedError (`ERR_ABORTED`).
 */
export function guardRecords(records: Records, lifetime: AbortSignal): Records {
  return Object.freeze({
    instances: new GuardedRepository(records.instances, lifetime),
    migrations: new GuardedRepository(records.migrations, lifetime),
    services: guardedServices(records.services, lifetime),
    allocations: guardedAllocations(records.allocations, lifetime),
  });
}
