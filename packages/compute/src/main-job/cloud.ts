import { createTransport, type Logger, type Transport } from '@ebbgate/core';
import type { ClientInterceptor } from '@ebbgate/rpc';
import { ExternalEvents } from '../api/external-events.js';
import { Servers } from '../api/servers.js';
import { ComputeHost } from '../compute/compute-host.js';
import { Conductor } from '../conductor/conductor.js';
import { MemoryRecords } from '../db/memory-records.js';
import { FakeNetworking } from '../network/fake.js';
import { ComputeApi, type ComputeApiOptions } from '../rpc/compute-api.js';
import { ConductorApi } from '../rpc/conductor-api.js';
import { CONTROL_EXCHANGE } from '../rpc/topics.js';
import { FakeVirtDriver } from '../virt/fake.js';
import { HypervisorNetwork } from '../virt/hypervisor-network.js';
import type { JobCloud, Remains, SentMessage } from './job-cloud.js';

/** What a cloud in one process is made of. */
export interface CloudOptions {
  readonly transport: string;
  readonly hosts: readonly string[];
  readonly bootMs: number;
  readonly migrationMs: number;
  readonly opsServer: boolean;
  /** What all tasks of a drain together may take. */
  readonly tasksMs: number;
  /** Time-out of calls, and of long calls without a sign of life; default 60000. */
  readonly rpcTimeoutMs?: number;
  /** Default 1000. */
  readonly recheckMs?: number;
  readonly maxConcurrentLiveMigrations?: number;
  readonly logger: Logger;
  /** Id of an instance's first port, where it shall not be random. */
  readonly portId?: (instanceUuid: string) => string | undefined;
  /** Hears of every message to a host that is about to be sent, by whomever. */
  readonly onSend?: (message: SentMessage) => void;
}

/** Compute hosts, a conductor, the API's side and the records, all in this process on one broker. */
export class Cloud implements JobCloud {
  readonly records: MemoryRecords;
  readonly networking: FakeNetworking;
  readonly hypervisors: HypervisorNetwork = new HypervisorNetwork();
  readonly hosts: ReadonlyMap<string, ComputeHost>;
  readonly virts: ReadonlyMap<string, FakeVirtDriver>;
  readonly servers: Servers;
  readonly computeApi: ComputeApi;
  /** Never aborts: in one process nothing ends by itself. */
  readonly broken: AbortSignal = new AbortController().signal;
  readonly #transport: Transport;
  readonly #conductor: Conductor;

  constructor(options: CloudOptions) {
    const { logger } = options;
    this.records = new MemoryRecords((error, event) => {
      logger.error({ err: error, event }, 'A listener to the records failed');
    });
    this.#transport = openTransport(options);
    this.computeApi = new ComputeApi(this.#transport, apiOptions(options));
    const externalEvents = new ExternalEvents(this.records, this.computeApi);
    this.networking = new FakeNetworking({
      notify: (event) => externalEvents.send({}, event),
      onError: (error) => {
        logger.error({ err: error }, 'An external event was not sent');
      },
      ...(options.portId && { portId: options.portId }),
    });
    this.servers = new Servers(this.records, new ConductorApi(this.#transport));
    this.#conductor = new Conductor({
      name: 'conductor-1',
      transport: this.#transport,
      records: this.records,
      logger,
      api: apiOptions(options),
    });
    const { networking, hypervisors: network } = this;
    const { bootMs: spawnMs, migrationMs } = options;
    const virt = (name: string) => new FakeVirtDriver(name, { network, networking, spawnMs, migrationMs });
    this.virts = new Map(options.hosts.map((name) => [name, virt(name)]));
    this.hosts = new Map([...this.virts].map(([name, each]) => [name, this.#makeHost(name, each, options)]));
  }

  /** Resolves when everything serves. */
  async start(): Promise<void> {
    await this.#conductor.start();
    for (const host of this.hosts.values()) await host.start();
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
    await this.#conductor.stop();
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
    await Promise.allSettled(running.map(async (process) => process.done));
    await this.#transport.close();
  }

  #makeHost(name: string, virt: FakeVirtDriver, options: CloudOptions): ComputeHost {
    const { logger, opsServer, tasksMs, recheckMs = 1000, maxConcurrentLiveMigrations = 1 } = options;
    return new ComputeHost({
      name,
      openTransport: () => openTransport(options),
      records: this.records,
      virt,
      networking: this.networking,
      logger,
      api: apiOptions(options),
      ...(!opsServer && { opsTopic: null }),
      budgets: {
        managerShutdownTimeoutMs: tasksMs,
        cleanupTimeoutMs: 2000,
        closingTimeoutMs: 1000,
        gracefulShutdownTimeoutMs: tasksMs + 5000,
      },
      limits: { recheckMs, maxConcurrentLiveMigrations },
    });
  }
}

function openTransport({ transport, logger }: CloudOptions): Transport {
  return createTransport(transport, { logger, controlExchange: CONTROL_EXCHANGE });
}

/** Without ops servers everybody is told by the version cap that the receivers are too old for them. */
function apiOptions({ opsServer, rpcTimeoutMs, onSend }: CloudOptions): ComputeApiOptions {
  const tell: ClientInterceptor = async (call, next) => {
    onSend?.({ topic: call.target.topic ?? '', host: call.target.server ?? '', method: call.method });
    return next(call);
  };
  return {
    interceptors: [tell],
    ...(!opsServer && { versionCap: '6.4' }),
    ...(rpcTimeoutMs !== undefined && { rpcTimeoutMs }),
  };
}
