import type { Logger, Transport } from '@ebbgate/core';
import { RpcServer, type ServerInterceptor } from '@ebbgate/rpc';
import { type Launched, launch, Service, taskInterceptor, TaskRegistry } from '@ebbgate/service';
import { guardRecords } from '../db/guarded-records.js';
import type { Records } from '../db/repositories.js';
import { OperationAbortedError } from '../errors.js';
import { BASE_METHODS, baseEndpoint } from '../rpc/base-endpoint.js';
import { ComputeApi } from '../rpc/compute-api.js';
import { ConductorApi } from '../rpc/conductor-api.js';
import { objectSerializer } from '../rpc/object-serializer.js';
import { remoteErrors } from '../rpc/remote-errors.js';
import { RPC_TOPIC } from '../rpc/topics.js';
import { COMPUTE_SERVICE_VERSION, SERVICE_VERSION_WITHOUT_OPS } from '../rpc/version-levels.js';
import { Liveness } from '../servicegroup/liveness.js';
import { CapacityReport } from './capacity-report.js';
import { EventWaiters } from './event-waiters.js';
import type { CompleteHostOptions } from './host-options.js';
import { handOnStarts } from './hand-on.js';
import { InstanceLocks } from './instance-locks.js';
import { ComputeManager, SELF_TRACKED } from './manager.js';

/**
 * One run of a compute host, from its start to its exit: what a process is. After its end nothing of it can touch the
 * records, the hypervisor or the broker any more, also when it was cut off in the middle of something.
 */
export class HostProcess {
  /** Both servers and what stands behind them. */
  readonly service: Service;
  /** Takes new requests; the first to stop. */
  readonly newRequestServer: RpcServer;
  /** Takes what belongs to operations under way; undefined when there is none. */
  readonly opsServer: RpcServer | undefined;
  readonly #lifetime = new AbortController();
  readonly #transport: Transport;
  readonly #logger: Logger;
  readonly #options: CompleteHostOptions;
  readonly #computeApi: ComputeApi;
  #launched: Launched | undefined;

  /** @param observe - sees every request that arrives, on either server */
  constructor(options: CompleteHostOptions, observe: ServerInterceptor) {
    this.#options = options;
    this.#logger = options.logger;
    this.#transport = options.openTransport();
    const records = guardRecords(options.records, this.#lifetime.signal);
    const registry = new TaskRegistry({ logger: options.logger });
    this.#computeApi = this.#makeApi(records);
    const manager = this.#makeManager(records, registry);
    const endpoints = [manager.endpoint, baseEndpoint('compute')];
    const untracked = (method: string): boolean => SELF_TRACKED.has(method) || BASE_METHODS.has(method);
    const track = taskInterceptor(registry, { skip: untracked });
    const serverOn = (topic: string, inner: readonly ServerInterceptor[]): RpcServer =>
      new RpcServer(this.#transport, { topic, server: options.name }, endpoints, {
        serializer: objectSerializer,
        remoteErrors,
        interceptors: [observe, ...inner],
      });
    this.newRequestServer = serverOn(RPC_TOPIC, [track]);
    const handOn = this.#handOn(registry);
    this.opsServer = options.opsTopic === null ? undefined : serverOn(options.opsTopic, [handOn, track]);
    this.service = this.#makeService(records, registry, manager);
  }

  /** Resolves when the service serves; rejects with what kept it from starting. */
  async start(): Promise<void> {
    const logger = this.#logger;
    this.#launched = this.#options.ownsProcess
      ? launch(this.service, { logger, onReload: () => this.reload() })
      : // The process has several hosts: its signals are not for one of them, nor does it end with one.
        launch(this.service, { logger, signals: [], exit: () => this.#end() });
    await this.service.start();
  }

  /** What SIGHUP does: reads the version cap again, and which versions the other hosts have (GS-92). */
  reload(): Promise<void> {
    return this.#computeApi.refresh();
  }

  /** Does what a signal to the process would: the code path of its handler. */
  terminate(signal: 'SIGTERM' | 'SIGINT'): void {
    this.#launched?.terminate(signal);
  }

  /** Resolves with the exit code when the run is over. */
  get done(): Promise<number> {
    if (!this.#launched) throw new OperationAbortedError('The host was not started');
    return this.#launched.done;
  }

  /** What the end of a process does: whatever still runs is cut off. */
  async #end(): Promise<void> {
    this.#lifetime.abort(new OperationAbortedError('The process has ended'));
    await this.#transport.close();
  }

  #makeApi({ services }: Records): ComputeApi {
    const { api, opsTopic } = this.#options;
    return new ComputeApi(this.#transport, { services, ...(opsTopic !== null && { opsTopic }), ...api });
  }

  /** For what begins something and comes to the ops server once the drain has begun. */
  #handOn(tasks: TaskRegistry): ServerInterceptor {
    const { name: host, logger, api } = this.#options;
    return handOnStarts({
      host,
      interceptors: api.interceptors,
      transport: this.#transport,
      conductorApi: new ConductorApi(this.#transport),
      tasks,
      logger,
      lifetime: this.#lifetime.signal,
      isDraining: () => this.service.state === 'draining',
    });
  }

  #makeManager(records: Records, tasks: TaskRegistry): ComputeManager {
    const { name, virt, networking, logger, limits, serviceDownTimeMs } = this.#options;
    const { vifPluggingTimeoutMs, recordsPatienceMs } = this.#options;
    const computeApi = this.#computeApi;
    const lifetime = this.#lifetime.signal;
    const events = new EventWaiters();
    const locks = new InstanceLocks(lifetime);
    const host = {
      host: name,
      records,
      virt,
      networking,
      liveness: new Liveness({ serviceDownTimeMs }),
      computeApi,
      conductorApi: new ConductorApi(this.#transport),
      tasks,
      events,
      locks,
      logger,
      lifetime,
      vifPluggingTimeoutMs,
      recordsPatienceMs,
    };
    return new ComputeManager(host, limits);
  }

  #makeService(records: Records, registry: TaskRegistry, compute: ComputeManager): Service {
    const { name, virt, budgets, logger, reportIntervalMs, health, ownsProcess } = this.#options;
    const { availabilityZone, allocationRatios } = this.#options;
    const capacity = new CapacityReport(records.allocations, virt, allocationRatios);
    const version = this.opsServer ? COMPUTE_SERVICE_VERSION : SERVICE_VERSION_WITHOUT_OPS;
    return new Service({
      name: 'compute',
      host: name,
      manager: {
        initHost: (signal) => compute.startUp(signal),
        periodic: compute.periodic,
        reportState: async ({ state, host }) => {
          await capacity.tell(host); // before the host says that it takes requests
          const report = { binary: 'compute', host, state, reportedAtMs: Date.now(), version };
          await records.services.report({ ...report, availabilityZone });
        },
      },
      newRequestServer: this.newRequestServer,
      ...(this.opsServer && { opsServer: this.opsServer }),
      registry,
      budgets,
      reportIntervalMs,
      logger,
      ...(health && { health }),
      ...(ownsProcess && { onExit: () => this.#end() }),
    });
  }
}
