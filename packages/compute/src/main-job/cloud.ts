import type { Logger, Transport } from '@ebbgate/core';
import type { Service } from '@ebbgate/service';
import { ExternalEvents } from '../api/external-events.js';
import type { ActionParts } from '../api/action-parts.js';
import { InstanceActions } from '../api/actions.js';
import { GuestControls } from '../api/guest-controls.js';
import { Rebuilds } from '../api/rebuilds.js';
import { Moves } from '../api/moves.js';
import { Servers } from '../api/servers.js';
import type { CellAccess } from '../cells/cell-access.js';
import { ComputeHost } from '../compute/compute-host.js';
import { conductorService } from '../conductor/conductor-service.js';
import type { LocalRecords } from '../db/local-records.js';
import { MemoryRecords } from '../db/memory-records.js';
import { FakeNetworking } from '../network/fake.js';
import { NO_NOTIFICATIONS } from '../notifications/notifications.js';
import { ComputeApi } from '../rpc/compute-api.js';
import { ConductorApi } from '../rpc/conductor-api.js';
import { LocalScheduler } from '../scheduler/local-scheduler.js';
import { schedulerService } from '../scheduler/scheduler-service.js';
import { Liveness } from '../servicegroup/liveness.js';
import { FakeVirtDriver } from '../virt/fake.js';
import { NO_ORDERS } from '../virt/fake-orders.js';
import { HypervisorNetwork } from '../virt/hypervisor-network.js';
import {
  apiOptions,
  clientOptions,
  type CloudOptions,
  downTime,
  hostBudgets,
  openTransport,
  telling,
} from './cloud-options.js';
import type { JobCloud, Remains } from './job-cloud.js';

export type { CloudOptions } from './cloud-options.js';

/** Compute hosts, a conductor, the API's side and the records, all in this process on one broker. */
export class Cloud implements JobCloud {
  readonly records: LocalRecords;
  readonly networking: FakeNetworking;
  readonly hypervisors: HypervisorNetwork;
  readonly hosts: ReadonlyMap<string, ComputeHost>;
  readonly virts: ReadonlyMap<string, FakeVirtDriver>;
  readonly servers: Servers;
  /** What users ask of an instance where it is. */
  readonly actions: InstanceActions;
  /** What else they ask of it there. */
  readonly controls: GuestControls;
  /** Rebuild and evacuate. */
  readonly rebuilds: Rebuilds;
  /** Cold migration and resize, and their ends. */
  readonly moves: Moves;
  readonly computeApi: ComputeApi;
  /** Never aborts: in one process nothing ends by itself. */
  readonly broken: AbortSignal = new AbortController().signal;
  readonly #transport: Transport;
  /** All conductors; each drains for itself. */
  readonly conductors: readonly Service[];
  readonly #reloads: (() => Promise<void>)[] = [];
  /** All schedulers. */
  readonly schedulers: readonly Service[];

