import { inspect } from 'node:util';
import { ConfigurationError, silentLogger } from '@ebbgate/core';
import { Cell, MemoryRecords, openRecords } from '@ebbgate/compute';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { parseDatabaseUrl } from '#compute/db/database-url.js';
import { failureOf } from '../../support/records/contract.js';

describe('database URLs', () => {
  it('name memory, files relative or absolute, and servers', () => {
    expect(parseDatabaseUrl('memory:')).to.deep.equal({ kind: 'memory' });
    expect(parseDatabaseUrl('sqlite::memory:')).to.deep.equal({ kind: 'sqlite', file: ':memory:' });
    expect(parseDatabaseUrl('sqlite:///nova.sqlite')).to.deep.equal({ kind: 'sqlite', file: 'nova.sqlite' });
    expect(parseDatabaseUrl('sqlite:////var/lib/a%20b%3F.sqlite')).to.deep.equal({
      kind: 'sqlite',
      file: '/var/lib/a b?.sqlite',
    });
    expect(parseDatabaseUrl('postgresql://u:p%40ss@db.example:5433/nova?sslmode=require')).to.deep.equal({
      kind: 'postgresql',
      url: 'postgresql://u:p%40ss@db.example:5433/nova?sslmode=require',
      label: 'postgresql://db.example:5433/nova',
    });
    expect(parseDatabaseUrl('postgres:///nova?host=/run/postgresql')).to.have.property(
      'label',
      'postgresql:///nova',
    );
  });

  it('are refused with the reason and without the password, when they cannot be used (SEC-02)', () => {
    for (const [url, reason] of [
      ['', /no scheme/],
      ['nova.sqlite', /no scheme/],
      ['mysql://root:hunter2@h/nova', /mysql: is not known/],
      ['postgresql+psycopg2://u:hunter2@h/nova', /leave out the driver/],
      ['memory:x', /takes nothing/],
      ['sqlite:nova.sqlite', /sqlite:\/\/\/relative/],
      ['sqlite://nova.sqlite', /sqlite:\/\/\/relative/],
      ['sqlite:///', /sqlite:\/\/\/relative/],
      ['sqlite:///a?mode=ro', /without a query/],
      ['sqlite:///a%zz', /percent/],
      ['sqlite:///a%00b', /NUL/],
      ['postgresql:nova', /percent-encoded/],
      ['postgresql://u:hunter2@h', /name of one database/],
      ['postgresql://u:hunter2@h/', /name of one database/],
      ['postgresql://u:hunter2@h/a/b', /name of one database/],
      ['postgresql://u:hunter2@h:port/nova', /percent-encoded/],
      ['postgresql://u:hunter%zz2@h/nova', /percent/],
      ['postgresql://u:hunter2@h/nova#x', /fragment/],
    ] as const) {
      expect(() => parseDatabaseUrl(url), url).to.throw(ConfigurationError, reason);
      expect(() => parseDatabaseUrl(url), url).to.not.throw(/hunter/);
    }
  });

  it('open records in memory without any database', async () => {
    const records = await openRecords('memory:', { logger: silentLogger });
    expect(records).to.be.instanceOf(MemoryRecords);
    await records.close();
    expect(await failureOf(openRecords('nowhere:', { logger: silentLogger }))).to.be.instanceOf(
      ConfigurationError,
    );
  });
});

describe('cells in memory', () => {
  it('are kept by name, and show no URL to logs (SEC-02)', async () => {
    const { cells } = await openRecords('memory:', { logger: silentLogger });
    const urls = { transportUrl: 'rabbit://u:hunter2@h/', databaseUrl: 'postgresql://u:hunter2@h/n' };
    for (const name of ['two', 'one']) await cells.save(new Cell({ name, ...urls }));
    expect((await cells.list()).map(({ name }) => name)).to.deep.equal(['one', 'two']);
    const cell = await cells.get('one');
    expect([cell.transportUrl, cell.databaseUrl]).to.deep.equal([urls.transportUrl, urls.databaseUrl]);
    expect(`${inspect(cell)} ${JSON.stringify(cell)} ${cell.toString()}`).to.not.contain('hunter2');
    await cells.remove('one');
    expect(await failureOf(cells.get('one'))).to.have.property('code', 'ERR_NOT_FOUND');
  });
});
