import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { ConfigurationError, silentLogger } from '@ebbgate/core';
import { Cell, DatabaseError, Instance, type LocalRecords, Migration, openRecords } from '@ebbgate/compute';
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import { CapturedLog } from '../support/captured-log.js';
import { Claimer } from '../support/records/claimer.js';
import { failureOf } from '../support/records/contract.js';
import { sharedPostgres } from '../support/rigs/shared-postgres.js';
import { openDatabase } from '../support/records/raw-database.js';

const postgres = await sharedPostgres();
const ONE = { vcpus: 1, memoryMb: 1, diskGb: 1 };

async function withRecords(url: string, work: (records: LocalRecords) => Promise<void>): Promise<void> {
  const records = await openRecords(url, { logger: silentLogger });
  try {
    await work(records);
  } finally {
    await records.close();
  }
}

/** What holds for both databases that outlive a process. */
function describeLasting(name: string, newDatabase: () => Promise<string>): void {
  describe(`a database in ${name}`, function () {
    this.timeout(20_000);

    it('keeps the records when the process ends', async () => {
      const url = await newDatabase();
      await withRecords(url, async ({ instances, services, allocations, cells }) => {
        await instances.create(Instance.create({ uuid: 'u', host: 'h', metadata: { a: '1' } }));
        await services.register({ binary: 'compute', host: 'h', state: 'running', reportedAtMs: 1 });
        await allocations.report('h', ONE);
        await allocations.claim('u', 'h', ONE);
        await cells.save(new Cell({ name: 'c', transportUrl: 'memory:', databaseUrl: 'memory:' }));
      });
      await withRecords(url, async ({ instances, services, allocations, cells }) => {
        expect((await instances.find({ host: 'h' })).map((one) => one.get('metadata')['a'])).to.deep.equal([
          '1',
        ]);
        expect(await services.list('compute')).to.have.length(1);
        expect(await allocations.find({ consumer: 'u' })).to.have.length(1);
        expect((await cells.get('c')).transportUrl).to.equal('memory:');
        await cells.save(new Cell({ name: 'c', transportUrl: 'other:', databaseUrl: 'memory:' }));
        expect((await cells.list()).map(({ transportUrl }) => transportUrl)).to.deep.equal(['other:']);
        await cells.remove('c');
        expect(await failureOf(cells.get('c'))).to.have.property('code', 'ERR_NOT_FOUND');
      });
    });

    it('keeps in which cell an instance is, and the last word counts', async () => {
      const url = await newDatabase();
      await withRecords(url, async ({ mappings }) => {
        expect(await mappings.find('u')).to.equal(undefined);
        await mappings.set('u', 'one');
        await mappings.set('u', 'two');
      });
      await withRecords(url, async ({ mappings }) => {
        expect(await mappings.find('u')).to.equal('two');
        expect([await mappings.countIn('one'), await mappings.countIn('two')]).to.deep.equal([0, 1]);
      });
    });

    it('is made once by several that start together, and not again', async () => {
      const url = await newDatabase();
      const log = new CapturedLog();
      const all = await Promise.all(Array.from({ length: 6 }, () => openRecords(url, { logger: log })));
      const workers = [new Claimer(url), new Claimer(url)];
      await Promise.all(workers.map((worker) => worker.word('ready')));
      for (const [number, { instances }] of all.entries())
        await instances.create(Instance.create({ uuid: `u${number}` }));
      expect(await all[0]?.instances.find({})).to.have.length(6);
      await Promise.all(all.map((records) => records.close()));
      for (const worker of workers) worker.kill();
      await Promise.all(workers.map(({ ended }) => ended));
      expect(log.at('info').map(({ fields }) => fields['taken'])).to.deep.equal([
        ['0001-records', '0002-services', '0003-forced-down-notes'],
      ]);
    });

    it('is refused, and left as it is, when a newer version has been at it', async () => {
      const url = await newDatabase();
      await withRecords(url, () => Promise.resolve());
      const raw = await openDatabase(url);
      await raw.run(
        `insert into schema_migrations (name, timestamp) values ('9999-future', '2099-01-01T00:00:00Z')`,
      );
      const error = await failureOf(openRecords(url, { logger: silentLogger }));
      expect(error).to.be.instanceOf(ConfigurationError);
      expect((error as Error).message).to.match(/newer than this program: it has 9999-future/);
      await raw.close();
    });

    it('grants 50 concurrent claims of two processes and two connections here no more than there is', async () => {
      const url = await newDatabase();
      const [one, two] = await Promise.all([
        openRecords(url, { logger: silentLogger }),
        openRecords(url, { logger: silentLogger }),
      ]);
      await one.allocations.report('h', { vcpus: 17, memoryMb: 1000, diskGb: 1000 });
      const workers = [new Claimer(url), new Claimer(url)];
      await Promise.all(workers.map((worker) => worker.word('ready')));
      for (const [number, worker] of workers.entries())
        worker.order({ kind: 'claim', prefix: `w${number}-`, count: 15 });
      const here = [one, two].flatMap(({ allocations }, number) =>
        Array.from({ length: 10 }, (_, claim) => allocations.claim(`c${number}-${claim}`, 'h', ONE)),
      );
      const granted = (await Promise.all(here)).filter(Boolean).length;
      const there = await Promise.all(workers.map((worker) => worker.word('granted')));
      expect(granted + there.reduce((sum, word) => sum + word.granted, 0)).to.equal(17);
      const [capacity] = await two.allocations.capacities();
      expect(capacity?.used.vcpus).to.equal(17);
      expect(await one.allocations.find({ host: 'h' })).to.have.length(17);
      await Promise.all([one.close(), two.close(), ...workers.map(({ ended }) => ended)]);
    });

    it('lets one of two connections win a compare-and-set (COMP-05)', async () => {
      const url = await newDatabase();
      const both = await Promise.all([1, 2].map(() => openRecords(url, { logger: silentLogger })));
      await both[0]?.instances.create(Instance.create({ uuid: 'u', task_state: null }));
      for (let round = 0; round < 10; round += 1) {
        const results = await Promise.allSettled(
          both.map(({ instances }) =>
            instances.update('u', { task_state: 'migrating' }, { task_state: [null] }),
          ),
        );
        expect(results.map(({ status }) => status).sort()).to.deep.equal(['fulfilled', 'rejected']);
        await both[1]?.instances.update('u', { task_state: null }, { task_state: ['migrating'] });
      }
      await Promise.all(both.map((records) => records.close()));
    });

    it('has whole changes only, the last one told at least, when a process that writes is killed', async () => {
      const url = await newDatabase();
      await withRecords(url, async ({ instances }) => {
        await instances.create(Instance.create({ uuid: 'u', host: '0', node: '0', memory_mb: 0 }));
        const writer = new Claimer(url);
        await writer.word('ready');
        writer.order({ kind: 'change', uuid: 'u' });
        await writer.word('changed', ({ number }) => number >= 20);
        writer.kill();
        await writer.ended;
        const told = writer.words.findLast((word) => word.kind === 'changed');
        const left = await instances.get('u');
        expect([left.get('host'), left.get('node')]).to.deep.equal(
          Array(2).fill(String(left.get('memory_mb'))),
        );
        expect(left.get('memory_mb')).to.be.at.least(told?.kind === 'changed' ? told.number : Infinity);
        await instances.update('u', { host: 'free' }); // the dead one holds no lock
      });
    });

    it('finds by indexes', async () => {
      const url = await newDatabase();
      await withRecords(url, () => Promise.resolve());
      const raw = await openDatabase(url);
      for (const [table, condition] of [
        ['instances', `host = 'h' and deleted = 0`],
        ['instances', `project_id = 'p' and deleted = 0`],
        ['instances', `uuid = 'u'`],
        ['instances', `vm_state = 'error'`],
        ['migrations', `instance_uuid = 'u' and deleted = 0`],
        ['migrations', `source_compute = 'h' and status = 'running'`],
        ['migrations', `dest_compute = 'h' and status = 'running'`],
        ['allocations', `consumer = 'u'`],
        ['allocations', `host = 'h'`],
      ] as const)
        expect(await raw.plan(`select * from ${table} where ${condition}`), condition).to.match(/index/i);
      await raw.close();
    });

    it('tells of the writes of this process, after they are there', async () => {
      await withRecords(await newDatabase(), async (records) => {
        const told: string[] = [];
        records.events.on('instance', (one) => told.push(`${one.get('uuid')} ${one.find('host') ?? '-'}`));
        records.events.on('migration', (one) => told.push(one.get('status')));
        records.events.on('service', ({ host, disabled }) => told.push(`${host} ${disabled}`));
        await records.instances.create(Instance.create({ uuid: 'u' }));
        await records.instances.update('u', { host: 'h' });
        await failureOf(records.instances.update('u', { host: 'x' }, { host: [null] }));
        await records.migrations.create(Migration.create({ uuid: 'm', status: 'accepted' }));
        await records.services.register({ binary: 'compute', host: 'h', state: 'running', reportedAtMs: 1 });
        await records.services.update('compute', 'h', { disabled: true });
        expect(told).to.deep.equal(['u -', 'u h', 'accepted', 'h false', 'h true']);
      });
    });

    it('keeps what the fake network service knows, one change after another', async () => {
      const url = await newDatabase();
      await withRecords(url, async ({ networks }) => {
        await withRecords(url, async ({ networks: others }) => {
          const add = (store: typeof networks) =>
            store.change('i', (state) => ({ count: (Number(state?.['count']) || 0) + 1 }));
          await Promise.all(
            Array.from({ length: 8 }, (_, number) => add(number % 2 === 0 ? networks : others)),
          );
          expect(await networks.read('i')).to.deep.include({ count: 8 });
          await networks.change('i', () => undefined);
          expect(await others.read('i')).to.equal(undefined);
        });
      });
    });

    it('refuses what it cannot hold, and everything once it is closed', async () => {
      const url = await newDatabase();
      await withRecords(url, async ({ instances }) => {
        const odd = Instance.create({ uuid: 'u', host: 'a\0b' });
        expect(await failureOf(instances.create(odd))).to.have.property('code', 'ERR_OBJECT');
        expect(await instances.find({ host: 'a\0b' })).to.deep.equal([]);
        expect(await failureOf(instances.get('a\0b'))).to.have.property('code', 'ERR_NOT_FOUND');
        expect(await instances.find({ id: 2 ** 40 })).to.deep.equal([]);
      });
      const records = await openRecords(url, { logger: silentLogger });
      await records.close();
      await records.close();
      const error = await failureOf(records.instances.find({}));
      expect(error).to.be.instanceOf(DatabaseError);
      expect((error as Error).message).to.match(/is closed$/);
    });
  });
}

