import { type Kysely, type Migration, sql } from 'kysely';

const KEPT = [
  ...[
    'binary',
    'host',
    'uuid',
    'topic',
    'version',
    'state',
    'availability_zone',
    'disabled',
    'disabled_reason',
  ],
  ...['forced_down', 'report_count', 'started_at_ms', 'reported_at_ms'],
].map((name) => sql.ref(name));

/** Services have a number, which is never given again, and an epoch. Numbers need a table that is made with them. */
export function numberedServices(kind: 'sqlite' | 'postgresql'): Migration {
  return {
    up: async (db: Kysely<unknown>) => {
      await db.schema.alterTable('services').renameTo('services_before').execute();
      await db.schema
        .createTable('services')
        .addColumn('id', 'integer', (column) =>
          kind === 'sqlite'
            ? column.primaryKey().autoIncrement()
            : column.primaryKey().generatedByDefaultAsIdentity(),
        )
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
        .addColumn('epoch', 'integer', (column) => column.notNull())
        .addColumn('report_count', 'bigint', (column) => column.notNull())
        .addColumn('started_at_ms', 'bigint', (column) => column.notNull())
        .addColumn('reported_at_ms', 'bigint', (column) => column.notNull())
        .addColumn('drain', 'text')
        .addUniqueConstraint('services_by_binary_host', ['binary', 'host'])
        .execute();
      const columns = sql.join(KEPT);
      await sql`insert into services (${columns}, epoch) select ${columns}, forced_down from services_before order by reported_at_ms`.execute(
        db,
      );
      await db.schema.dropTable('services_before').execute();
    },
  };
}
