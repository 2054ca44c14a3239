import { silentLogger } from '@ebbgate/core';
import { DatabaseError, Instance, type LocalRecords, openRecords } from '@ebbgate/compute';
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import { CapturedLog } from '../support/captured-log.js';
import { failureOf } from '../support/records/contract.js';
import { eventually } from '../support/rigs/deadline.js';
import { FaultProxy } from '../support/rigs/fault-proxy.js';
import { PostgresCluster } from '../support/rigs/postgres.js';

const ONE = { vcpus: 1, memoryMb: 1, diskGb: 1 };
const WRITERS = 4;
const CLAIMS = 400;

/** Begins work that goes on until the end of {@link during}; tells what came of it. */
class Load {
  /** By writer: the last number that was told to be written, and the last one that was tried. */
  readonly told: number[] = [];
  readonly tried: number[] = [];
  readonly granted = new Set<string>();
  /** Outcomes of what has failed. */
  readonly failures: DatabaseError[] = [];
  #stopped = false;
  readonly #work: Promise<unknown>;

  constructor(records: LocalRecords) {
    const writers = Array.from({ length: WRITERS }, (_, writer) => this.#write(records, writer));
    const claimers = Array.from({ length: 3 }, (_, claimer) => this.#claim(records, claimer));
    this.#work = Promise.all([...writers, ...claimers]);
  }

  /** Runs `work` beside it. */
  async during(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } finally {
      this.#stopped = true;
      await this.#work;
    }
  }

  async #write({ instances }: LocalRecords, writer: number): Promise<void> {
    for (let number = 1; !this.#stopped; number += 1) {
      this.tried[writer] = number;
      const text = String(number);
      const written = instances.update(`u${writer}`, { host: text, node: text, memory_mb: number });
      if (await this.#settled(written)) this.told[writer] = number;
    }
  }

  async #claim({ allocations }: LocalRecords, claimer: number): Promise<void> {
    for (let number = 0; !this.#stopped; number = (number + 1) % CLAIMS) {
      const consumer = `c${claimer}-${number}`;
      if (await this.#settled(allocations.claim(consumer, 'h', ONE))) this.granted.add(consumer);
    }
  }

  /** Whether it was done, as far as one was told. */
  async #settled(work: Promise<unknown>): Promise<boolean> {
    const result = await failureOf(work);
    if (result instanceof DatabaseError) this.failures.push(result);
    else if (result instanceof Error) throw result;
    return !(result instanceof Error) && result !== false;
  }
}

async function prepare({ instances, allocations }: LocalRecords): Promise<void> {
  await allocations.report('h', { vcpus: 900, memoryMb: 10_000, diskGb: 10_000 });
  for (let writer = 0; writer < WRITERS; writer += 1)
    await instances.create(Instance.create({ uuid: `u${writer}`, host: '0', node: '0', memory_mb: 0 }));
}

/** Every change is there as a whole or not at all; what was told to be there is. */
async function checkWhole(records: LocalRecords, load: Load): Promise<void> {
  for (let writer = 0; writer < WRITERS; writer += 1) {
    const left = await records.instances.get(`u${writer}`);
    const number = left.get('memory_mb');
    expect([left.get('host'), left.get('node')]).to.deep.equal([String(number), String(number)]);
    expect(number).to.be.at.least(load.told[writer] ?? 0);
    expect(number).to.be.at.most(load.tried[writer] ?? 0);
  }
  const found = await records.allocations.find({ host: 'h' });
  const present = new Set(found.map(({ consumer }) => consumer));
  for (const consumer of load.granted) expect(present.has(consumer), consumer).to.equal(true);
  const [capacity] = await records.allocations.capacities();
  expect(capacity?.used.vcpus).to.equal(found.length).and.to.be.at.most(900);
}

describe('records in a PostgreSQL that fails', function () {
  this.timeout(60_000);
  let cluster: PostgresCluster;

  before(async function () {
    this.timeout(60_000);
    cluster = await PostgresCluster.start();
  });

  after(async function () {
    this.timeout(30_000);
    await cluster.dispose();
  });

  it('are whole after each kill -9 of it, and reach it again by themselves (COMP-05)', async () => {
    const log = new CapturedLog();
    const records = await openRecords(await cluster.database(), { logger: log });
    await prepare(records);
    for (let round = 0; round < 3; round += 1) {
      const load = new Load(records);
      await load.during(async () => {
        await eventually('it is busy', 10_000, () => load.told.length === WRITERS && load.granted.size > 10);
        await cluster.kill();
        await cluster.start();
        const before = [...load.told];
        await eventually('all go on', 20_000, () =>
          load.told.every((number, writer) => number > (before[writer] ?? 0)),
        );
      });
      for (const failure of load.failures) expect(failure.outcome, failure.message).to.equal('unknown');
      await checkWhole(records, load);
      await records.allocations.release('c0-0');
    }
    expect(log.lines.map(({ message }) => message)).to.include.members([
      'The database cannot be reached; it is tried again',
      'The database can be reached again',
    ]);
    expect(log.ordinaryText()).to.not.contain(encodeURIComponent(cluster.password));
    await records.close();
  });

  it('wait for it while it restarts, and fail when that takes too long, with nothing done', async () => {
    const url = await cluster.database();
    const records = await openRecords(url, { logger: silentLogger });
    const impatient = await openRecords(url, { logger: silentLogger, patienceMs: 200 });
    await cluster.stop();
    const error = await failureOf(impatient.instances.create(Instance.create({ uuid: 'not' })));
    expect(error).to.be.instanceOf(DatabaseError);
    expect([(error as DatabaseError).outcome, (error as DatabaseError).code]).to.deep.equal([
      'not-sent',
      'ERR_DATABASE',
    ]);
    const created = records.instances.create(Instance.create({ uuid: 'u' }));
    const starting = openRecords(url, { logger: silentLogger });
    await cluster.start();
    expect((await created).get('uuid')).to.equal('u');
    const third = await starting;
    expect((await third.instances.find({})).map((one) => one.get('uuid'))).to.deep.equal(['u']);
    await Promise.all([records.close(), impatient.close(), third.close()]);
  });

  it('are whole when connections are cut at any byte, and say when they do not know', async () => {
    const proxy = await FaultProxy.start({ port: cluster.port });
    const url = await cluster.database();
    const records = await openRecords(url.replace(`:${cluster.port}/`, `:${proxy.port}/`), {
      logger: silentLogger,
    });
    await prepare(records);
    const load = new Load(records);
    const written = (): number => load.told.reduce((sum, number) => sum + number, 0);
    await load.during(async () => {
      for (let cut = 0; cut < 40; cut += 1) {
        const before = written();
        await eventually('it goes on', 20_000, () => written() > before + 5);
        for (const link of proxy.links) link.cut(cut % 2 === 0 ? 'rst' : 'fin');
      }
    });
    for (const failure of load.failures) expect(failure.outcome, failure.message).to.equal('unknown');
    await checkWhole(records, load);
    await records.close();
    await proxy.close();
  });
});
