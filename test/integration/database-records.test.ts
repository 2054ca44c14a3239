import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTransport, silentLogger } from '@ebbgate/core';
import { conductorService, type LocalRecords, openRecords, RemoteRecords } from '@ebbgate/compute';
import { describe, it } from 'mocha';
import { recordsContract } from '../support/records/contract.js';
import { checkInstanceStates, checkServiceNotifications } from '../support/records/notifications.js';
import { sharedPostgres } from '../support/rigs/shared-postgres.js';

const postgres = await sharedPostgres();
let sites = 0;

async function withFile(work: (url: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'ebbgate-test-'));
  try {
    await work(`sqlite:///${join(folder, 'records.sqlite')}`);
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function withDatabase(url: string, work: (records: LocalRecords) => Promise<void>): Promise<void> {
  const records = await openRecords(url, { logger: silentLogger });
  try {
    await work(records);
  } finally {
    await records.close();
  }
}

recordsContract('in SQLite, in memory', (work) => withDatabase('sqlite::memory:', work));

recordsContract('in SQLite, in a file', (work) => withFile((url) => withDatabase(url, work)));

recordsContract('in PostgreSQL', async (work) => withDatabase(await postgres.database(), work));

recordsContract('over RPC, at two conductors that have one database (COMP-05, GS-19)', (work) =>
  withFile(async (database) => {
    sites += 1;
    const url = `memory://database-records-${sites}/`;
    const transport = createTransport(url);
    const conductors = await Promise.all(
      ['c1', 'c2'].map(async (name) => {
        const served = await openRecords(database, { logger: silentLogger });
        const parts = { name, transport: createTransport(url), records: { served }, logger: silentLogger };
        return conductorService({ ...parts, siblings: true }).service;
      }),
    );
    await Promise.all(conductors.map((service) => service.start()));
    try {
      await work(new RemoteRecords(transport, { timeoutMs: 10_000 }));
    } finally {
      await Promise.all(conductors.map((service) => service.drain('the test is over')));
      await transport.close();
    }
  }),
);

describe('records in a database', () => {
  it('tell of each change of a service, and of no heartbeat (FD-26)', () =>
    withDatabase('sqlite::memory:', checkServiceNotifications));

  it('tell of each change of the state of an instance, with the state before', () =>
    withDatabase('sqlite::memory:', checkInstanceStates));
});
