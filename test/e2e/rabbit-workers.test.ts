import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTransport, type Transport } from '@ebbgate/core';
import { rabbitDriver } from '@ebbgate/driver-amqp';
import { ConductorApi, HypervisorDirectory, Liveness, RemoteRecords, Servers } from '@ebbgate/compute';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { RecordedJob } from '#compute/main-job/recorded-job.js';
import { DaemonProcess } from '../support/daemon-process.js';
import { eventually } from '../support/rigs/deadline.js';
import { sharedRabbit } from '../support/rigs/shared-rabbit.js';

const rabbit = await sharedRabbit();
const recorded = await RecordedJob.read({ freshIds: true });
const LIMIT_MS = 30_000;

/** Daemons on a virtual host of their own, and the API's side here. */
class Site {
  readonly folder: string;
  /** State folder of the hosts. */
  readonly guests: string;
  readonly transport: Transport;
  readonly records: RemoteRecords;
  readonly machines: HypervisorDirectory;
  readonly #servers: Servers;
  readonly #url: string;
  readonly #daemons: DaemonProcess[] = [];
  #number = 0;

  constructor(url: string, folder: string) {
    this.#url = url;
    this.folder = folder;
    this.transport = createTransport(url, { drivers: [rabbitDriver], controlExchange: 'nova' });
    this.records = new RemoteRecords(this.transport, { timeoutMs: 10_000 });
    this.guests = join(folder, 'guests');
    this.machines = new HypervisorDirectory(this.guests);
    this.#servers = new Servers({
      records: this.records,
      conductor: new ConductorApi(this.transport),
      liveness: new Liveness(),
    });
  }

  /** Resolves when all of it serves. */
  async start(...argv: string[]): Promise<DaemonProcess> {
    const daemon = new DaemonProcess(this.#url, argv);
    this.#daemons.push(daemon);
    const isHost = argv[0] === 'compute';
    await (isHost ? daemon.serves() : daemon.event(({ kind }) => kind === 'serves'));
    return daemon;
  }

  /** Asks for instances on any host; gives their uuids. */
  async boot(count: number): Promise<readonly string[]> {
    const boots = Array.from({ length: count }, async () => {
      this.#number += 1;
      const request = recorded.bootRequest(this.#number, '');
      request.requestSpec.update({ force_hosts: null });
      return (await this.#servers.boot(recorded.context, request)).get('uuid');
    });
    return Promise.all(boots);
  }

  async migrate(uuid: string, host: string | null): Promise<void> {
    await this.#servers.liveMigrate(recorded.context, uuid, host);
  }

  /** Resolves when all instances are active, each claimed once, and where its guest is. */
  async allActive(uuids: readonly string[]): Promise<void> {
    await eventually('all instances are active', LIMIT_MS, async () => {
      const active = await this.records.instances.find({ vm_state: 'active', task_state: null });
      return active.length === uuids.length;
    });
    for (const uuid of uuids) {
      const host = (await this.records.instances.get(uuid)).get('host');
      const claims = await this.records.allocations.find({ consumer: uuid });
      expect(claims.map((claim) => claim.host)).to.deep.equal([host]);
      expect(this.machines.locate(uuid)).to.deep.equal([host]);
    }
  }

  async dispose(): Promise<void> {
    for (const { child } of this.#daemons) child.kill('SIGKILL');
    await Promise.all(this.#daemons.map(({ ended }) => ended));
    await this.transport.close();
    await rm(this.folder, { recursive: true });
  }
}

async function withSite(work: (site: Site) => Promise<void>): Promise<void> {
  const site = new Site(await rabbit.vhost(), await mkdtemp(join(tmpdir(), 'ebbgate-test-')));
  try {
    await work(site);
  } finally {
    await site.dispose();
  }
}

/** Ids of the workers of a pool, in the order of their start. */
async function childrenOf({ child }: DaemonProcess): Promise<readonly number[]> {
  const pid = String(child.pid);
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8');
  return text.split(' ').filter(Boolean).map(Number);
}

describe('several workers of one daemon, on RabbitMQ', function () {
  this.timeout(90_000);

  it('share a topic, drain at one SIGTERM, and leave the rest to others: nothing is lost (GS-19, GS-20, GS-22, GS-101)', () =>
    withSite(async (site) => {
      const database = ['--database', `sqlite:///${join(site.folder, 'nova.sqlite')}`];
      const conductors = await site.start('conductor', '--name', 'c', '--workers', '2', ...database);
      const schedulers = await site.start('scheduler', '--name', 's', '--workers', '2');
      for (const host of ['h1', 'h2']) {
        await site.start('compute', '--host', host, '--state-dir', site.guests, '--boot-ms', '20');
      }
      expect((await site.records.services.list('conductor')).map(({ host }) => host)).to.deep.equal([
        'c-1',
        'c-2',
      ]);
      expect((await site.records.services.list('scheduler')).map(({ host }) => host)).to.deep.equal([
        's-1',
        's-2',
      ]);
      const uuids = [...(await site.boot(10))];
      const more = site.boot(10);
      const others = [
        site.start('conductor', '--name', 'd', ...database),
        site.start('scheduler', '--name', 't', ...database),
      ];
      await Promise.all(others);
      schedulers.child.kill('SIGTERM');
      conductors.child.kill('SIGTERM');
      uuids.push(...(await more), ...(await site.boot(10)));
      expect(await conductors.ended, conductors.log).to.deep.equal({ code: 0, signal: null });
      expect(await schedulers.ended, schedulers.log).to.deep.equal({ code: 0, signal: null });
      await site.allActive(uuids);
      expect((await site.records.services.get('conductor', 'c-1')).state).to.equal('exited');
    }));

  it('come back when one dies; the worker that has the records is the last to drain', () =>
    withSite(async (site) => {
      const conductors = await site.start(
        'conductor',
        '--name',
        'c',
        '--workers',
        '3',
        '--scheduler',
        'local',
        ...['--database', 'memory:'],
      );
      await site.start('compute', '--host', 'h1', '--state-dir', site.guests, '--boot-ms', '20');
      const uuids = [...(await site.boot(6))];
      await site.allActive(uuids);
      const [, second = 0] = await childrenOf(conductors);
      process.kill(second, 'SIGKILL');
      await eventually('another worker has taken its place', LIMIT_MS, async () => {
        const children = await childrenOf(conductors);
        return children.length === 3 && !children.includes(second);
      });
      uuids.push(...(await site.boot(6)));
      await site.allActive(uuids);
      conductors.child.kill('SIGTERM');
      expect(await conductors.ended, conductors.log).to.deep.equal({ code: 0, signal: null });
    }));
});

describe('all in one, on RabbitMQ', function () {
  this.timeout(90_000);

  it('drains the hosts first, while conductors and schedulers still serve: a migration under way is completed (GS-2, GS-72)', () =>
    withSite(async (site) => {
      const one = await site.start(
        ...['all-in-one', '--hosts', 'a,b,c', '--workers', '2', '--state-dir', site.guests],
        ...['--boot-ms', '20', '--migration-ms', '1500'],
      );
      const [uuid = ''] = await site.boot(1);
      await site.allActive([uuid]);
      const source = (await site.records.instances.get(uuid)).get('host');
      await site.migrate(uuid, null);
      await eventually('memory is copied', LIMIT_MS, async () => {
        const [migration] = await site.records.migrations.find({ instance_uuid: uuid });
        return (migration?.find('memory_processed') ?? 0) > 0;
      });
      one.child.kill('SIGTERM');
      expect(await one.ended, one.log).to.deep.equal({ code: 0, signal: null });
      const places = site.machines.locate(uuid);
      expect(places).to.have.length(1);
      expect(places).to.not.include(source);
      const statuses = one.events.flatMap((event) =>
        event.kind === 'record' ? [JSON.stringify(event.record)] : [],
      );
      expect(statuses.some((text) => text.includes('"status":"completed"'))).to.equal(true);
    }));
});
