import { RecordNotFoundError } from '../../errors.js';
import { Cell, type CellRepository } from '../cells.js';
import type { SqlDatabase } from './sql-database.js';

interface CellRow {
  readonly name: string;
  readonly transport_url: string;
  readonly database_url: string;
}

/** The cells, in an SQL database: that of the API, which knows all of them. */
export class SqlCells implements CellRepository {
  readonly #database: SqlDatabase;

  constructor(database: SqlDatabase) {
    this.#database = database;
  }

  async save({ name, transportUrl, databaseUrl }: Cell): Promise<void> {
    const columns = { transport_url: transportUrl, database_url: databaseUrl };
    await this.#database.write((db) =>
      db
        .insertInto('cells')
        .values({ name, ...columns })
        .onConflict((conflict) => conflict.column('name').doUpdateSet(columns))
        .execute(),
    );
  }

  async get(name: string): Promise<Cell> {
    const row = await this.#database.read((db) =>
      db.selectFrom('cells').selectAll().where('name', '=', name).executeTakeFirst(),
    );
    if (!row) throw new RecordNotFoundError('cell', name);
    return cellOf(row);
  }

  async list(): Promise<readonly Cell[]> {
    const rows = await this.#database.read((db) => db.selectFrom('cells').selectAll().execute());
    return rows.map(cellOf).sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  async remove(name: string): Promise<void> {
    await this.#database.write((db) => db.deleteFrom('cells').where('name', '=', name).execute());
  }
}

function cellOf(row: CellRow): Cell {
  return new Cell({ name: row.name, transportUrl: row.transport_url, databaseUrl: row.database_url });
}
