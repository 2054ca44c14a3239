import { expect } from 'chai';
import { describe, it } from 'mocha';
import { createTransport, MessagingTimeoutError, silentLogger, type Transport } from '@ebbgate/core';
import { RpcClient } from '@ebbgate/rpc';
import {
  Flavor,
  Instance,
  type Instance as InstanceRecord,
  LocalScheduler,
  MemoryRecords,
  NoValidHostError,
  RemoteScheduler,
  RequestSpec,
  schedulerService,
  type SelectionObject,
} from '@ebbgate/compute';
import type { Service } from '@ebbgate/service';
import { objectSerializer } from '#compute/rpc/object-serializer.js';
import { type TestCloud, withCloud } from './test-cloud.js';

let brokers = 0;

/** Schedulers on one topic, each a service of its own, on records whose claims can be held back. */
class SchedulerPool {
  readonly transport: Transport;
  readonly records: MemoryRecords;
  readonly services: readonly Service[];
  readonly client: RemoteScheduler;
  /** Claims go on when this resolves. */
  gate: Promise<void> = Promise.resolve();
  claims = 0;
  readonly #own: Transport[] = [];

  constructor(size: number) {
    brokers += 1;
    const url = `memory://pool-${String(brokers)}/`;
    const open = (): Transport => {
      const transport = createTransport(url, { controlExchange: 'nova' });
      this.#own.push(transport);
      return transport;
    };
    this.transport = open();
    this.records = new MemoryRecords((error) => {
      throw error;
    });
    const { allocations } = this.records;
    const claim = allocations.claim.bind(allocations);
    allocations.claim = async (...args) => {
      this.claims += 1;
      await this.gate;
      return claim(...args);
    };
    this.client = new RemoteScheduler(this.transport);
    this.services = Array.from({ length: size }, (_, index) =>
      schedulerService({
        name: `s${String(index)}`,
        transport: open(),
        records: this.records,
        logger: silentLogger,
        siblings: true,
      }),
    );
  }

  async start(): Promise<void> {
    await this.transport.connect(); // a broker in memory is there as long as somebody is connected
    await this.host('a', 'east');
    await this.host('b', null);
    for (const service of this.services) await service.start();
  }

  async host(host: string, availabilityZone: string | null): Promise<void> {
    await this.records.allocations.report(host, { vcpus: 1000, memoryMb: 1_000_000, diskGb: 10_000 });
    const report = { binary: 'compute', host, state: 'running', reportedAtMs: Date.now() };
    await this.records.services.register({ ...report, availabilityZone });
  }

