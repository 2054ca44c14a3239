import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigurationError, createTransport, silentLogger } from '@ebbgate/core';
import { Cell, ComputeApi, type ComputeApiOptions, openRecords, type RequestSpec } from '@ebbgate/compute';
import { expect } from 'chai';
import { after, describe, it } from 'mocha';
import { StoredCells } from '#compute/cells/stored-cells.js';
import { MemoryCells } from '#compute/db/cells.js';
import { hasCells, type OpenCells, openCells } from '#compute/main/conductor-cells.js';
import { readApiOptions, readConductorOptions } from '#compute/main/daemon-options.js';
import { RecordedJob } from '#compute/main-job/recorded-job.js';
import { CapturedLog } from '../support/captured-log.js';
import { rejectionOf } from '../support/deferred.js';
import { HttpBed } from '../unit/compute/http-bed.js';
import { codeOf } from '../unit/compute/test-cloud.js';

const FOLDER = mkdtempSync(join(tmpdir(), 'ebbgate-test-'));
const database = (name: string): string => `sqlite:///${join(FOLDER, name)}.sqlite`;
const API = database('api');
const SECRET = 'pa55word';

/** A conductor's cells, in the first of two; its own records are in memory. */
async function opened(flags: Record<string, string> = {}, api: ComputeApiOptions = {}): Promise<OpenCells> {
  const options = readConductorOptions({ cell: 'cell1', apiDatabase: API, ...flags });
  const records = await openRecords('memory:', { logger: silentLogger });
  const transport = createTransport('memory://daemon-cells/', {});
  return openCells(options, { records, transport, api, logger: silentLogger });
}

