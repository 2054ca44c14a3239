import { type Logger, TypedEvents } from '@ebbgate/core';
import { Instance, type InstanceFields } from '../../objects/instance.js';
import { Migration, type MigrationFields } from '../../objects/migration.js';
import { tellOfServices } from '../../servicegroup/service-notifications.js';
import type { CellRepository } from '../cells.js';
import type { InstanceMappings } from '../instance-mappings.js';
import { tellOfInstance } from '../instance-states.js';
import type { LocalRecords } from '../local-records.js';
import type { RecordEvents } from '../memory-records.js';
import type { NetworkStore } from '../network-store.js';
import type {
  AllocationRepository,
  InstanceRepository,
  MigrationRepository,
  ServiceRepository,
} from '../repositories.js';
import type { Engine } from './engine.js';
import { migrate } from './migrate.js';
import type { ObjectTable } from './object-table.js';
import { StartPatience } from './patience.js';
import { SqlAllocations } from './sql-allocations.js';
import { SqlCells } from './sql-cells.js';
import { PATIENCE_MS, SqlDatabase, type SqlDatabaseOptions } from './sql-database.js';
import { SqlMappings } from './sql-mappings.js';
import { SqlNetworks } from './sql-networks.js';
import { SqlRepository } from './sql-repository.js';
import { SqlServices } from './sql-services.js';

const INSTANCES: ObjectTable<InstanceFields> = {
  table: 'instances',
  kind: 'instance',
  definition: Instance,
  texts: ['host', 'node', 'vm_state', 'task_state', 'user_id', 'project_id', 'availability_zone'],
};

const MIGRATIONS: ObjectTable<MigrationFields> = {
  table: 'migrations',
  kind: 'migration',
  definition: Migration,
  texts: ['instance_uuid', 'source_compute', 'dest_compute', 'status', 'migration_type'],
};

/** How they are opened. */
export interface OpenSqlOptions extends SqlDatabaseOptions {
  /** Waits for a database that is away, for ever. */
  readonly waits?: boolean;
}

/** All records in an SQL database, which other processes may have open too. */
export class SqlRecords implements LocalRecords {
  readonly instances: InstanceRepository;
  readonly migrations: MigrationRepository;
  readonly services: ServiceRepository;
  readonly allocations: AllocationRepository;
  readonly cells: CellRepository;
  readonly mappings: InstanceMappings;
  readonly networks: NetworkStore;
  readonly events: TypedEvents<RecordEvents>;
  readonly #database: SqlDatabase;

  private constructor(database: SqlDatabase, logger: Logger) {
    this.#database = database;
    this.events = new TypedEvents((error, event) => {
      logger.error({ err: error, event }, 'A listener to the records failed');
    });
    this.instances = new SqlRepository(database, INSTANCES, (record, before) => {
      tellOfInstance(this.events, record, before);
    });
    this.migrations = new SqlRepository(database, MIGRATIONS, (record) =>
      this.events.emit('migration', record),
    );
    const services = new SqlServices(database, (record) => this.events.emit('service', record));
    this.services = tellOfServices(services, (told) => this.events.emit(told.event_type, told));
    this.allocations = new SqlAllocations(database);
    this.cells = new SqlCells(database);
    this.mappings = new SqlMappings(database);
    this.networks = new SqlNetworks(database);
  }

  /** Brings the tables up to date first. Rejects as `openRecords` does. */
  static async open(engine: Engine, options: OpenSqlOptions): Promise<SqlRecords> {
    const database = new SqlDatabase(engine, options);
    try {
      const { waits = false, logger, patienceMs: busyMs = PATIENCE_MS } = options;
      const patience = waits ? new StartPatience({ label: engine.label, logger, busyMs }) : undefined;
      const taken = await database.read(() => migrate(database.kysely, engine), patience);
      if (taken.length > 0)
        logger.info({ database: engine.label, taken }, 'The tables were brought up to date');
      return new SqlRecords(database, logger);
    } catch (error) {
      await database.close();
      throw error;
    }
  }

  async close(): Promise<void> {
    await this.#database.close();
  }
}