  constructor(options: CloudOptions) {
    const { logger } = options;
    this.records =
      options.records ??
      new MemoryRecords((error, event) => {
        logger.error({ err: error, event }, 'A listener to the records failed');
      });
    this.hypervisors = options.hypervisors ?? new HypervisorNetwork();
    this.#transport = openTransport(options, 'api');
    this.computeApi = new ComputeApi(this.#transport, clientOptions(options));
    this.#reloads.push(() => this.computeApi.refresh());
    const externalEvents = new ExternalEvents(this.records, this.computeApi);
    this.networking = new FakeNetworking({
      notify: (event) => externalEvents.send({}, event),
      onError: (error) => {
        logger.error({ err: error }, 'An external event was not sent');
      },
      ...(options.portId && { portId: options.portId }),
    });
    const actionParts = this.#actionParts(options);
    this.actions = new InstanceActions(actionParts);
    this.controls = new GuestControls(actionParts);
    this.rebuilds = new Rebuilds(actionParts);
    this.moves = new Moves(actionParts);
    this.servers = new Servers(actionParts);
    this.conductors = numbered('conductor', options.conductors ?? 1).map((name) =>
      this.#makeConductor(name, options),
    );
    this.schedulers = numbered('scheduler', options.schedulers ?? 0).map((name) =>
      this.#makeScheduler(name, options),
    );
    const { networking, hypervisors: network } = this;
    const { bootMs: spawnMs, migrationMs } = options;
    const virt = (name: string): FakeVirtDriver => {
      const resources = options.resourcesOf?.(name);
      const { sharedStorage = false, orders = NO_ORDERS } = options;
      const parts = { network, networking, spawnMs, migrationMs, sharedStorage, orders };
      return new FakeVirtDriver(name, { ...parts, ...(resources && { resources }) });
    };
    this.virts = new Map(options.hosts.map((name) => [name, virt(name)]));
    this.hosts = new Map([...this.virts].map(([name, each]) => [name, this.#makeHost(name, each, options)]));
  }

  /** Resolves when everything serves. */
  async start(): Promise<void> {
    await Promise.all([...this.schedulers, ...this.conductors].map((service) => service.start()));
    for (const host of this.hosts.values()) await host.start();
  }

  /** What SIGHUP to the API and the conductors does; hosts are left alone. */
  async reload(): Promise<void> {
    for (const reload of this.#reloads) await reload();
  }

  /** A host by name. @throws RangeError when there is none */
  host(name: string): ComputeHost {
    const host = this.hosts.get(name);
    if (!host) throw new RangeError(`There is no host ${name}`);
    return host;
  }

  /** Ends all hosts that run, each by SIGTERM, and everything else. */
  async stop(): Promise<Remains> {
    await Promise.all(
      [...this.hosts.values()].filter(({ runs }) => runs > 0).map((host) => host.terminate()),
    );
    await Promise.all([...this.conductors, ...this.schedulers].map((service) => service.drain('the end')));
    await this.#transport.close();
    return {
      instances: await this.records.instances.find({}),
      migrations: await this.records.migrations.find({}),
      locate: (uuid) => this.hypervisors.locate(uuid),
      expected: this.hypervisors.expected(),
    };
  }

  /** Ends everything at once, as the death of the process would: what runs is cut off in the middle. */
  async cutOff(): Promise<void> {
    const running = [...this.hosts.values()].filter(({ runs }) => runs > 0).map((host) => host.process);
    for (const process of running) {
      process.terminate('SIGTERM');
      process.terminate('SIGINT'); // during a drain: at once
    }
    const services = [...this.conductors, ...this.schedulers];
    await Promise.allSettled([
      ...running.map(async (process) => process.done),
      ...services.map((service) => service.drain('cut off', { withinMs: 0 })),
    ]);
    await this.#transport.close();
  }

  /** How those reach it that work across cells. */
  access(name: string, logger: Logger): CellAccess {
    const { records, computeApi, networking } = this;
    return { name, records, computeApi, networking, scheduler: new LocalScheduler({ records, logger }) };
  }

  #actionParts({ cells, notifications = NO_NOTIFICATIONS }: CloudOptions): ActionParts {
    const { records, computeApi, networking } = this;
    const conductor = new ConductorApi(this.#transport);
    const emitAsked = notifications.ofApi('api-1');
    const parts = { records, computeApi, networking, conductor, liveness: new Liveness(), emitAsked };
    return { ...parts, ...(cells && { cells: cells.registry }) };
  }

  #makeConductor(name: string, options: CloudOptions): Service {
    const { service, reload } = conductorService({
      name,
      transport: this.#transport,
      ownsTransport: false,
      records: this.records,
      scheduler: (options.schedulers ?? 0) > 0 ? 'rpc' : 'local',
      siblings: (options.conductors ?? 1) > 1,
      allowResizeToSameHost: options.allowResizeToSameHost ?? false,
      networking: this.networking,
      ...(options.migrateMaxRetries !== undefined && { migrateMaxRetries: options.migrateMaxRetries }),
      ...(options.cells && { cells: options.cells }),
      ...downTime(options),
      ...telling(options),
      logger: options.logger,
      api: clientOptions(options),
    });
    this.#reloads.push(reload);
    return service;
  }

  #makeScheduler(name: string, { logger, schedulers = 0 }: CloudOptions): Service {
    return schedulerService({
      name,
      transport: this.#transport,
      records: this.records,
      siblings: schedulers > 1,
      logger,
      onExit: () => Promise.resolve(),
    });
  }

  #makeHost(name: string, virt: FakeVirtDriver, options: CloudOptions): ComputeHost {
    const { logger, opsServer, recheckMs = 1000, maxConcurrentLiveMigrations = 1 } = options;
    const { recordsPatienceMs, sharedTransport: shared = false } = options;
    const zone = options.zoneOf?.(name);
    return new ComputeHost({
      name,
      ...(zone !== undefined && { availabilityZone: zone }),
      openTransport: () => (shared ? this.#transport : openTransport(options, name)),
      ownsTransport: !shared,
      records: options.recordsOf?.(name, this.records) ?? this.records,
      virt,
      networking: this.networking,
      ...downTime(options),
      logger,
      api: apiOptions(options),
      ...(recordsPatienceMs !== undefined && { recordsPatienceMs }),
      ...telling(options),
      ...options.host,
      ...(!opsServer && { opsTopic: null }),
      budgets: hostBudgets(options),
      limits: { recheckMs, maxConcurrentLiveMigrations },
    });
  }
}

function numbered(what: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `${what}-${String(index + 1)}`);
}