describe('the cells of a conductor that is a process', () => {
  after(() => {
    rmSync(FOLDER, { recursive: true });
  });

  for (const [what, flags, own, text] of [
    ['no API database', { cell: 'a' }, database('c'), '--cell and --api-database go together'],
    ['no cell', { apiDatabase: API }, database('c'), '--cell and --api-database go together'],
    [
      'no database',
      { cell: 'a', apiDatabase: API },
      undefined,
      '--cell needs a --database that other processes',
    ],
    [
      'one in memory',
      { cell: 'a', apiDatabase: 'memory:' },
      database('c'),
      '--cell needs a --api-database that',
    ],
  ] as const) {
    it(`are refused when there is ${what}`, () => {
      expect(() => hasCells(flags, own)).to.throw(ConfigurationError, text);
    });
  }

  it('are not needed when there is one', () => {
    expect(hasCells(readConductorOptions({}), undefined)).to.equal(false);
  });

  it('must know the one that it works in', async () => {
    const error = await rejectionOf(opened({ cell: 'cell9' }));
    expect(error).to.be.instanceOf(ConfigurationError);
    expect(error.message).to.match(/^There is no cell cell9: make it with ebbgate-compute cell create/);
  });

  it('are told by the API database; hosts there are down after --service-down-time, too (FD-9)', async () => {
    const [apiRecords, there] = await Promise.all(
      [API, database('cell2')].map((url) => openRecords(url, { logger: silentLogger })),
    );
    if (!apiRecords || !there) throw new TypeError('two were opened');
    for (const name of ['cell1', 'cell2']) {
      const cell = { name, transportUrl: `memory://daemon-${name}/`, databaseUrl: database(name) };
      await apiRecords.cells.save(new Cell(cell));
    }
    const reportedAtMs = Date.now() - 20_000;
    await there.services.register({ binary: 'compute', host: 'far', state: 'running', reportedAtMs });
    await there.allocations.report('far', { vcpus: 8, memoryMb: 8192, diskGb: 100 });
    const { requestSpec, instance } = (await RecordedJob.read()).bootRequest(1, 'far');
    const choose = async (flags: Record<string, string>): Promise<unknown> => {
      const { cells, close } = await opened(flags);
      const far = await cells.registry.get('cell2');
      const uuids = [instance.get('uuid')];
      const code = await codeOf(far.scheduler.selectDestinations({}, specOf(requestSpec), uuids));
      await close();
      return code;
    };
    expect(await choose({ serviceDownTime: '10' })).to.equal('ERR_NO_VALID_HOST');
    expect(await choose({})).to.equal(undefined);
    await Promise.all([apiRecords.close(), there.close()]);
  });

  it('read the version cap again, that of the cell of the conductor, too (GS-92)', async () => {
    const apiRecords = await openRecords(API, { logger: silentLogger });
    for (const name of ['cell1', 'cell2'])
      await apiRecords.cells.save(
        new Cell({ name, transportUrl: `memory://caps-${name}/`, databaseUrl: database(name) }),
      );
    let versionCap = '6.4';
    const { cells, refresh, close } = await opened({}, { versionCap, readVersionCap: () => versionCap });
    const topics = (): Promise<readonly string[]> =>
      Promise.all(
        (['cell1', 'cell2'] as const).map(async (name) => {
          const { computeApi } = await cells.registry.get(name);
          if (!(computeApi instanceof ComputeApi)) throw new TypeError('it is one');
          return computeApi.topicOf('live_migration_abort', 'far');
        }),
      );
    expect(await topics()).to.deep.equal(['compute', 'compute']);
    versionCap = '6.5';
    await refresh();
    expect(await topics()).to.deep.equal(['compute-ops', 'compute-ops']);
    await Promise.all([close(), apiRecords.close()]);
  });

  it('are shown together by an API, one that cannot be reached as unknown (FD-31)', async () => {
    const [apiRecords, here, there] = await Promise.all(
      [API, database('cell1'), database('cell2')].map((url) => openRecords(url, { logger: silentLogger })),
    );
    if (!apiRecords || !here || !there) throw new TypeError('three were opened');
    const save = (name: string, databaseUrl: string): Promise<void> =>
      apiRecords.cells.save(new Cell({ name, transportUrl: `memory://api-${name}/`, databaseUrl }));
    await save('cell1', database('cell1'));
    await save('cell2', database('cell2'));
    const uuids = new Map<string, string>();
    for (const [host, records] of [
      ['near', here],
      ['distant', there],
    ] as const) {
      const report = { binary: 'compute', host, state: 'running', reportedAtMs: Date.now() };
      uuids.set(host, (await records.services.register(report)).uuid);
    }
    const options = readApiOptions({ cell: 'cell1', apiDatabase: API, database: database('cell1') });
    expect(hasCells(options, options.database)).to.equal(true);
    const transport = createTransport('memory://api-cells/', {});
    const between = await openCells(options, { records: here, transport, api: {}, logger: silentLogger });
    const bed = new HttpBed({ records: here, cells: between.cells.registry });
    const shown = async (): Promise<readonly string[]> =>
      (await bed.listed('2.69'))
        .filter(({ host }) => uuids.has(String(host)))
        .map(({ host, status }) => `${String(host)} ${String(status)}`);
    expect(await shown()).to.deep.equal(['near enabled', 'distant enabled']);
    const change = await bed.send('PUT', `/v2.1/os-services/${uuids.get('distant') ?? ''}`, {
      version: '2.53',
      body: { forced_down: true },
    });
    expect(change.status).to.equal(200);
    expect((await there.services.get('compute', 'distant')).forcedDown).to.equal(true);
    await save('cell2', 'sqlite:////dev/null/away.sqlite');
    expect(await shown()).to.deep.equal(['near enabled', 'distant UNKNOWN']);
    await between.close();
    await Promise.all([apiRecords, here, there].map((one) => one.close()));
    await bed.close();
  });

  it('can change while it runs; one that cannot be reached keeps nobody from the others, and its URL is told to nobody', async () => {
    const cells = new MemoryCells();
    const log = new CapturedLog();
    const opens: string[] = [];
    const closed: string[] = [];
    const own = { name: 'cell1' } as never; // only its name is asked for here
    const source = new StoredCells({
      cells,
      own,
      logger: log,
      open: async ({ name, transportUrl }) => {
        opens.push(`${name} ${transportUrl}`);
        if (transportUrl.includes('broken')) throw new Error('connection refused');
        const close = async (): Promise<void> => void closed.push(name);
        return { access: { name } as never, refresh: () => Promise.resolve(), close };
      },
    });
    const save = (name: string, transportUrl: string): Promise<void> =>
      cells.save(new Cell({ name, transportUrl, databaseUrl: `postgresql://u:${SECRET}@h/n` }));
    const names = async (): Promise<readonly string[]> => (await source.all()).map(({ name }) => name);
    await save('cell1', 'own');
    await save('cell2', 'one');
    await save('cell3', `broken:${SECRET}`);
    expect(await names()).to.deep.equal(['cell1', 'cell2']);
    expect(await names()).to.deep.equal(['cell1', 'cell2']);
    expect(opens).to.deep.equal(['cell2 one', `cell3 broken:${SECRET}`, `cell3 broken:${SECRET}`]); // and not cell2 again
    await save('cell3', 'mended');
    await save('cell2', 'other');
    expect(await names()).to.deep.equal(['cell1', 'cell2', 'cell3']);
    expect(opens.slice(3).sort()).to.deep.equal(['cell2 other', 'cell3 mended']);
    await cells.remove('cell3');
    expect(await names()).to.deep.equal(['cell1', 'cell2']);
    expect(await codeOf(source.get('cell3'))).to.equal('ERR_NOT_FOUND');
    await source.close();
    expect(closed.sort()).to.deep.equal(['cell2', 'cell2', 'cell3']);
    expect(log.ordinaryText()).to.contain('A cell cannot be reached').and.not.contain(SECRET);
  });
});

function specOf(spec: RequestSpec): RequestSpec {
  return spec.clone().update({ force_hosts: null, requested_destination: null });
}
