import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createTransport, silentLogger, type Transport } from '@ebbgate/core';
import {
  ComputeApi,
  ConductorApi,
  ExternalEvents,
  HypervisorDirectory,
  Liveness,
  type LocalRecords,
  openRecords,
} from '@ebbgate/compute';
import { ServerApi } from '#compute/api/server-api.js';
import type { DaemonEvent } from '#compute/main-job/daemon-events.js';
import { StoredNetworking } from '#compute/network/stored.js';
import { type DaemonEnd, DaemonProcess } from '../../support/daemon-process.js';
import { PATIENCE } from '../../support/patience.js';
import { within } from '../../support/rigs/deadline.js';
import { type PrivateFolder, privateFolder } from '../../support/rigs/private-folder.js';
import type { BrokerPlace, MatrixBroker, TransportName, WaitingQueue } from './broker.js';
import type { BrokerTap } from './broker-tap.js';
import { EXCHANGE } from './exchange.js';
import { FlowTrace } from './flow-trace.js';
import type { Way } from '../parties.js';

/** MiB of the machines: a scheduler that may choose takes the second before the third. */
const HOSTS = { a: 32_768, b: 65_536, c: 16_384 } as const;
export type HostName = keyof typeof HOSTS;
export const HOST_NAMES = Object.keys(HOSTS) as readonly HostName[];
export const CONDUCTORS = ['c1', 'c2'] as const;
const SCHEDULER = 's1';

/** Long enough for a signal to land in them; without ops servers for what follows to come too late. */
const STEPS_S = { ops: 0.03, control: 0.3 } as const;
const SLOW_STEPS: readonly string[] = [
  'create-disks',
  'start-guest',
  'pre-live-migration',
  'switch-over',
  'post-at-source',
  'post-at-destination',
  'power-on',
  'power-off',
  'reboot-soft',
  'copy-disk',
  'upload-image',
  'destroy',
  'finish-migration',
  'confirm-migration',
  'finish-revert',
];
/** What a console answers with has to take as long as a drain needs to begin. */
const CONSOLE_S = 0.3;
/** A whole matrix has its processes for longer than other tests have theirs. */
const LIMIT_MS = 6 * 3_600_000;
/** A process that does not end by then has stopped to drain. */
const END_MS = 30_000;
/** For tasks, without ops servers: what they wait for does not come. */
const CONTROL_TASKS_S = '3';

type Request = Extract<DaemonEvent, { kind: 'request' }>;

/**
 * A cloud whose services are processes on a broker: two conductors with one database, a scheduler, three hosts. We are its
 * API, with the database for ourselves, and its network service.
 */
export class MatrixCloud {
  readonly opsServer: boolean;
  readonly transport: TransportName;
  readonly records: LocalRecords;
  readonly machines: HypervisorDirectory;
  readonly network: StoredNetworking;
  readonly api: ServerApi;
  readonly #place: BrokerPlace;
  readonly #private: PrivateFolder;
  readonly #transport: Transport;
  /** All that were ever started, by name; the last one of each is the present one. */
  readonly #daemons = new Map<string, DaemonProcess[]>();
  /** Those that were to end. */
  readonly #stopped = new Set<DaemonProcess>();
  readonly #died: string[] = [];
  #tap: BrokerTap | undefined;

  private constructor(
    transport: TransportName,
    place: BrokerPlace,
    folder: PrivateFolder,
    records: LocalRecords,
    opsServer: boolean,
  ) {
    this.transport = transport;
    this.#place = place;
    this.#private = folder;
    this.records = records;
    this.opsServer = opsServer;
    this.machines = new HypervisorDirectory(join(folder.path, 'guests'));
    this.#transport = createTransport(place.url, { drivers: [place.driver], controlExchange: EXCHANGE });
    const computeApi = new ComputeApi(this.#transport, {
      services: records.services,
      rpcTimeoutMs: rpcTimeoutS() * 1000,
      ...(!opsServer && { versionCap: '6.4' }),
    });
    const events = new ExternalEvents(records, computeApi);
    this.network = new StoredNetworking(records.networks, {
      notify: (event) => events.send({}, event),
      onError: (error) => this.#died.push(`an event could not be sent: ${String(error)}`),
    });
    const conductor = new ConductorApi(this.#transport);
    const parts = { records, computeApi, conductor, networking: this.network, liveness: new Liveness() };
    this.api = new ServerApi(parts);
  }

  static async start(
    broker: MatrixBroker,
    { opsServer }: { readonly opsServer: boolean },
  ): Promise<MatrixCloud> {
    const folder = await privateFolder('matrix');
    const durations = SLOW_STEPS.map((step) => [step, opsServer ? STEPS_S.ops : STEPS_S.control]);
    const seconds = { ...Object.fromEntries(durations), 'console-output': CONSOLE_S };
    await writeFile(join(folder.path, 'orders.json'), JSON.stringify({ '*': { seconds } }));
    const records = await openRecords(databaseIn(folder.path), { logger: silentLogger });
    const cloud = new MatrixCloud(broker.transport, await broker.place(), folder, records, opsServer);
    await Promise.all(CONDUCTORS.map((name) => cloud.launch(name)));
    await Promise.all([SCHEDULER, ...HOST_NAMES].map((name) => cloud.launch(name)));
    cloud.#tap = await cloud.#place.tap();
    return cloud;
  }

