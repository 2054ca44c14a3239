import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTransport, type Transport } from '@ebbgate/core';
import { rabbitDriver } from '@ebbgate/driver-amqp';
import { RpcClient, RpcServer } from '@ebbgate/rpc';
import {
  ComputeApi,
  ConductorApi,
  HypervisorDirectory,
  Instance,
  Liveness,
  RemoteRecords,
  Servers,
} from '@ebbgate/compute';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { DaemonEvent } from '#compute/main-job/daemon-events.js';
import { RecordedJob } from '#compute/main-job/recorded-job.js';
import { decodeObjects } from '#compute/objects/codec.js';
import { DaemonProcess } from '../support/daemon-process.js';
import { eventually } from '../support/rigs/deadline.js';
import { freePort } from '../support/rigs/free-port.js';
import { sharedRabbit } from '../support/rigs/shared-rabbit.js';

const rabbit = await sharedRabbit();
const recorded = await RecordedJob.read({ freshIds: true });
const A = 'compute-a';
const B = 'compute-b';
const LIMIT_MS = 20_000;

/** Daemons on a virtual host and a state folder of their own, and the API's side here. */
class Site {
  readonly vhost: string;
  readonly transport: Transport;
  readonly records: RemoteRecords;
  readonly servers: Servers;
  readonly machines: HypervisorDirectory;
  readonly #url: string;
  readonly #folder: string;
  readonly #daemons: DaemonProcess[] = [];
  #number = 0;

  constructor(url: string, folder: string) {
    this.#url = url;
    this.#folder = folder;
    this.vhost = new URL(url).pathname.slice(1);
    this.transport = createTransport(url, { drivers: [rabbitDriver], controlExchange: 'nova' });
    this.records = new RemoteRecords(this.transport, { timeoutMs: 10_000 });
    this.servers = new Servers({
      records: this.records,
      conductor: new ConductorApi(this.transport),
      liveness: new Liveness(),
    });
    this.machines = new HypervisorDirectory(folder);
  }

