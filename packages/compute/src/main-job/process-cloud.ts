import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type Transport, TypedEvents, within } from '@ebbgate/core';
import type { InstanceActions } from '../api/actions.js';
import type { Moves } from '../api/moves.js';
import type { Rebuilds } from '../api/rebuilds.js';
import { RemoteApi } from '../api/remote-api.js';
import type { Servers } from '../api/servers.js';
import type { RecordEvents } from '../db/memory-records.js';
import type { WatchedRecords } from '../db/record-watch.js';
import { RemoteNetworking } from '../network/remote.js';
import { decodeObjects } from '../objects/codec.js';
import { Instance } from '../objects/instance.js';
import { Migration } from '../objects/migration.js';
import { HypervisorDirectory } from '../virt/hypervisor-directory.js';
import { Daemon, DaemonError, type ProcessCloudParts } from './daemon.js';
import type { DaemonEvent } from './daemon-events.js';
import type { CloudWishes, JobCloud, Remains } from './job-cloud.js';
import type { Observer } from './observer.js';
import { ProcessHost } from './process-host.js';

export type { ProcessCloudParts } from './daemon.js';

const CONDUCTOR = 'conductor-1';
/** A broker that cannot be reached is tried again and again: for so long. */
const START_MS = 15_000;

/**
 * Compute hosts and a conductor, each a process of its own on a broker; the API's side is here. They end with this
 * process at the latest.
 */
export class ProcessCloud implements JobCloud {
  readonly records: WatchedRecords;
  readonly networking: RemoteNetworking;
  readonly servers: Servers;
  readonly actions: InstanceActions;
  readonly moves: Moves;
  readonly rebuilds: Rebuilds;
  readonly #broken = new AbortController();
  readonly #wishes: CloudWishes;
  readonly #parts: ProcessCloudParts;
  readonly #observer: Observer;
  readonly #transport: Transport;
  readonly #events: TypedEvents<RecordEvents>;
  readonly #hosts: ReadonlyMap<string, ProcessHost>;
  #conductor: Daemon | undefined;
  #folder = '';
  #stopping = false;

