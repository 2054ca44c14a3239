import type { CreateTableBuilder, Kysely, Migration } from 'kysely';

/** No column of ours has a type of its own here: the tables are made as text and numbers. */
type AnyTable = CreateTableBuilder<string>;

/** The tables of the first version. */
export function firstTables(kind: 'sqlite' | 'postgresql'): Migration {
  const withId = (table: AnyTable): AnyTable =>
    kind === 'sqlite'
      ? table.addColumn('id', 'integer', (column) => column.primaryKey().autoIncrement())
      : table.addColumn('id', 'integer', (column) => column.primaryKey().generatedByDefaultAsIdentity());
  return {
    up: async (db: Kysely<unknown>) => {
      const objects = { db, withId };
      await objectTable(objects, 'instances', [
        ['host', 'node', 'vm_state', 'task_state', 'user_id', 'project_id', 'availability_zone'],
        [['host', 'deleted'], ['project_id', 'deleted'], ['vm_state'], ['deleted']],
      ]);
      await objectTable(objects, 'migrations', [
        ['instance_uuid', 'source_compute', 'dest_compute', 'status', 'migration_type'],
        [
          ['instance_uuid'],
          ['source_compute', 'status'],
          ['dest_compute', 'status'],
          ['status'],
          ['deleted'],
        ],
      ]);
      await servicesTable(db);
      await allocationTables(db);
      await plainTables(db);
    },
  };
}

async function objectTable(
  { db, withId }: { readonly db: Kysely<unknown>; readonly withId: (table: AnyTable) => AnyTable },
  name: string,
  [texts, indexes]: readonly [readonly string[], readonly (readonly string[])[]],
): Promise<void> {
  let table = withId(db.schema.createTable(name))
    .addColumn('uuid', 'text', (column) => column.notNull().unique())
    .addColumn('deleted', 'integer', (column) => column.notNull())
    .addColumn('object', 'text', (column) => column.notNull())
    .addColumn('unset', 'text', (column) => column.notNull()) as AnyTable;
  for (const text of texts) table = table.addColumn(text, 'text');
  await table.execute();
  for (const columns of indexes) {
    await db.schema
      .createIndex(`${name}_by_${columns.join('_')}`)
      .on(name)
      .columns([...columns])
      .execute();
  }
}

async function servicesTable(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('services')
    .addColumn('binary', 'text', (column) => column.notNull())
    .addColumn('host', 'text', (column) => column.notNull())
    .addColumn('uuid', 'text', (column) => column.notNull().unique())
    .addColumn('topic', 'text', (column) => column.notNull())
    .addColumn('version', 'integer', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('availability_zone', 'text')
    .addColumn('disabled', 'integer', (column) => column.notNull())
    .addColumn('disabled_reason', 'text')
    .addColumn('forced_down', 'integer', (column) => column.notNull())
    .addColumn('report_count', 'bigint', (column) => column.notNull())
    .addColumn('started_at_ms', 'bigint', (column) => column.notNull())
    .addColumn('reported_at_ms', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('services_key', ['binary', 'host'])
    .execute();
}

async function allocationTables(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('capacities')
    .addColumn('host', 'text', (column) => column.notNull().primaryKey())
    .addColumn('vcpus', 'double precision', (column) => column.notNull())
    .addColumn('memory_mb', 'double precision', (column) => column.notNull())
    .addColumn('disk_gb', 'double precision', (column) => column.notNull())
    .execute();
  await db.schema
    .createTable('allocations')
    .addColumn('consumer', 'text', (column) => column.notNull())
    .addColumn('host', 'text', (column) => column.notNull().references('capacities.host'))
    .addColumn('vcpus', 'double precision', (column) => column.notNull())
    .addColumn('memory_mb', 'double precision', (column) => column.notNull())
    .addColumn('disk_gb', 'double precision', (column) => column.notNull())
    .addPrimaryKeyConstraint('allocations_key', ['consumer', 'host'])
    .execute();
  await db.schema.createIndex('allocations_by_host').on('allocations').column('host').execute();
}

async function plainTables(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('cells')
    .addColumn('name', 'text', (column) => column.notNull().primaryKey())
    .addColumn('transport_url', 'text', (column) => column.notNull())
    .addColumn('database_url', 'text', (column) => column.notNull())
    .execute();
  await db.schema
    .createTable('instance_mappings')
    .addColumn('instance_uuid', 'text', (column) => column.notNull().primaryKey())
    .addColumn('cell', 'text', (column) => column.notNull())
    .execute();
  await db.schema
    .createTable('networks')
    .addColumn('instance_uuid', 'text', (column) => column.notNull().primaryKey())
    .addColumn('state', 'text', (column) => column.notNull())
    .execute();
}