  /** Starts a process, for the first time or again; resolves when it serves. */
  async launch(name: string): Promise<void> {
    const daemon = new DaemonProcess(this.#place.url, this.#argvOf(name), { limitMs: LIMIT_MS });
    this.#daemons.set(name, [...(this.#daemons.get(name) ?? []), daemon]);
    void daemon.ended.then(({ code, signal }) => {
      if (this.#stopped.has(daemon)) return;
      this.#died.push(`${name} has died: ${String(code ?? signal)}\n${daemon.log}`);
    });
    await daemon.serves();
  }

  /** Sends a signal to the present process of this name; resolves when that has ended. */
  async stop(name: string, way: Way): Promise<DaemonEnd> {
    const daemon = this.#present(name);
    this.#stopped.add(daemon);
    daemon.child.kill(`SIG${way}`);
    return within(`the end of ${name} after SIG${way}`, END_MS, daemon.ended);
  }

  isRunning(name: string): boolean {
    return !this.#stopped.has(this.#present(name));
  }

  /** What the present process of this name has logged. */
  logOf(name: string): string {
    return this.#present(name).log;
  }

  /** What a host that has drained has left of its tasks, by its own report. */
  leftBy(host: HostName): readonly string[] {
    const exit = this.#present(host).events.findLast((event) => event.kind === 'exit');
    return exit?.kind === 'exit' ? exit.report.unfinished.map(({ name }) => name) : [];
  }

  /** The names of the tasks that a host has now. */
  tasksOf(host: HostName): readonly string[] {
    const seen = this.#present(host).events.findLast((event) => event.kind === 'host');
    return seen?.kind === 'host' ? seen.view.tasks.map(({ name }) => name) : [];
  }

  /** All requests that have ever arrived at a host. */
  requestsOf(host: HostName): readonly Request[] {
    const events = (this.#daemons.get(host) ?? []).flatMap((daemon) => daemon.events);
    return events.filter((event) => event.kind === 'request');
  }

  /** Processes that have ended by themselves, and what else was not to be. */
  get died(): readonly string[] {
    return this.#died;
  }

  /** The conductor that has accepted something for this instance; when none has, the first. */
  async conductorOf(uuid: string): Promise<string> {
    for (const { name, text } of await this.#conductorJournals()) if (text.includes(uuid)) return name;
    return CONDUCTORS[0];
  }

  /** Who has accepted requests that are not done, of those that run. */
  async openJournals(): Promise<readonly string[]> {
    const conductors = (await this.#conductorJournals()).filter(({ text }) => text.trim() !== '');
    const hosts: string[] = [];
    for (const host of HOST_NAMES) {
      const text = await readFile(join(this.#folder, 'guests', host, 'requests.journal'), 'utf8');
      if (this.isRunning(host) && text.trim() !== '') hosts.push(host);
    }
    return [...conductors.map(({ name }) => name), ...hosts];
  }

  async #conductorJournals(): Promise<readonly { readonly name: string; readonly text: string }[]> {
    const folder = join(this.#folder, 'conductors', '.conductors');
    const files = (await readdir(folder)).filter((file) => file.endsWith('.journal'));
    return Promise.all(
      files.map(async (file) => ({
        name: file.replace(/-.*/, ''),
        text: await readFile(join(folder, file), 'utf8'),
      })),
    );
  }

  /** The queues of the topics, replies left out. */
  queues(): Promise<readonly WaitingQueue[]> {
    return this.#place.queues();
  }

  /** The messages of a flow that is about to begin, and what ends the looking. */
  trace(uuid: string): { readonly trace: FlowTrace; readonly end: () => void } {
    const trace = new FlowTrace(uuid);
    const end = this.#tap?.look((message) => trace.take(message));
    return { trace, end: () => end?.() };
  }

  async dispose(): Promise<void> {
    const daemons = [...this.#daemons.values()].flat();
    for (const daemon of daemons) {
      this.#stopped.add(daemon);
      daemon.child.kill('SIGKILL');
    }
    await Promise.all(daemons.map(({ ended }) => ended));
    await this.#tap?.close();
    await this.#transport.close();
    await this.records.close();
    await this.#private.remove();
  }

  get #folder(): string {
    return this.#private.path;
  }

  #present(name: string): DaemonProcess {
    const daemon = this.#daemons.get(name)?.at(-1);
    if (!daemon) throw new RangeError(`There is no ${name}`);
    return daemon;
  }

  #argvOf(name: string): readonly string[] {
    const database = ['--database', databaseIn(this.#folder)];
    const common = ['--rpc-response-timeout', String(rpcTimeoutS()), '--report-interval', '2'];
    const cap = this.opsServer ? [] : ['--compute-version-cap', '6.4'];
    if (name === SCHEDULER) return ['scheduler', '--name', name, ...database, ...common];
    if (name in HOSTS) return [...this.#hostArgv(name as HostName), ...common, ...cap]; // one of its keys
    const journal = ['--state-dir', join(this.#folder, 'conductors')];
    return ['conductor', '--name', name, ...database, ...journal, ...common, ...cap];
  }

  #hostArgv(host: HostName): readonly string[] {
    const places = ['--state-dir', join(this.#folder, 'guests'), '--memory-mb', String(HOSTS[host])];
    const orders = ['--fake-orders', join(this.#folder, 'orders.json')];
    const times = ['--migration-ms', '300', '--recheck-interval', '0.5'];
    const control = ['--no-ops-server', '--manager-shutdown-timeout', CONTROL_TASKS_S];
    return ['compute', '--host', host, ...places, ...orders, ...times, ...(this.opsServer ? [] : control)];
  }
}

function databaseIn(folder: string): string {
  return `sqlite:///${join(folder, 'nova.sqlite')}`;
}

/** A call to a process that was killed is waited for so long; one that is only slow has to get through. */
function rpcTimeoutS(): number {
  return 2 + PATIENCE;
}
