import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLogger } from '@ebbgate/core';
import { firstTables } from '#compute/db/sql/migrations/0001-records.js';
import { numberedServices } from '#compute/db/sql/migrations/0002-services.js';
import { forcedDownNotes } from '#compute/db/sql/migrations/0003-forced-down-notes.js';
import { openPostgresql } from '#compute/db/sql/postgresql-engine.js';
import { openSqlite } from '#compute/db/sql/sqlite-engine.js';
import type { Engine } from '#compute/db/sql/engine.js';
import { expect } from 'chai';
import { Kysely, sql } from 'kysely';
import { describe, it } from 'mocha';
import { sharedPostgres } from '../support/rigs/shared-postgres.js';

const postgres = await sharedPostgres();

async function withSqlite(work: (engine: Engine) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'ebbgate-test-'));
  try {
    await work(await openSqlite(join(folder, 'old.sqlite')));
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function withPostgres(work: (engine: Engine) => Promise<void>): Promise<void> {
  await work(await openPostgresql(await postgres.database(), 'postgresql', silentLogger));
}

describe('tables of the first version', function () {
  this.timeout(20_000);

  for (const [name, withEngine] of [
    ['SQLite', withSqlite],
    ['PostgreSQL', withPostgres],
  ] as const) {
    it(`in ${name}: keep their services, which get numbers, and an epoch; whether one is forced down stays, by whom nobody knows (FD-7, decision 31, HTTP-05)`, () =>
      withEngine(async (engine) => {
        const db = new Kysely<unknown>({ dialect: engine.dialect });
        try {
          await firstTables(engine.kind).up(db);
          const service = (host: string, forcedDown: number) =>
            sql`insert into services values (${'compute'}, ${host}, ${`uuid-${host}`}, ${'compute'}, 66, ${'running'}, ${'z1'}, 1,
              ${'disks'}, ${forcedDown}, 7, 5000000000, ${forcedDown === 1 ? 1 : 2})`.execute(db);
          await service('well', 0);
          await service('fenced', 1);
          await numberedServices(engine.kind).up(db);
          await forcedDownNotes.up(db);
          const { rows } = await sql<Record<string, unknown>>`select * from services order by id`.execute(db);
          const same = {
            ...{
              binary: 'compute',
              topic: 'compute',
              version: 66,
              state: 'running',
              availability_zone: 'z1',
            },
            ...{ disabled: 1, disabled_reason: 'disks', report_count: 7, started_at_ms: 5_000_000_000 },
            ...{ drain: null, forced_down_note: null },
          };
          expect(rows).to.deep.equal([
            {
              ...same,
              id: 1,
              host: 'fenced',
              uuid: 'uuid-fenced',
              forced_down: 1,
              epoch: 1,
              reported_at_ms: 1,
            },
            { ...same, id: 2, host: 'well', uuid: 'uuid-well', forced_down: 0, epoch: 0, reported_at_ms: 2 },
          ]);
        } finally {
          await db.destroy();
        }
      }));
  }
});
