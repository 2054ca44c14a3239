import { expect } from 'chai';
import { CompiledQuery, Kysely } from 'kysely';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { openSqlite } from '#compute/db/sql/sqlite-engine.js';

describe('rows of SQLite that become objects here', () => {
  let database: Kysely<unknown>;

  beforeEach(async () => {
    const { dialect } = await openSqlite(':memory:');
    database = new Kysely({ dialect });
    await run('create table t (id integer primary key, name text, part real, bytes blob)');
    await run('insert into t values (?, ?, ?, ?)', 1, 'ä', 0.5, Buffer.from([1, 2]));
    await run('insert into t (id) values (2)');
  });

  afterEach(() => database.destroy());

  async function run(text: string, ...values: unknown[]): Promise<readonly unknown[]> {
    return (await database.executeQuery(CompiledQuery.raw(text, values))).rows;
  }

  it('have their columns, values and order', async () => {
    expect(await run('select * from t order by id desc')).to.deep.equal([
      { id: 2, name: null, part: null, bytes: null },
      { id: 1, name: 'ä', part: 0.5, bytes: Buffer.from([1, 2]) },
    ]);
    expect(await run('select name from t where id = ?', 3)).to.deep.equal([]);
  });

  it('have the columns that were added after the statement was made', async () => {
    expect(await run('select * from t where id = 2')).to.have.length(1);
    await run(`alter table t add column later text default 'x'`);
    const [row] = await run('select * from t where id = 2');
    expect(row).to.deep.equal({ id: 2, name: null, part: null, bytes: null, later: 'x' });
  });

  it('come from writes that return some; others tell how many they have changed', async () => {
    expect(await run('update t set part = part + 1 where id = 1 returning part')).to.deep.equal([
      { part: 1.5 },
    ]);
    const { numAffectedRows } = await database.executeQuery(CompiledQuery.raw('delete from t'));
    expect(numAffectedRows).to.equal(2n);
  });
});
