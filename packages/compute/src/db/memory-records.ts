import { TypedEvents } from '@ebbgate/core';
import type { Instance, InstanceFields } from '../objects/instance.js';
import type { Migration, MigrationFields } from '../objects/migration.js';
import { type CellRepository, MemoryCells } from './cells.js';
import { type InstanceMappings, MemoryMappings } from './instance-mappings.js';
import type { LocalRecords } from './local-records.js';
import { tellOfInstance } from './instance-states.js';
import { MemoryAllocations } from './memory-allocations.js';
import { MemoryRepository } from './memory-repository.js';
import { MemoryServices } from './memory-services.js';
import { MemoryNetworkStore, type NetworkStore } from './network-store.js';
import type { AllocationRepository, ServiceRecord, ServiceRepository } from './repositories.js';
import type { StateEvent } from '../notifications/compute-event.js';
import { type ServiceNotifications, tellOfServices } from '../servicegroup/service-notifications.js';

/** What is told of the records: a copy of each after every change. */
export interface RecordEvents extends ServiceNotifications {
  /** One was created or changed. */
  instance: Instance;
  /** Its state has changed: what it is, or what is being done to it. */
  instanceState: StateEvent;
  /** One was created or changed. */
  migration: Migration;
  /** One has reported, or an operator has changed it. */
  service: ServiceRecord;
}

/** All records in memory, for one process; a database takes their place behind the same interface. */
export class MemoryRecords implements LocalRecords {
  /** One for each instance; gone when the process ends, as all here. */
  readonly instances: MemoryRepository<InstanceFields>;
  /** One for each attempt to move an instance. */
  readonly migrations: MemoryRepository<MigrationFields>;
  /** The last report of each service, by kind and host. */
  readonly services: ServiceRepository;
  /** What instances, and migrations, have of the hosts. */
  readonly allocations: AllocationRepository = new MemoryAllocations();
  /** The cells that there are. */
  readonly cells: CellRepository = new MemoryCells();
  /** In which cell each instance is. */
  readonly mappings: InstanceMappings = new MemoryMappings();
  /** What the fake network service knows. */
  readonly networks: NetworkStore = new MemoryNetworkStore();
  /** Tells of each write, after it, in the same turn. */
  readonly events: TypedEvents<RecordEvents>;

  /** @param onListenerError - told when a listener of `events` throws */
  constructor(onListenerError: (error: unknown, event: string) => void) {
    this.events = new TypedEvents(onListenerError);
    this.instances = new MemoryRepository<InstanceFields>(
      'instance',
      (record, before) => {
        tellOfInstance(this.events, record, before);
      },
      ['uuid', 'host'],
    );
    this.migrations = new MemoryRepository<MigrationFields>(
      'migration',
      (record) => {
        this.events.emit('migration', record);
      },
      ['uuid', 'instance_uuid', 'source_compute'],
    );
    const services = new MemoryServices((record) => {
      this.events.emit('service', record);
    });
    this.services = tellOfServices(services, (told) => this.events.emit(told.event_type, told));
  }

  /** Does nothing. */
  async close(): Promise<void> {
    // Nothing is open.
  }
}
