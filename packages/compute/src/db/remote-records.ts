import type { Transport } from '@ebbgate/core';
import { Instance } from '../objects/instance.js';
import { Migration } from '../objects/migration.js';
import {
  RECORD_METHODS,
  type RecordMethods,
  RECORDS_NAMESPACE,
  RECORDS_RPC_VERSION,
} from '../rpc/record-methods.js';
import { allocationFrom, capacityFrom, serviceFrom, toWire } from '../rpc/record-wire.js';
import { TableClient, type TableClientOptions } from '../rpc/table-client.js';
import { RECORDS_TOPIC } from '../rpc/topics.js';
import type {
  AllocationRepository,
  InstanceRepository,
  MigrationRepository,
  Records,
  Resources,
  ServiceRepository,
} from './repositories.js';

type Client = TableClient<RecordMethods>;

/** How the records are reached. */
export type RemoteRecordsOptions = TableClientOptions;

/**
 * The records behind the same interfaces, read and written through the conductor that has them: what compute hosts use,
 * which have no database. Everything can also reject as `RpcClient.call` does; after a time-out (`ERR_TIMEOUT`) a write
 * may have happened.
 */
export class RemoteRecords implements Records {
  /** One for each instance; each method is one call to the conductor, as for all here. */
  readonly instances: InstanceRepository;
  /** One for each attempt to move an instance. */
  readonly migrations: MigrationRepository;
  /** The last report of each service. */
  readonly services: ServiceRepository;
  /** What instances, and migrations, have of the hosts. */
  readonly allocations: AllocationRepository;

  constructor(transport: Transport, options: RemoteRecordsOptions = {}) {
    const client = new TableClient(transport, RECORD_METHODS, {
      topic: RECORDS_TOPIC,
      namespace: RECORDS_NAMESPACE,
      version: RECORDS_RPC_VERSION,
      ...options,
    });
    this.instances = instancesThrough(client);
    this.migrations = migrationsThrough(client);
    this.services = servicesThrough(client);
    this.allocations = allocationsThrough(client);
  }
}

function instancesThrough(client: Client): InstanceRepository {
  return {
    create: (record) => client.call('instance_create', { record }),
    get: (uuid) => client.call('instance_get', { uuid }),
    find: (where) => client.call('instance_find', { where: Instance.create(where) }),
    update: (uuid, changes, expected = {}) =>
      client.call('instance_update', { uuid, changes: Instance.create(changes), expected }),
  };
}

function migrationsThrough(client: Client): MigrationRepository {
  return {
    create: (record) => client.call('migration_create', { record }),
    get: (uuid) => client.call('migration_get', { uuid }),
    find: (where) => client.call('migration_find', { where: Migration.create(where) }),
    update: (uuid, changes, expected = {}) =>
      client.call('migration_update', { uuid, changes: Migration.create(changes), expected }),
  };
}

function servicesThrough(client: Client): ServiceRepository {
  return {
    register: async (report) =>
      serviceFrom(await client.call('service_register', { report: toWire(report) })),
    report: async (report) => serviceFrom(await client.call('service_report', { report: toWire(report) })),
    list: async (binary) => (await client.call('service_list', { binary })).map(serviceFrom),
    find: async (where) => (await client.call('service_find', { where: toWire(where) })).map(serviceFrom),
    get: async (binary, host) => serviceFrom(await client.call('service_get', { binary, host })),
    update: async (binary, host, changes) =>
      serviceFrom(await client.call('service_update', { binary, host, changes: toWire(changes) })),
    delete: async (binary, host) => {
      await client.call('service_delete', { binary, host });
    },
  };
}

function allocationsThrough(client: Client): AllocationRepository {
  const flat = ({ vcpus, memoryMb, diskGb }: Resources) => ({ vcpus, memory_mb: memoryMb, disk_gb: diskGb });
  return {
    report: async (host, total) => {
      await client.call('capacity_report', { host, ...flat(total) });
    },
    forget: async (host) => {
      await client.call('capacity_forget', { host });
    },
    capacities: async () => (await client.call('capacity_list', {})).map(capacityFrom),
    claim: (consumer, host, resources) =>
      client.call('allocation_claim', { consumer, host, ...flat(resources) }),
    transfer: async (from, to) => {
      await client.call('allocation_transfer', { from_consumer: from, to_consumer: to });
    },
    release: async (consumer, host) => {
      await client.call('allocation_release', { consumer, host: host ?? null });
    },
    find: async ({ consumer, host }) => {
      const found = await client.call('allocation_find', { consumer: consumer ?? null, host: host ?? null });
      return found.map(allocationFrom);
    },
  };
}
