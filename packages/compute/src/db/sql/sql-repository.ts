import type { Insertable, Updateable } from 'kysely';
import { RecordNotFoundError, UnexpectedStateError } from '../../errors.js';
import type { NovaObject } from '../../objects/nova-object.js';
import { applyChanges } from '../apply-changes.js';
import { checkExpected, matches } from '../expected.js';
import type { Identified, OnChange } from '../memory-repository.js';
import type { Expected, Repository } from '../repositories.js';
import { isText, objectOf, type ObjectRow, type ObjectTable, rowOf } from './object-table.js';
import type { Schema } from './schema.js';
import type { SqlDatabase, Writer } from './sql-database.js';

/** Largest number of a record that the column can hold. */
const MAX_ID = 2 ** 31 - 1;

/** Both tables of objects in one type: what is common to them. */
type Table = 'instances' | 'migrations';
type StoredRow = ObjectRow & { readonly id: number };

/**
 * Records in an SQL database. Each write is one transaction. Times are kept to the second, as they travel. `uuid` and
 * `id` of a record never change.
 */
export class SqlRepository<Fields extends Identified> implements Repository<NovaObject<Fields>, Fields> {
  readonly #database: SqlDatabase;
  readonly #table: ObjectTable<Fields>;
  readonly #onChange: OnChange<Fields>;

  constructor(database: SqlDatabase, table: ObjectTable<Fields>, onChange: OnChange<Fields>) {
    this.#database = database;
    this.#table = table;
    this.#onChange = onChange;
  }

  async create(record: NovaObject<Fields>): Promise<NovaObject<Fields>> {
    const wanted = record.pristine();
    const fresh: Partial<Identified> = { created_at: record.find('created_at') ?? new Date() };
    const row = rowOf(this.#table, wanted.update(fresh as Partial<Fields>)); // Fields has the members of Identified
    const inserted = await this.#database.write((db) =>
      db
        .insertInto<Table>(this.#table.table)
        .values(row as Insertable<Schema[Table]>) // its columns are those of the table
        .onConflict((conflict) => conflict.column('uuid').doNothing())
        .returning('id')
        .executeTakeFirst(),
    );
    if (!inserted) throw new UnexpectedStateError(`There is a ${this.#table.kind} ${row.uuid} already`);
    return this.#tell(objectOf(this.#table, stored(row, inserted.id)), undefined);
  }

  async get(uuid: string): Promise<NovaObject<Fields>> {
    const query = this.#database.kysely.selectFrom<Table>(this.#table.table).selectAll();
    const found = isText(uuid)
      ? await this.#database.read(() => query.where('uuid', '=', uuid).executeTakeFirst())
      : undefined;
    if (!found) throw new RecordNotFoundError(this.#table.kind, uuid);
    return objectOf(this.#table, found as StoredRow); // all columns of it
  }

  /** By the columns that there are, then by the objects themselves. */
  async find(where: Partial<Fields>): Promise<readonly NovaObject<Fields>[]> {
    const searched = this.#searched(where);
    if (!searched) return [];
    let query = this.#database.kysely.selectFrom<Table>(this.#table.table).selectAll();
    for (const [column, value] of searched) {
      const ref = this.#database.kysely.dynamic.ref<string>(column);
      query = value === null ? query.where(ref, 'is', null) : query.where(ref, '=', value);
    }
    const rows = await this.#database.read(() => query.orderBy('id').execute());
    const found = rows.map((row) => objectOf(this.#table, row as StoredRow)); // all columns of it
    return found.filter((record) => matches(record, where));
  }

  async update(
    uuid: string,
    changes: Partial<Fields>,
    expected: Expected<Fields> = {},
  ): Promise<NovaObject<Fields>> {
    const { updated, before } = await this.#database.write(async (db) => {
      const before = await this.#forUpdate(db, uuid);
      checkExpected(this.#table.kind, uuid, before, expected);
      const wanted = before.pristine();
      applyChanges(wanted, changes);
      const columns = { ...rowOf(this.#table, wanted), uuid }; // whatever the changes say
      const row = await db
        .updateTable<Table>(this.#table.table)
        .set(columns as Updateable<Schema[Table]>) // its columns are those of the table
        .where('uuid', '=', uuid)
        .returningAll()
        .executeTakeFirstOrThrow();
      return { updated: objectOf(this.#table, row as StoredRow), before }; // all columns of it
    });
    return this.#tell(updated, before);
  }

  async #forUpdate(db: Writer, uuid: string): Promise<NovaObject<Fields>> {
    const query = db.selectFrom<Table>(this.#table.table).selectAll().where('uuid', '=', uuid);
    const row = isText(uuid) ? await this.#database.locked(query).executeTakeFirst() : undefined;
    if (!row) throw new RecordNotFoundError(this.#table.kind, uuid);
    return objectOf(this.#table, row as StoredRow); // all columns of it
  }

  /** What columns must be; undefined when one cannot be that. */
  #searched(where: Partial<Fields>): Map<string, string | number | null> | undefined {
    const searched = new Map<string, string | number | null>([['deleted', where.deleted === true ? 1 : 0]]);
    const columns = new Set<string>(['id', 'uuid', ...this.#table.texts]);
    const wanted = Object.entries(where) as [string, unknown][]; // of a Partial<Fields>
    for (const [name, value] of wanted.filter(([name, given]) => columns.has(name) && given !== undefined)) {
      if (!(name === 'id' ? isNumberOfRecord(value) : value === null || isText(value))) return undefined;
      searched.set(name, value as string | number | null); // as just seen
    }
    return searched;
  }

  #tell(record: NovaObject<Fields>, before: NovaObject<Fields> | undefined): NovaObject<Fields> {
    this.#onChange(record.pristine(), before);
    return record;
  }
}

function stored(row: ObjectRow, id: number): StoredRow {
  return Object.assign({ id }, row); // a spread would lose the index signature
}

function isNumberOfRecord(value: unknown): boolean {
  return typeof value === 'number' && Number.isInteger(value) && Math.abs(value) <= MAX_ID;
}
