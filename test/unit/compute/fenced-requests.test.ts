import { expect } from 'chai';
import { describe, it } from 'mocha';
import { MemoryJournal } from '#compute/compute/request-journal.js';
import { RecordWatch } from '#compute/db/record-watch.js';
import { RecordedJob } from '#compute/main-job/recorded-job.js';
import { HostEpoch } from '#compute/servicegroup/host-epoch.js';
import { HypervisorNetwork } from '#compute/virt/hypervisor-network.js';
import { Liveness } from '#compute/servicegroup/liveness.js';
import { createTransport, silentLogger, type Transport } from '@ebbgate/core';
import type { Service } from '@ebbgate/service';
import {
  ComputeApi,
  ComputeHost,
  ConductorApi,
  conductorService,
  FakeVirtDriver,
  type Instance,
  InstanceActions,
  type Migration,
  type MigrationStatus,
  Moves,
  RemoteNetworking,
  RemoteRecords,
  Servers,
  type WatchedRecords,
} from '@ebbgate/compute';
import { eventually } from '../../support/rigs/deadline.js';
import { stateOf } from './resize-words.js';
import { DEST, SOURCE } from './test-cloud.js';

const LIMIT = { timeoutMs: 4000 };
let clouds = 0;

/** Two hosts that have their records from a conductor, and learn by refusals alone what is said of them. */
class Site {
  readonly recorded: RecordedJob;
  readonly own: WatchedRecords;
  readonly hosts: ReadonlyMap<string, ComputeHost>;
  readonly servers: Servers;
  readonly actions: InstanceActions;
  readonly moves: Moves;
  readonly states: string[] = [];
  readonly #conductor: Service;
  readonly #watch: RecordWatch;
  readonly #transport: Transport;

  private constructor(recorded: RecordedJob) {
    this.recorded = recorded;
    clouds += 1;
    const url = `memory://fenced-requests-${clouds}/`;
    const open = (): Transport => createTransport(url, { logger: silentLogger, controlExchange: 'nova' });
    const { service, own } = conductorService({
      name: 'conductor-1',
      transport: open(),
      records: 'memory',
      logger: silentLogger,
    });
    if (!own) throw new TypeError('the conductor has the records');
    this.#conductor = service;
    this.own = own;
    this.#transport = open();
    this.#watch = new RecordWatch(own);
    const network = new HypervisorNetwork();
    this.hosts = new Map([SOURCE, DEST].map((name) => [name, hostOf(name, open, network)]));
    const parts = {
      records: own,
      computeApi: new ComputeApi(this.#transport),
      conductor: new ConductorApi(this.#transport),
      networking: new RemoteNetworking(this.#transport),
      liveness: new Liveness(),
    };
    this.servers = new Servers(parts);
    this.actions = new InstanceActions(parts);
    this.moves = new Moves(parts);
    own.events.on('instance', (one) => {
      if (this.states.at(-1) !== stateOf(one)) this.states.push(stateOf(one));
    });
  }

  static async with(work: (site: Site) => Promise<void>): Promise<void> {
    const site = new Site(await RecordedJob.read());
    try {
      await site.#conductor.start();
      for (const host of site.hosts.values()) await host.start();
      await work(site);
    } finally {
      for (const host of site.hosts.values()) await host.terminate();
      await site.#conductor.drain('the test is over');
      await site.#transport.close();
    }
  }

  async boot(): Promise<string> {
    const request = this.recorded.bootRequest(1, SOURCE);
    return (await this.servers.boot(this.recorded.context, request)).get('uuid');
  }

  async bootActive(): Promise<string> {
    const uuid = await this.boot();
    await this.becomes(uuid, 'active/-');
    return uuid;
  }

  /** Between two looks of a host that runs. */
  async forceDownAndUp(host: string): Promise<void> {
    for (const forcedDown of [true, false]) await this.own.services.update('compute', host, { forcedDown });
  }

  async becomes(uuid: string, state: string): Promise<Instance> {
    return this.#watch.instance(uuid, (one) => stateOf(one) === state, LIMIT);
  }

  async migrationBecomes(uuid: string, status: MigrationStatus): Promise<Migration> {
    return this.#watch.migration(uuid, (one) => one.get('status') === status, LIMIT);
  }
}

function hostOf(name: string, openTransport: () => Transport, network: HypervisorNetwork): ComputeHost {
  const transport = openTransport();
  const epoch = new HostEpoch(name);
  const stamped = { interceptors: [epoch.stamp] };
  const networking = new RemoteNetworking(transport, stamped);
  return new ComputeHost({
    name,
    openTransport,
    epoch,
    records: new RemoteRecords(transport, stamped),
    networking,
    virt: new FakeVirtDriver(name, { network, networking, spawnMs: 0, migrationMs: 0 }),
    journal: new MemoryJournal(),
    reportIntervalMs: 60_000,
    limits: { recheckMs: 20 },
    logger: silentLogger,
  });
}

describe('what is asked of a host that was forced down and called up between two of its reports (decisions 5 and 31)', () => {
  it('is built, once: the run that is refused leaves it to the next', () =>
    Site.with(async (site) => {
      await site.forceDownAndUp(SOURCE);
      const uuid = await site.boot();
      await site.becomes(uuid, 'active/-');
      expect(site.states.filter((state) => state === 'building/spawning')).to.have.length(1);
      expect(site.hosts.get(SOURCE)?.runs).to.equal(2);
    }));

  for (const [what, state] of [
    ['stop', 'stopped/-'],
    ['snapshot', 'active/-'],
    ['delete', 'deleted/-'],
  ] as const)
    it(`is done when it is ${what}`, () =>
      Site.with(async (site) => {
        const uuid = await site.bootActive();
        await site.forceDownAndUp(SOURCE);
        await site.actions[what](site.recorded.context, uuid);
        await site.becomes(uuid, state);
        expect(site.hosts.get(SOURCE)?.runs).to.equal(2);
      }));

  it('is done when it is a cold migration to it', () =>
    Site.with(async (site) => {
      const uuid = await site.bootActive();
      await site.forceDownAndUp(DEST);
      await site.moves.migrate(site.recorded.context, uuid, DEST);
      await site.becomes(uuid, 'resized/-');
      expect((await site.own.instances.get(uuid)).get('host')).to.equal(DEST);
    }));

  it('is put back, as after a crash, when it is a cold migration from it that its records know', () =>
    Site.with(async (site) => {
      const uuid = await site.bootActive();
      await site.forceDownAndUp(SOURCE);
      await site.moves.migrate(site.recorded.context, uuid, DEST);
      await site.migrationBecomes(uuid, 'error');
      expect((await site.own.instances.get(uuid)).get('host')).to.equal(SOURCE);
      await eventually('its allocation is on the source alone', 3000, async () => {
        const allocations = await site.own.allocations.find({});
        return allocations.every(({ consumer, host }) => consumer === uuid && host === SOURCE);
      });
    }));
});
