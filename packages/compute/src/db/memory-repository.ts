import { RecordNotFoundError, UnexpectedStateError } from '../errors.js';
import type { NovaObject } from '../objects/nova-object.js';
import { applyChanges } from './apply-changes.js';
import { checkExpected, matches } from './expected.js';
import { FieldIndex } from './field-index.js';
import type { Expected, Repository } from './repositories.js';

/** What every record has. */
export interface Identified {
  /** The key of the record. */
  readonly uuid: string;
  /** Number of the record. */
  readonly id: number;
  /** Null until it is stored. */
  readonly created_at: Date | null;
  /** Null until it is changed. */
  readonly updated_at: Date | null;
  /** Deleted for users; the record is kept all the same. */
  readonly deleted: boolean;
}

/** Told after each write, with a copy of the record, and what it was before; a new one was nothing. */
export type OnChange<Fields extends object> = (
  record: NovaObject<Fields>,
  before: NovaObject<Fields> | undefined,
) => void;

/** Records in memory. Each operation is one step: nothing else runs between its check and its write. */
export class MemoryRepository<Fields extends Identified> implements Repository<NovaObject<Fields>, Fields> {
  readonly #kind: string;
  readonly #records = new Map<string, NovaObject<Fields>>();
  readonly #indexes: ReadonlyMap<keyof Fields & string, FieldIndex>;
  readonly #onChange: OnChange<Fields>;
  #nextId = 1;

  /** @param indexed - fields by which records are looked for often, with plain values */
  constructor(kind: string, onChange: OnChange<Fields>, indexed: readonly (keyof Fields & string)[] = []) {
    this.#kind = kind;
    this.#indexes = new Map(indexed.map((field) => [field, new FieldIndex()]));
    this.#onChange = onChange;
  }

  /**
   * Stores a copy with the next number as its `id`, and the present time as `created_at` unless it has one; resolves
   * with it as stored.
   * @throws UnexpectedStateError (`ERR_UNEXPECTED_STATE`) when the uuid is taken; FieldUnsetError (`ERR_FIELD_UNSET`)
   * when it has none
   */
  async create(record: NovaObject<Fields>): Promise<NovaObject<Fields>> {
    const uuid = record.get('uuid');
    if (this.#records.has(uuid)) throw new UnexpectedStateError(`There is a ${this.#kind} ${uuid} already`);
    const stored = record.pristine();
    const fresh: Partial<Identified> = {
      id: this.#nextId++,
      created_at: record.find('created_at') ?? new Date(),
    };
    stored.update(fresh as Partial<Fields>); // Fields has the members of Identified
    return this.#store(uuid, stored);
  }

  /**
   * A copy of the record.
   * @throws RecordNotFoundError (`ERR_NOT_FOUND`)
   */
  async get(uuid: string): Promise<NovaObject<Fields>> {
    return this.#require(uuid).pristine();
  }

  /**
   * Copies of all records whose fields have exactly these values (objects and dates never do), oldest first; deleted ones
   * only where `where` names `deleted`.
   */
  async find(where: Partial<Fields>): Promise<readonly NovaObject<Fields>[]> {
    const found = this.#candidates(where).filter((record) => matches(record, where));
    return found.map((record) => record.pristine());
  }

  /**
   * Writes some fields and `updated_at`; resolves with a copy of the record as it is then.
   * @throws RecordNotFoundError (`ERR_NOT_FOUND`); UnexpectedStateError (`ERR_UNEXPECTED_STATE`), and nothing was written
   */
  async update(
    uuid: string,
    changes: Partial<Fields>,
    expected: Expected<Fields> = {},
  ): Promise<NovaObject<Fields>> {
    const current = this.#require(uuid);
    checkExpected(this.#kind, uuid, current, expected);
    const stored = current.pristine();
    applyChanges(stored, changes);
    return this.#store(uuid, stored);
  }

  /** All records that may have these values, oldest first. */
  #candidates(where: Partial<Fields>): readonly NovaObject<Fields>[] {
    for (const [field, index] of this.#indexes) {
      const value: unknown = where[field];
      if (value === undefined) continue;
      const records = [...index.of(value)].map((uuid) => this.#require(uuid));
      return records.sort((one, other) => one.get('id') - other.get('id'));
    }
    return [...this.#records.values()];
  }

  #store(uuid: string, record: NovaObject<Fields>): NovaObject<Fields> {
    const before = this.#records.get(uuid);
    for (const [field, index] of this.#indexes) {
      if (before) index.remove(uuid, before.find(field));
      index.add(uuid, record.find(field));
    }
    this.#records.set(uuid, record);
    this.#onChange(record.pristine(), before);
    return record.pristine();
  }

  #require(uuid: string): NovaObject<Fields> {
    const record = this.#records.get(uuid);
    if (record === undefined) throw new RecordNotFoundError(this.#kind, uuid);
    return record;
  }
}
