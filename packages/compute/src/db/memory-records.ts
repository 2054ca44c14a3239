import { TypedEvents } from '@ebbgate/core';
import type { Instance, InstanceFields } from '../objects/instance.js';
import type { Migration, MigrationFields } from '../objects/migration.js';
import { MemoryRepository } from './memory-repository.js';
import type { Records, ServiceRecord, ServiceRepository } from './repositories.js';

/** What is told of the records: a copy of each after every change. */
export interface RecordEvents {
  /** One was created or changed. */
  instance: Instance;
  /** One was created or changed. */
  migration: Migration;
  /** One has reported. */
  service: ServiceRecord;
}

class MemoryServices implements ServiceRepository {
  readonly #records = new Map<string, ServiceRecord>();
  readonly #onChange: (record: ServiceRecord) => void;

  constructor(onChange: (record: ServiceRecord) => void) {
    this.#onChange = onChange;
  }

  async report(record: ServiceRecord): Promise<void> {
    this.#records.set(`${record.binary}/${record.host}`, Object.freeze({ ...record }));
    this.#onChange(record);
  }

  async list(binary: string): Promise<readonly ServiceRecord[]> {
    const found = [...this.#records.values()].filter((record) => record.binary === binary);
    return found.sort((a, b) => (a.host < b.host ? -1 : 1));
  }
}

/** All records in memory, for one process; a database takes their place behind the same interface. */
export class MemoryRecords implements Records {
  /** One for each instance; gone when the process ends, as all here. */
  readonly instances: MemoryRepository<InstanceFields>;
  /** One for each attempt to move an instance. */
  readonly migrations: MemoryRepository<MigrationFields>;
  /** The last report of each service, by kind and host. */
  readonly services: ServiceRepository;
  /** Tells of each write, after it, in the same turn. */
  readonly events: TypedEvents<RecordEvents>;

  /** @param onListenerError - told when a listener of `events` throws */
  constructor(onListenerError: (error: unknown, event: string) => void) {
    this.events = new TypedEvents(onListenerError);
    this.instances = new MemoryRepository<InstanceFields>('instance', (record) => {
      this.events.emit('instance', record);
    });
    this.migrations = new MemoryRepository<MigrationFields>('migration', (record) => {
      this.events.emit('migration', record);
    });
    this.services = new MemoryServices((record) => {
      this.events.emit('service', record);
    });
  }
}