  constructor(wishes: CloudWishes, parts: ProcessCloudParts, observer: Observer) {
    this.#wishes = wishes;
    this.#parts = {
      ...parts,
      env: {
        ...parts.env,
        EBBGATE_URL: wishes.transport,
        EBBGATE_EXCHANGE: wishes.exchange,
        EBBGATE_DATABASE: undefined,
      },
    };
    this.#observer = observer;
    this.#transport = parts.openTransport();
    this.#events = new TypedEvents<RecordEvents>((error) => {
      this.#break(error);
    });
    const api = new RemoteApi(this.#transport, { api: wishes.opsServer ? {} : { versionCap: '6.4' } });
    const { instances, migrations, services, allocations } = api.records;
    this.records = { instances, migrations, services, allocations, events: this.#events };
    this.networking = new RemoteNetworking(this.#transport);
    this.servers = api.servers;
    this.actions = api.actions;
    this.moves = api.moves;
    this.rebuilds = api.rebuilds;
    this.#hosts = new Map(wishes.hosts.map((name) => [name, this.#makeHost(name)]));
  }

  get broken(): AbortSignal {
    return this.#broken.signal;
  }

  host(name: string): ProcessHost {
    const host = this.#hosts.get(name);
    if (!host) throw new RangeError(`There is no host ${name}`);
    return host;
  }

  async start(): Promise<void> {
    this.#folder = await mkdtemp(join(this.#parts.temporaryFolder, 'ebbgate-guests-'));
    await this.#within('The conductor does not serve', this.#startConductor());
    const hosts = [...this.#hosts.values()].map((host) => host.start());
    await this.#within('Not all hosts serve', Promise.all(hosts));
  }

  async stop(): Promise<Remains> {
    await Promise.all(
      [...this.#hosts.values()].filter(({ daemon }) => daemon).map((host) => host.terminate()),
    );
    const remains = await this.#remains();
    this.#stopping = true;
    this.#conductor?.signal('SIGTERM');
    await this.#conductor?.ended;
    await this.#close();
    return remains;
  }

  async cutOff(): Promise<void> {
    this.#stopping = true;
    const daemons = [...[...this.#hosts.values()].map(({ daemon }) => daemon), this.#conductor];
    await Promise.all(daemons.map(async (daemon) => daemon?.cutOff()));
    await this.#close();
  }

  #within<T>(what: string, started: Promise<T>): Promise<T> {
    const late = (): Error => new DaemonError(`${what} after ${START_MS / 1000} s: is the broker there?`);
    return within(started, { timeoutMs: START_MS }, late);
  }

  async #close(): Promise<void> {
    if (this.#folder !== '') await rm(this.#folder, { recursive: true, force: true });
    await this.#transport.close();
  }

  /** Read while the conductor that has the records still runs; the guests, before their folder goes. */
  async #remains(): Promise<Remains> {
    const [instances, migrations] = await Promise.all([
      this.records.instances.find({}),
      this.records.migrations.find({}),
    ]);
    const machines = new HypervisorDirectory(this.#folder);
    const places = new Map(instances.map((one) => [one.get('uuid'), machines.locate(one.get('uuid'))]));
    return {
      instances,
      migrations,
      locate: (uuid) => places.get(uuid) ?? [],
      expected: machines.expected(),
    };
  }

  #startConductor(): Promise<void> {
    return new Promise((resolve, reject) => {
      const its = ['--name', CONDUCTOR, '--scheduler', 'local', '--state-dir', this.#folder];
      const args = ['conductor', ...its, ...this.#common()];
      const env = { ...this.#parts.env, EBBGATE_DATABASE: this.#wishes.database }; // for it alone: hosts have none
      const conductor = new Daemon(CONDUCTOR, args, { ...this.#parts, env }, (event) => {
        if (event.kind === 'serves') resolve();
        this.#hear(event);
      });
      this.#conductor = conductor;
      void conductor.ended.then(({ code, signal }) => {
        if (this.#stopping) return;
        const how = signal ?? `exit code ${String(code)}`;
        const error = new DaemonError(`${CONDUCTOR} has died: ${how}\n${conductor.log}`);
        reject(error);
        this.#break(error);
      }, reject);
    });
  }

  #makeHost(name: string): ProcessHost {
    const startDaemon = (onEvent: (event: DaemonEvent) => void): Daemon =>
      new Daemon(
        name,
        ['compute', '--host', name, ...this.#common(), ...this.#forHosts()],
        this.#parts,
        (event) => {
          this.#hear(event);
          onEvent(event);
        },
      );
    return new ProcessHost(name, startDaemon, {
      host: this.#observer.onHost,
      death: (error) => {
        if (!this.#stopping) this.#break(error);
      },
    });
  }

  #common(): readonly string[] {
    const { opsServer, rpcTimeoutMs } = this.#wishes;
    const level = this.#parts.logTo ? 'info' : 'error';
    const cap = opsServer ? [] : ['--compute-version-cap', '6.4'];
    return ['--log-level', level, '--rpc-response-timeout', String(rpcTimeoutMs / 1000), ...cap];
  }

  #forHosts(): readonly string[] {
    const { bootMs, migrationMs, opsServer, tasksMs } = this.#wishes;
    return [
      ...['--state-dir', this.#folder],
      ...['--boot-ms', String(bootMs), '--migration-ms', String(migrationMs)],
      ...['--recheck-interval', '1'],
      ...['--manager-shutdown-timeout', String(tasksMs / 1000), '--cleanup-timeout', '2'],
      ...['--closing-timeout', '2', '--graceful-shutdown-timeout', String((tasksMs + 6000) / 1000)],
      ...(opsServer ? [] : ['--no-ops-server']),
    ];
  }

  #hear(event: DaemonEvent): void {
    if (event.kind === 'sent') this.#observer.onSent(event);
    if (event.kind !== 'record') return;
    const record = decodeObjects(event.record);
    if (Instance.is(record)) this.#events.emit('instance', record);
    if (Migration.is(record)) this.#events.emit('migration', record);
  }

  #break(error: unknown): void {
    this.#broken.abort(error);
  }
}
