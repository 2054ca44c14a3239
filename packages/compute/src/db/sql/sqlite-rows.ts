import type Sqlite from 'better-sqlite3';
import type { SqliteStatement } from 'kysely';

type Row = readonly unknown[];

/**
 * A statement whose rows cross from the native part as lists, and become objects here: that takes a third of the time of
 * objects that are made there. `columns` are read again when a migration has added one.
 */
export function fastStatement(statement: Sqlite.Statement): SqliteStatement {
  if (!statement.reader) return statement;
  const raw = statement.raw();
  let columns: readonly string[] = [];
  const toObject = (row: Row): Record<string, unknown> => {
    if (row.length !== columns.length) columns = statement.columns().map(({ name }) => name);
    const object: Record<string, unknown> = {}; // keyed by names of our own tables
    for (let at = 0; at < row.length; at += 1) object[columns[at] ?? ''] = row[at];
    return object;
  };
  return {
    reader: true,
    all: (parameters) => (raw.all(parameters) as Row[]).map(toObject), // raw rows are lists
    run: (parameters) => raw.run(parameters),
    *iterate(parameters) {
      for (const row of raw.iterate(parameters)) yield toObject(row as Row);
    },
  };
}