  /** Its services drained and its connections closed. */
  async end(): Promise<void> {
    await Promise.all(this.services.map((service) => service.drain('the end')));
    await Promise.all(this.#own.map((transport) => transport.close()));
  }
}

async function withPool(size: number, work: (pool: SchedulerPool) => Promise<void>): Promise<void> {
  const pool = new SchedulerPool(size);
  await pool.start();
  try {
    await work(pool);
  } finally {
    await pool.end();
  }
}

function spec(): RequestSpec {
  return RequestSpec.create({ flavor: Flavor.create({ vcpus: 1, memory_mb: 512, root_gb: 1 }) });
}

const names = (count: number): string[] => Array.from({ length: count }, (_, index) => `vm${String(index)}`);

describe('schedulers over RPC', () => {
  it('answer as the rules in the own process would: hosts, alternates, ignored and wished hosts', () =>
    withPool(1, async ({ client, records }) => {
      const local = new LocalScheduler({ records, logger: silentLogger });
      for (const options of [
        {},
        { alternates: 1 },
        { ignoreHosts: ['a'] },
        { onlyHosts: ['b'] },
        { onlyHosts: ['a', 'b'], ignoreHosts: ['a'], alternates: 2 },
      ]) {
        const remote = await client.selectDestinations({}, spec(), ['vm'], options);
        await records.allocations.release('vm');
        expect(remote).to.deep.equal(await local.selectDestinations({}, spec(), ['vm'], options));
        await records.allocations.release('vm');
      }
    }));

  it('tell that there is no host as the error that it is', () =>
    withPool(1, async ({ client }) => {
      const error: unknown = await client
        .selectDestinations({}, spec(), ['vm'], { onlyHosts: ['c'] })
        .catch((thrown: unknown) => thrown);
      expect(error).to.be.instanceOf(NoValidHostError);
      expect((error as Error).message).to.contain('2 not asked for');
    }));

  it('answer select_destinations 4.5 of Nova: lists of Selection, one each without alternates, dictionaries for old callers', () =>
    withPool(1, async ({ transport, records }) => {
      const client = new RpcClient(
        transport,
        { topic: 'scheduler', version: '4.5' },
        { serializer: objectSerializer },
      );
      const call = (objects: boolean, alternates: boolean): Promise<unknown> =>
        client.call({}, 'select_destinations', {
          spec_obj: spec(),
          instance_uuids: ['vm'],
          return_objects: objects,
          return_alternates: alternates,
        });
      const [list] = (await call(true, true)) as SelectionObject[][];
      expect(list).to.have.length(2);
      const [first] = list ?? [];
      const service = await records.services.get('compute', 'a');
      expect(Object.fromEntries(first?.entries() ?? [])).to.deep.include({
        compute_node_uuid: service.uuid,
        service_host: 'a',
        nodename: 'a',
        availability_zone: 'east',
        allocation_request: JSON.stringify({
          allocations: { [service.uuid]: { resources: { VCPU: 1, MEMORY_MB: 512, DISK_GB: 1 } } },
        }),
      });
      expect(((await call(true, false)) as unknown[][])[0]).to.have.length(1);
      expect(await call(false, false)).to.deep.equal([{ host: 'a', nodename: 'a', limits: {} }]);
    }));
});

describe('a question for hosts whose asker has given up', () => {
  it('leaves no claim behind, also when the claim was made too late (RPC-02, RPC-03)', () =>
    withPool(1, async (pool) => {
      let open: () => void = () => undefined;
      pool.gate = new Promise((resolve) => {
        open = resolve;
      });
      const impatient = new RemoteScheduler(pool.transport, { rpcTimeoutMs: 50 });
      const error: unknown = await impatient
        .selectDestinations({}, spec(), ['vm'])
        .catch((thrown: unknown) => thrown);
      expect(error).to.be.instanceOf(MessagingTimeoutError);
      open();
      await pool.services[0]?.registry.whenIdle();
      expect(pool.claims).to.equal(1);
      expect(await pool.records.allocations.find({})).to.deep.equal([]);
    }));
});

describe('several schedulers on one topic', () => {
  it('share the requests; one that is stopped in the middle answers what it has begun, the other takes the rest (GS-19, GS-20, GS-21, GS-22)', () =>
    withPool(2, async (pool) => {
      let open: () => void = () => undefined;
      pool.gate = new Promise((resolve) => {
        open = resolve;
      });
      const uuids = names(60);
      const asked = uuids.map((uuid) => pool.client.selectDestinations({}, spec(), [uuid]));
      const [first, second] = pool.services;
      if (!first || !second) throw new TypeError('two were made');
      const begun = new Promise<void>((resolve) => {
        first.registry.events.on('opened', () => {
          resolve();
        });
      });
      if (first.registry.size === 0) await begun;
      const drained = first.drain('SIGTERM');
      expect(first.registry.size).to.be.above(0);
      open();
      const report = await drained;
      expect(report.outcome).to.equal('clean');
      const late = names(80).slice(60);
      asked.push(...late.map((uuid) => pool.client.selectDestinations({}, spec(), [uuid])));
      const answers = await Promise.all(asked);
      expect(answers.every((lists) => lists[0]?.length === 1)).to.equal(true);
      for (const uuid of [...uuids, ...late]) {
        expect(await pool.records.allocations.find({ consumer: uuid }), uuid).to.have.length(1);
      }
      // Each request was begun once, by one of them.
      expect(pool.claims).to.equal(80);
      expect(second.registry.counts.failed).to.equal(0);
    }));

  it('leave what nobody has begun in the queue until one is there again (GS-16, GS-24, GS-101)', () =>
    withPool(1, async (pool) => {
      await pool.services[0]?.drain('SIGTERM');
      const waiting = pool.client.selectDestinations({}, spec(), ['vm']);
      const next = schedulerService({
        name: 's0',
        transport: createTransport(`memory://pool-${String(brokers)}/`, { controlExchange: 'nova' }),
        records: pool.records,
        logger: silentLogger,
      });
      await next.start();
      expect((await waiting)[0]?.[0]?.host).to.equal('a');
      await next.drain('the end');
    }));
});

/** Asks for instances on any host. */
async function bootMany(test: TestCloud, count: number): Promise<readonly string[]> {
  const boots = Array.from({ length: count }, async (_, index) => {
    const request = test.recorded.bootRequest(index + 2, '');
    request.requestSpec.update({ force_hosts: null });
    return (await test.cloud.servers.boot(test.recorded.context, request)).get('uuid');
  });
  return Promise.all(boots);
}

describe('several conductors on one topic', () => {
  for (const schedulers of [0, 2]) {
    const how =
      schedulers === 0 ? 'choosing hosts themselves' : 'asking schedulers, of which one is stopped too';
    it(`build all that was asked for when one is stopped in the middle, ${how} (GS-19, GS-20, GS-22, GS-101)`, () =>
      withCloud({ conductors: 2, schedulers, hosts: ['h1', 'h2', 'h3'] }, async (test) => {
        const uuids = [...(await bootMany(test, 25))];
        const [conductor] = test.cloud.conductors;
        const [scheduler] = test.cloud.schedulers;
        const drains = [conductor?.drain('SIGTERM'), scheduler?.drain('SIGTERM')];
        uuids.push(...(await bootMany(test, 15)));
        for (const report of await Promise.all(drains.filter((drain) => drain !== undefined))) {
          expect([report.outcome, report.unfinished]).to.deep.equal(['clean', []]);
        }
        uuids.push(...(await bootMany(test, 5)));
        const active: readonly InstanceRecord[] = await Promise.all(
          uuids.map((uuid) => test.becomes(uuid, 'active/-')),
        );
        expect(active).to.have.length(45);
        const builds = test.arrived.filter((one) => one.startsWith('build_and_run_instance'));
        expect(builds).to.have.length(45); // none twice
        for (const instance of active) {
          const uuid = instance.get('uuid');
          const claims = await test.cloud.records.allocations.find({ consumer: uuid });
          expect(claims.map(({ host }) => host)).to.deep.equal([instance.get('host')]);
          expect(test.cloud.hypervisors.locate(uuid)).to.deep.equal([instance.get('host')]);
        }
      }));
  }

  it('finish the migration that they have begun before they end, whoever else is there (GS-2, GS-22, GS-24)', () =>
    withCloud({ conductors: 1, hosts: ['h1', 'h2'] }, async (test) => {
      const uuid = await test.bootActive('h1');
      const check = test.virt('h2').steps.hold('check-destination');
      await test.migrate(uuid, 'h2');
      await check.reached;
      const [conductor] = test.cloud.conductors;
      const drained = conductor?.drain('SIGTERM');
      expect(conductor?.snapshot().tasks.map(({ name }) => name)).to.deep.equal(['live_migrate_instance']);
      check.release();
      expect((await drained)?.outcome).to.equal('clean');
      await test.migrationBecomes(uuid, 'completed');
      expect(Instance.is(await test.becomes(uuid, 'active/-'))).to.equal(true);
    }));
});
