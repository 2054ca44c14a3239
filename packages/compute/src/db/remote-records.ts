import type { Transport } from '@ebbgate/core';
import { ValidationError } from '@ebbgate/rpc';
import { Instance } from '../objects/instance.js';
import { Migration } from '../objects/migration.js';
import {
  RECORD_METHODS,
  type RecordMethods,
  RECORDS_NAMESPACE,
  RECORDS_RPC_VERSION,
} from '../rpc/record-methods.js';
import { TableClient } from '../rpc/table-client.js';
import { RECORDS_TOPIC } from '../rpc/topics.js';
import type {
  InstanceRepository,
  MigrationRepository,
  Records,
  ServiceRecord,
  ServiceRepository,
} from './repositories.js';

type Client = TableClient<RecordMethods>;

/** How the records are reached. */
export interface RemoteRecordsOptions {
  /** Time-out of each request; default 60000. */
  readonly timeoutMs?: number;
}

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
    report: async ({ binary, host, state, reportedAtMs }) => {
      await client.call('service_report', { binary, host, state, reported_at_ms: reportedAtMs });
    },
    list: async (binary) => (await client.call('service_list', { binary })).map(serviceFrom),
  };
}

function serviceFrom(wire: unknown): ServiceRecord {
  const { binary, host, state, reported_at_ms: reportedAtMs } = wire as Record<string, unknown>; // looked at here
  if (
    typeof binary === 'string' &&
    typeof host === 'string' &&
    typeof state === 'string' &&
    typeof reportedAtMs === 'number'
  ) {
    return { binary, host, state, reportedAtMs };
  }
  throw new ValidationError('service_list', [{ path: '', message: 'must be records of services' }], {
    part: 'result',
  });
}
