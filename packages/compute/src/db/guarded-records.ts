import { aborted } from '../virt/pause.js';
import type { Expected, Records, Repository, ServiceRecord, ServiceRepository } from './repositories.js';

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

class GuardedServices implements ServiceRepository {
  readonly #inner: ServiceRepository;
  readonly #lifetime: AbortSignal;

  constructor(inner: ServiceRepository, lifetime: AbortSignal) {
    this.#inner = inner;
    this.#lifetime = lifetime;
  }

  async report(record: ServiceRecord): Promise<void> {
    check(this.#lifetime);
    await this.#inner.report(record);
  }

  async list(binary: string): Promise<readonly ServiceRecord[]> {
    check(this.#lifetime);
    return this.#inner.list(binary);
  }
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
    services: new GuardedServices(records.services, lifetime),
  });
}
