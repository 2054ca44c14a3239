import type { InstanceMappings } from '../instance-mappings.js';
import type { SqlDatabase } from './sql-database.js';

/** The mappings, in an SQL database: that of the API. */
export class SqlMappings implements InstanceMappings {
  readonly #database: SqlDatabase;

  constructor(database: SqlDatabase) {
    this.#database = database;
  }

  async find(instanceUuid: string): Promise<string | undefined> {
    const row = await this.#database.read((db) =>
      db
        .selectFrom('instance_mappings')
        .select('cell')
        .where('instance_uuid', '=', instanceUuid)
        .executeTakeFirst(),
    );
    return row?.cell;
  }

  async set(instanceUuid: string, cell: string): Promise<void> {
    await this.#database.write((db) =>
      db
        .insertInto('instance_mappings')
        .values({ instance_uuid: instanceUuid, cell })
        .onConflict((conflict) => conflict.column('instance_uuid').doUpdateSet({ cell }))
        .execute(),
    );
  }

  async countIn(cell: string): Promise<number> {
    const row = await this.#database.read((db) =>
      db
        .selectFrom('instance_mappings')
        .select((select) => select.fn.countAll().as('count'))
        .where('cell', '=', cell)
        .executeTakeFirst(),
    );
    return Number(row?.count ?? 0);
  }
}