  /** Where hosts and conductors write what they have accepted. */
  journal(...path: readonly string[]): string {
    return readFileSync(join(this.#folder, ...path), 'utf8');
  }

  get folder(): string {
    return this.#folder;
  }

  async conductor(name: string, ...flags: string[]): Promise<DaemonProcess> {
    return this.#start(['conductor', '--name', name, '--scheduler', 'local', ...flags]);
  }

  async compute(host: string, ...flags: string[]): Promise<DaemonProcess> {
    return this.#start(['compute', '--host', host, '--state-dir', this.#folder, '--boot-ms', '20', ...flags]);
  }

  /** Asks for an instance; gives its uuid. */
  async boot(host: string): Promise<string> {
    this.#number += 1;
    const { context } = recorded;
    return (await this.servers.boot(context, recorded.bootRequest(this.#number, host))).get('uuid');
  }

  async becomes(uuid: string, isIt: (instance: Instance) => boolean): Promise<void> {
    await eventually(`instance ${uuid} comes into its state`, LIMIT_MS, async () => {
      return isIt(await this.records.instances.get(uuid));
    });
  }

  async bootActive(host: string): Promise<string> {
    const uuid = await this.boot(host);
    await this.becomes(uuid, (one) => one.get('vm_state') === 'active');
    return uuid;
  }

  /** Begins a live migration; resolves when memory is being copied. */
  async migrate(uuid: string, dest: string): Promise<void> {
    await this.servers.liveMigrate(recorded.context, uuid, dest);
    await eventually('the migration has begun', LIMIT_MS, async () => {
      const [migration] = await this.records.migrations.find({ instance_uuid: uuid });
      return (migration?.find('memory_processed') ?? 0) > 0;
    });
  }

  async #start(argv: readonly string[]): Promise<DaemonProcess> {
    const daemon = new DaemonProcess(this.#url, argv);
    this.#daemons.push(daemon);
    await daemon.serves();
    return daemon;
  }

  async dispose(): Promise<void> {
    for (const { child } of this.#daemons) child.kill('SIGKILL');
    await Promise.all(this.#daemons.map(({ ended }) => ended));
    await this.transport.close();
    await rm(this.#folder, { recursive: true });
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

/** What was done to an instance, as the records have told, in order. */
function taskStates({ events }: DaemonProcess, uuid: string): readonly unknown[] {
  return events.flatMap((event) => {
    const record = event.kind === 'record' ? decodeObjects(event.record) : undefined;
    return Instance.is(record) && record.get('uuid') === uuid ? [record.find('task_state')] : [];
  });
}

const stopped = (event: DaemonEvent): boolean =>
  event.kind === 'host' && event.why === 'server' && event.view.newRequest === 'stopped';

describe('compute daemons and conductors as processes, on RabbitMQ', function () {
  this.timeout(60_000);

  it('drains at SIGTERM: first the new-request server, the ops server while the migration lasts, then exit 0; a restart finds its guests (GS-25, GS-26, GS-28, GS-31, GS-32, GS-34, GS-35, GS-36, GS-37, GS-72)', () =>
    withSite(async (site) => {
      await site.conductor('c1');
      const [a] = await Promise.all([site.compute(A, '--migration-ms', '1500'), site.compute(B)]);
      const [staying, moving] = [await site.bootActive(A), await site.bootActive(A)];
      await site.migrate(moving, B);
      a.child.kill('SIGTERM');
      await a.event(stopped);
      const up = (topic: string): Promise<unknown> =>
        new RpcClient(site.transport, { topic, server: A, version: '6.0' }, { timeoutMs: 400 }).call(
          {},
          'get_host_uptime',
          {},
        );
      expect(await up('compute-ops')).to.match(/^up \d+ s$/);
      const refused = await up('compute').catch((error: unknown) => (error as { code?: string }).code);
      expect(refused).to.equal('ERR_TIMEOUT'); // it waits in the queue, and expires
      expect(await a.ended).to.deep.equal({ code: 0, signal: null });
      const [migration] = await site.records.migrations.find({ instance_uuid: moving });
      expect(migration?.get('status')).to.equal('completed');
      expect(site.machines.locate(moving)).to.deep.equal([B]);
      await site.compute(A);
      expect(site.machines.locate(staying)).to.deep.equal([A]);
      expect(site.machines.storeOf(A).state(staying)).to.equal('running');
    }));

  it('settles everything when the destination is killed in the middle of a migration (RPC-01, GS-102)', () =>
    withSite(async (site) => {
      await site.conductor('c1');
      const flags = ['--migration-ms', '600', '--rpc-response-timeout', '1'];
      const [a, b] = await Promise.all([site.compute(A, ...flags), site.compute(B, ...flags)]);
      const uuid = await site.bootActive(A);
      await site.migrate(uuid, B);
      b.child.kill('SIGKILL');
      expect(await b.ended).to.deep.equal({ code: null, signal: 'SIGKILL' });
      // The source's call to it ends with the call monitor, and the records say what has become of it.
      await site.becomes(uuid, (one) => one.get('task_state') === null);
      const instance = await site.records.instances.get(uuid);
      expect([instance.get('vm_state'), instance.get('host')]).to.deep.equal(['error', B]);
      await eventually('the migration is over', LIMIT_MS, async () => {
        const [migration] = await site.records.migrations.find({ instance_uuid: uuid });
        return migration?.get('status') === 'error';
      });
      expect(site.machines.locate(uuid)).to.deep.equal([B]); // as it is recorded
      a.child.kill('SIGTERM');
      expect((await a.ended).code).to.equal(0); // nothing of it is left in its tasks
    }));

  it('waits for the answer of a conductor no longer than --rpc-response-timeout, and asks again (COMP-07)', () =>
    withSite(async (site) => {
      const conductor = await site.conductor('c1');
      const compute = await site.compute(A, '--rpc-response-timeout', '1');
      const uuid = await site.bootActive(A);
      const instance = await site.records.instances.update(uuid, { task_state: 'powering-off' });
      conductor.child.kill('SIGSTOP'); // it takes what is sent to it, and does not answer
      await new ComputeApi(site.transport).cast({}, 'stop_instance', A, { instance, clean_shutdown: true });
      await eventually('the operation waits', LIMIT_MS, () =>
        compute.log.includes('The records do not answer: the operation waits'),
      );
      conductor.child.kill('SIGCONT');
      await site.becomes(uuid, (one) => one.get('vm_state') === 'stopped');
      expect(site.machines.storeOf(A).state(uuid)).to.equal('shutdown');
    }));

  it('has a host that is killed with -9 do at its next start what it had accepted, once (GS-76, decision 5)', () =>
    withSite(async (site) => {
      const conductor = await site.conductor('c1');
      const first = await site.compute(A, '--max-concurrent-builds', '1', '--boot-ms', '60000');
      const building = await site.boot(A);
      await site.becomes(building, (one) => one.get('task_state') === 'spawning');
      const accepted = await site.boot(A); // waits for its turn
      await eventually('it is in the journal', LIMIT_MS, () =>
        site.journal(A, 'requests.journal').includes(accepted),
      );
      first.child.kill('SIGKILL');
      await first.ended;
      expect((await site.records.instances.get(accepted)).get('task_state')).to.equal('scheduling');
      await site.compute(A);
      await site.becomes(accepted, (one) => one.get('vm_state') === 'active');
      await site.becomes(building, (one) => one.get('vm_state') === 'error'); // of which something was done
      expect(site.machines.locate(accepted)).to.deep.equal([A]);
      expect(taskStates(conductor, accepted).filter((one) => one === 'spawning')).to.have.length(1);
      await eventually('nothing is open', LIMIT_MS, () => site.journal(A, 'requests.journal') === '');
    }));

  it('has a conductor that is killed with -9 bring to its end what it had accepted, once (GS-76, decision 5)', () =>
    withSite(async (site) => {
      const kept = ['--state-dir', site.folder];
      const scheduler = new RpcServer(site.transport, { topic: 'scheduler', server: 'gone' }, [{}]);
      await scheduler.start();
      await scheduler.stop();
      await scheduler.wait();
      const first = await site.conductor('c1', ...kept, '--scheduler', 'rpc'); // and waits for an answer of it
      await site.compute(A);
      const uuid = await site.boot(A);
      await eventually('it is in the journal', LIMIT_MS, () =>
        site.journal('.conductors', 'c1.journal').includes(uuid),
      );
      first.child.kill('SIGKILL');
      await first.ended;
      const second = await site.conductor('c1', ...kept);
      await site.becomes(uuid, (one) => one.get('vm_state') === 'active');
      expect(site.machines.locate(uuid)).to.deep.equal([A]);
      expect(taskStates(second, uuid).filter((one) => one === 'spawning')).to.have.length(1);
      await eventually('nothing is open', LIMIT_MS, () => site.journal('.conductors', 'c1.journal') === '');
    }));

  it('has several conductors share their topic; one that stops under load loses no request (GS-19, GS-20)', () =>
    withSite(async (site) => {
      await site.conductor('c1');
      const [second] = await Promise.all([
        site.conductor('c2', '--records', 'rpc'),
        site.conductor('c3', '--records', 'rpc'),
        site.compute(A),
      ]);
      const queues = await rabbit.view.queues(site.vhost);
      expect(queues.find(({ name }) => name === 'conductor')).to.include({ consumers: 3 });
      const uuids: string[] = [];
      for (let count = 0; count < 24; count += 1) {
        uuids.push(await site.boot(A));
        if (count === 8) second.child.kill('SIGTERM');
      }
      for (const uuid of uuids) await site.becomes(uuid, (one) => one.get('vm_state') === 'active');
      expect(await second.ended).to.deep.equal({ code: 0, signal: null });
      expect(second.events.filter(({ kind }) => kind === 'sent').length).to.be.above(0);
      expect(new Set(uuids.map((uuid) => site.machines.locate(uuid).join()))).to.deep.equal(new Set([A]));
    }));

  it('answers /readyz, and refuses flags that are wrong with exit code 2', () =>
    withSite(async (site) => {
      const port = await freePort();
      const conductor = await site.conductor('c1', '--health', String(port));
      expect((await fetch(`http://127.0.0.1:${port}/readyz`)).status).to.equal(200);
      conductor.child.kill('SIGTERM');
      expect((await conductor.ended).code).to.equal(0);
      for (const [url, argv, message] of [
        ['memory:', ['conductor'], /memory: cannot be reached by other processes/],
        ['rabbit://h/', ['compute', '--state-dir', '/tmp', '--host', '../a'], /--host must be letters/],
        [
          'rabbit://h/',
          ['conductor', '--manager-shutdown-timeout', '200'],
          /must be less than graceful_shutdown/,
        ],
        ['rabbit://h/', ['conductor', '--records', 'disk'], /--records must be database or rpc/],
      ] as const) {
        const refused = new DaemonProcess(url, argv);
        expect((await refused.ended).code).to.equal(2);
        expect(refused.log).to.match(message);
      }
    }));
});