let folder = '';
let files = 0;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'ebbgate-test-'));
});

after(async () => {
  await rm(folder, { recursive: true });
});

async function newFile(): Promise<string> {
  files += 1;
  return `sqlite:///${join(folder, `records ${files}.sqlite`).replaceAll(' ', '%20')}`;
}

describeLasting('SQLite', newFile);
describeLasting('PostgreSQL', () => postgres.database());

describe('a database in SQLite', () => {
  it('is readable by its owner only, as are its log and its index (SEC-02)', async () => {
    const url = await newFile();
    await withRecords(url, async ({ cells }) => {
      await cells.save(new Cell({ name: 'c', transportUrl: 'rabbit://u:secret@h/', databaseUrl: 'memory:' }));
      const file = decodeURI(url.slice('sqlite:///'.length));
      for (const each of [file, `${file}-wal`, `${file}-shm`])
        expect((await stat(each)).mode & 0o077, each).to.equal(0);
      expect((await readFile(`${file}-wal`)).includes('secret')).to.equal(true);
    });
  });

  it('is refused when there is no folder for it, with a word on slashes', async () => {
    const error = await failureOf(openRecords('sqlite:///no/such/folder/x.sqlite', { logger: silentLogger }));
    expect(error).to.be.instanceOf(ConfigurationError);
    expect((error as Error).message).to.match(
      /there is no folder .*\/no\/such\/folder.*three slashes are relative/,
    );
  });

  it('waits for another that writes, without holding up its process, and gives up in time', async () => {
    const url = await newFile();
    await withRecords(url, async ({ instances }) => {
      const raw = await openDatabase(url);
      await raw.run('begin immediate');
      const written = instances.create(Instance.create({ uuid: 'u' }));
      expect(await instances.find({})).to.deep.equal([]);
      await raw.run('commit');
      expect((await written).get('uuid')).to.equal('u');
      await raw.run('begin immediate');
      const impatient = await openRecords(url, { logger: silentLogger, patienceMs: 50 }).catch(
        (error: unknown) => error,
      );
      expect(impatient).to.be.instanceOf(DatabaseError);
      expect((impatient as Error).message).to.match(/is busy/);
      await raw.run('rollback');
      await raw.close();
    });
  });
});

describe('a database in PostgreSQL', () => {
  it('that refuses, or is not there, is named without its password (SEC-02)', async () => {
    const log = new CapturedLog();
    for (const [url, reason] of [
      [postgres.url('postgres', { password: 'hunter2' }), /has failed: password authentication failed/],
      [postgres.url('absent'), /has failed: database "absent" does not exist/],
      [postgres.url('postgres', { port: 1, password: 'hunter2' }), /cannot be reached: connect ECONNREFUSED/],
    ] as const) {
      const error = await failureOf(openRecords(url, { logger: log, patienceMs: 100 }));
      expect(error).to.be.instanceOf(DatabaseError);
      expect((error as Error).message)
        .to.match(reason)
        .and.to.contain('postgresql://127.0.0.1:');
      const shown = `${inspect(error, { depth: 10, showHidden: true })}${log.ordinaryText()}`;
      for (const secret of ['hunter2', postgres.password, encodeURIComponent(postgres.password)])
        expect(shown).to.not.contain(secret);
    }
  });
});
