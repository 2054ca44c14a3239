import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTransport, type Transport } from '@ebbgate/core';
import { rabbitDriver } from '@ebbgate/driver-amqp';
import { HypervisorDirectory, type Instance, type Migration, RemoteRecords } from '@ebbgate/compute';
import { RecordedJob } from '#compute/main-job/recorded-job.js';
import { DaemonProcess } from '../daemon-process.js';
import { rejectionOf } from '../deferred.js';
import { eventually, within } from './deadline.js';
import { type NovaArgs, type NovaPeer, startNovaPeer } from './python-nova.js';
import { OsloError } from './python-oslo.js';

const LIMIT_MS = 20_000;

/** The two hosts of {@link NovaCloud}. */
export const A = 'compute-a';
export const B = 'compute-b';

/** Our daemons on a broker, each a process, and Nova beside them: its API and its conductor are the test's, by its own client. */
export class NovaCloud {
  readonly nova: NovaPeer;
  readonly transport: Transport;
  readonly records: RemoteRecords;
  readonly hypervisors: HypervisorDirectory;
  readonly #folder: string;
  readonly #recorded: RecordedJob;
  readonly #daemons: ReadonlyMap<string, DaemonProcess>;
  #number = 0;

  private constructor(
    url: string,
    parts: {
      readonly nova: NovaPeer;
      readonly folder: string;
      readonly recorded: RecordedJob;
      readonly daemons: ReadonlyMap<string, DaemonProcess>;
    },
  ) {
    this.nova = parts.nova;
    this.#folder = parts.folder;
    this.#recorded = parts.recorded;
    this.#daemons = parts.daemons;
    this.transport = createTransport(url, { drivers: [rabbitDriver], controlExchange: 'nova' });
    this.records = new RemoteRecords(this.transport, { timeoutMs: 10_000 });
    this.hypervisors = new HypervisorDirectory(parts.folder);
  }

  /** Starts a conductor, a scheduler and two hosts. Nova may have to be installed: allow it some minutes. */
  static async start(url: string): Promise<NovaCloud> {
    const folder = await mkdtemp(join(tmpdir(), 'ebbgate-test-'));
    const daemons = new Map<string, DaemonProcess>();
    const start = async (name: string, ...argv: string[]): Promise<void> => {
      const daemon = new DaemonProcess(url, [...argv, '--ops-topic', 'compute-alt'], { limitMs: 300_000 });
      daemons.set(name, daemon);
      await daemon.serves();
    };
    const peer = startNovaPeer(url);
    await start('conductor', 'conductor', '--name', 'c1', '--scheduler', 'local');
    const host = ['--state-dir', folder, '--boot-ms', '20', '--migration-ms', '50'];
    await Promise.all([
      start('scheduler', 'scheduler', '--name', 's1'),
      start(A, 'compute', '--host', A, ...host),
      start(B, 'compute', '--host', B, ...host),
    ]);
    const recorded = await RecordedJob.read({ freshIds: true });
    return new NovaCloud(url, { nova: await peer, folder, recorded, daemons });
  }

  async stop(): Promise<void> {
    for (const { child } of this.#daemons.values()) child.kill('SIGKILL');
    const ended = [...this.#daemons.values()].map((daemon) => daemon.ended);
    await Promise.all([...ended, this.nova.python.kill(), this.transport.close()]);
    await rm(this.#folder, { recursive: true });
  }

  /** Ends a daemon in the middle of whatever it does. */
  async kill(name: string): Promise<void> {
    const daemon = this.#daemons.get(name);
    if (!daemon) throw new RangeError(`no daemon ${name}`);
    daemon.child.kill('SIGKILL');
    await daemon.ended;
  }

  /** A method of Nova's own client of compute hosts. */
  api(method: string, args: NovaArgs): Promise<unknown> {
    return within(`${method} of Nova`, LIMIT_MS, this.nova.api(method, args));
  }

  /** What Nova has raised. */
  async failureOf(promise: Promise<unknown>): Promise<OsloError> {
    const error = await rejectionOf(promise);
    if (error instanceof OsloError) return error;
    throw error;
  }

  /** Resolves when an instance is in a state, given as `vm/task`. */
  async becomes(uuid: string, state: string): Promise<Instance> {
    let instance = await this.records.instances.get(uuid);
    await eventually(`instance ${uuid} is ${state}`, LIMIT_MS, async () => {
      instance = await this.records.instances.get(uuid);
      return `${instance.get('vm_state')}/${instance.get('task_state') ?? '-'}` === state;
    });
    return instance;
  }

  async migrationBecomes(uuid: string, status: string): Promise<Migration> {
    let migration = await this.records.migrations.get(uuid);
    await eventually(`migration ${uuid} is ${status}`, LIMIT_MS, async () => {
      migration = await this.records.migrations.get(uuid);
      return migration.get('status') === status;
    });
    return migration;
  }

  /** Resolves when the guest is on just these hosts. */
  async located(uuid: string, hosts: readonly string[]): Promise<void> {
    await eventually(`guest ${uuid} is on ${hosts.join()}`, LIMIT_MS, async () => {
      return this.hypervisors.locate(uuid).join() === hosts.join();
    });
  }

  /** Stores what Nova's API and conductor would have stored, and has Nova send the build to a host; gives the uuid. */
  async build(
    host: string,
    first: (uuid: string) => Promise<void> = () => Promise.resolve(),
  ): Promise<string> {
    this.#number += 1;
    const { instance: wanted, requestSpec, image } = this.#recorded.bootRequest(this.#number, host);
    const stored = await this.records.instances.create(
      wanted.pristine().update({ vm_state: 'building', task_state: 'scheduling', host: null, node: null }),
    );
    await first(stored.get('uuid'));
    await this.api('build_and_run_instance', {
      instance: stored,
      host,
      image,
      request_spec: requestSpec,
      filter_properties: {},
      injected_files: [],
      requested_networks: null,
      security_groups: [],
      block_device_mapping: null,
      node: host,
      limits: null,
      host_list: [],
      accel_uuids: [],
    });
    return stored.get('uuid');
  }

  async buildActive(host: string): Promise<Instance> {
    return this.becomes(await this.build(host), 'active/-');
  }
}
