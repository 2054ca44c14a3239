import { decodeJson, encodeJson } from '@ebbgate/core';
import { ObjectFormatError } from '../../errors.js';
import { decodeObjects, encodeObjects } from '../../objects/codec.js';
import type { ObjectDefinition } from '../../objects/definition.js';
import { NovaObject } from '../../objects/nova-object.js';
import type { Identified } from '../memory-repository.js';
import type { ObjectColumns } from './schema.js';

/** Versioned objects of one kind, as rows. */
export interface ObjectTable<Fields extends Identified> {
  readonly table: 'instances' | 'migrations';
  /** Its word in errors. */
  readonly kind: string;
  readonly definition: ObjectDefinition<Fields>;
  /** Fields, all of them text or null, that have a column: what is searched and compared. */
  readonly texts: readonly (keyof Fields & string)[];
}

/** A row, its own columns included. */
export type ObjectRow = Omit<ObjectColumns, 'id'> & Readonly<Record<string, string | number | null>>;

/** Columns that every table has, and that are fields of the object besides. */
const OWN = ['id', 'uuid', 'deleted'];

/**
 * The columns for an object; its number has none yet.
 * @throws FieldUnsetError (`ERR_FIELD_UNSET`) when it has no uuid; ObjectFormatError (`ERR_OBJECT`) when a field with a
 * column is not of its kind
 */
export function rowOf<Fields extends Identified>(
  { kind, texts }: ObjectTable<Fields>,
  object: NovaObject<Fields>,
): ObjectRow {
  const columns = new Map<string, string | null>(texts.map((name) => [name, textOf(kind, object, name)]));
  const inColumns = new Set<string>([...OWN, ...texts]);
  const rest = [...object.entries()].filter(([name]) => !inColumns.has(name));
  const deleted = object.find('deleted') ?? false;
  if (typeof deleted !== 'boolean') throw new ObjectFormatError(`${kind}.deleted must be true or false`);
  object.get('uuid'); // it must have one
  return {
    uuid: textOf(kind, object, 'uuid') ?? '',
    ...Object.fromEntries(columns),
    deleted: deleted ? 1 : 0,
    object: encodeJson(encodeObjects(new NovaObject(object.identity, rest))),
    unset: JSON.stringify([...texts, 'deleted' as const].filter((name) => !object.has(name))),
  };
}

/** The object that a row is. */
export function objectOf<Fields extends Identified>(
  { definition, texts }: ObjectTable<Fields>,
  row: ObjectRow & { readonly id: number },
): NovaObject<Fields> {
  const stored = decodeObjects(decodeJson(row.object));
  if (!definition.is(stored))
    throw new ObjectFormatError(`${definition.name} ${row.uuid}: its row holds another object`);
  const unset = new Set(JSON.parse(row.unset) as string[]); // written by rowOf
  const columns = [...texts, 'deleted'].filter((name) => !unset.has(name));
  return new NovaObject<Fields>(stored.identity, [
    ['id', row.id],
    ['uuid', row.uuid],
    ...columns.map((name): [string, unknown] => [name, name === 'deleted' ? row.deleted === 1 : row[name]]),
    ...stored.entries(),
  ]);
}

function textOf<Fields extends Identified>(
  kind: string,
  object: NovaObject<Fields>,
  name: keyof Fields & string,
): string | null {
  const value: unknown = object.find(name) ?? null;
  if (value === null || isText(value)) return value;
  throw new ObjectFormatError(`${kind}.${name} must be text without NUL characters, or null`);
}

/** Text that both databases can hold. */
export function isText(value: unknown): value is string {
  return typeof value === 'string' && !value.includes('\0');
}
