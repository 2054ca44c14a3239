import type { Logger } from '@ebbgate/core';
import { type ClientInterceptor, RpcServer, type ServerInterceptor } from '@ebbgate/rpc';
import { type Launched, Service, taskInterceptor, TaskRegistry } from '@ebbgate/service';
import { guardRecords } from '../db/guarded-records.js';
import { tellStates } from '../db/told-records.js';
import type { Records } from '../db/repositories.js';
import { FencedError, OperationAbortedError } from '../errors.js';
import { untilAborted } from '../notifications/compute-event.js';
import { BASE_METHODS, baseEndpoint } from '../rpc/base-endpoint.js';
import { ComputeApi } from '../rpc/compute-api.js';
import { ConductorApi } from '../rpc/conductor-api.js';
import { makeEndpoint } from '../rpc/endpoint.js';
import { HOST_METHODS, HOST_NAMESPACE, HOST_RPC_VERSION } from '../rpc/host-methods.js';
import { objectSerializer } from '../rpc/object-serializer.js';
import { remoteErrors } from '../rpc/remote-errors.js';
import { RPC_TOPIC } from '../rpc/topics.js';
import { COMPUTE_SERVICE_VERSION, SERVICE_VERSION_WITHOUT_OPS } from '../rpc/version-levels.js';
import { Liveness } from '../servicegroup/liveness.js';
import { SenderEpochs } from '../servicegroup/sender-epochs.js';
import { StateReports } from '../servicegroup/state-reports.js';
import { AcceptedRequests } from './accepted-requests.js';
import { CapacityReport } from './capacity-report.js';
import { reportDrain } from './drain-reports.js';
import { EventWaiters } from './event-waiters.js';
import { Fence } from './fence.js';
import { HostConnection } from './host-connection.js';
import type { CompleteHostOptions } from './host-options.js';
import { handOnStarts } from './hand-on.js';
import { InstanceLocks } from './instance-locks.js';
import { ComputeManager, SELF_TRACKED } from './manager.js';
import { patientRecords } from './patient-records.js';

/** Requests that are no work of their own: no drain waits for them. */
const UNTRACKED: ReadonlySet<string> = new Set([
  ...SELF_TRACKED,
  ...BASE_METHODS,
  ...Object.keys(HOST_METHODS),
]);

/**
 * One run of a compute host, from its start to its exit: what a process is. After its end nothing of it can touch the
 * records, the hypervisor or the broker any more, also when it was cut off in the middle of something. When it learns that
 * it was forced down it ends at once, but for its last report, and leaves its work as it is (FD-32).
 */
export class HostProcess {
  /** Both servers and what stands behind them. */
  readonly service: Service;
  /** Takes new requests; the first to stop. */
  readonly newRequestServer: RpcServer;
  /** Takes what belongs to operations under way; undefined when there is none. */
  readonly opsServer: RpcServer | undefined;
  /** Of what it does: aborts when it is fenced, and when it ends. */
  readonly #lifetime = new AbortController();
  /** Of its reports: aborts when it ends. */
  readonly #reporting = new AbortController();
  readonly #fence: Fence;
  #wasDraining = false;
  readonly #connection: HostConnection;
  readonly #logger: Logger;
  readonly #options: CompleteHostOptions;
  readonly #computeApi: ComputeApi;
  readonly #accepted: AcceptedRequests;
  #launched: Launched | undefined;

  /**
   * @param observe - sees every request that arrives, on either server
   * @param onDrainAsked - is called when somebody asks for a drain by RPC, and says why
   */
  constructor(
    options: CompleteHostOptions,
    observe: ServerInterceptor,
    onDrainAsked: (reason: string) => void,
  ) {
    this.#options = options;
    this.#logger = options.logger;
    this.#connection = new HostConnection(options);
    const { transport } = this.#connection;
    this.#accepted = new AcceptedRequests(options.journal, options.logger, this.#lifetime.signal);
    const records = tellStates(guardRecords(options.records, this.#lifetime.signal), this.#accepted.begun);
    const registry = new TaskRegistry({ logger: options.logger });
    this.#computeApi = this.#makeApi(records);
    const manager = this.#makeManager(records, registry);
    const reported = guardRecords(options.records, this.#reporting.signal);
    this.#fence = this.#makeFence(reported, manager);
    const { interceptor: refuseFenced } = new SenderEpochs({
      services: records.services,
      logger: this.#logger,
    });
    const endpoints = [manager.endpoint, baseEndpoint('compute'), drainEndpoint(onDrainAsked)];
    const track = taskInterceptor(registry, { skip: (method) => UNTRACKED.has(method) });
    const serverOn = (topic: string, inner: readonly ServerInterceptor[]): RpcServer =>
      new RpcServer(transport, { topic, server: options.name }, endpoints, {
        serializer: objectSerializer,
        remoteErrors,
        beforeAccept: this.#accepted.accept,
        interceptors: [observe, this.#accepted.interceptor, refuseFenced, ...inner],
      });
    this.newRequestServer = serverOn(RPC_TOPIC, [track]);
    const handOn = this.#handOn(registry);
    this.opsServer = options.opsTopic === null ? undefined : serverOn(options.opsTopic, [handOn, track]);
    this.service = this.#makeService(reported, registry, manager);
  }

  /**
   * The program that this run is one of. Resolves when the service serves, or waits since the host is forced down; rejects
   * with what kept it from starting.
   */
  async runBy(launched: Launched): Promise<void> {
    this.#launched = launched;
    await Promise.race([this.service.start(), this.#fence.held]);
  }

  /** Its program, once it is run by one. */
  get launched(): Launched | undefined {
    return this.#launched;
  }

  /** It did not start, as the host is forced down. */
  get isRefused(): boolean {
    return this.#fence.isRefused;
  }

  /** It was forced down while it served, and another run takes its place: nobody had asked for its end. */
  get isReplaced(): boolean {
    return this.#fence.isFenced && !this.#wasDraining;
  }

  /**
   * What SIGHUP does: reads the version cap again, and which versions the other hosts have (GS-92); and reports, so that
   * what was said of the host is known at once.
   */
  async reload(): Promise<void> {
    this.service.reportNow();
    await this.#computeApi.refresh();
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
  async end(): Promise<void> {
    const reason = new OperationAbortedError('The process has ended');
    this.#lifetime.abort(reason);
    this.#reporting.abort(reason);
    const servers = [this.newRequestServer, ...(this.opsServer ? [this.opsServer] : [])];
    await this.#connection.end(servers, this.service.budgets.closingTimeoutMs);
  }

  #makeFence({ services }: Records, manager: ComputeManager): Fence {
    const { name: host, epoch, forcedDownStart, limits, logger } = this.#options;
    epoch.whenRefused(() => {
      this.#accepted.keep();
      this.service.reportNow();
    });
    return new Fence({
      host,
      services,
      epoch,
      forcedDownStart,
      logger,
      cleanUp: () => manager.cleanUp(),
      recheckMs: limits.recheckMs,
      onFenced: () => {
        logger.error({ host }, 'This host was forced down: it stops at once, and leaves what it was doing');
        this.#wasDraining = this.service.state === 'draining';
        this.#lifetime.abort(new OperationAbortedError('The host was forced down'));
        void this.service.leave('the host was forced down');
      },
    });
  }

  /** Around all that it sends to hosts. */
  get #stamped(): readonly ClientInterceptor[] {
    const { api, epoch } = this.#options;
    return [...this.#connection.interceptors, epoch.stamp, ...(api.interceptors ?? [])];
  }

  get #conductorApi(): ConductorApi {
    const { transport, interceptors } = this.#connection;
    return new ConductorApi(transport, [...interceptors, this.#options.epoch.stamp]);
  }

  #makeApi({ services }: Records): ComputeApi {
    const { api, opsTopic } = this.#options;
    const { transport } = this.#connection;
    const topic = opsTopic !== null && { opsTopic };
    return new ComputeApi(transport, { services, ...topic, ...api, interceptors: this.#stamped });
  }

  /** For what begins something and comes to the ops server once the drain has begun. */
  #handOn(tasks: TaskRegistry): ServerInterceptor {
    const { name: host, logger } = this.#options;
    return handOnStarts({
      host,
      interceptors: this.#stamped,
      transport: this.#connection.transport,
      conductorApi: this.#conductorApi,
      tasks,
      logger,
      lifetime: this.#lifetime.signal,
      isDraining: () => this.service.state === 'draining',
    });
  }

  #makeManager(records: Records, tasks: TaskRegistry): ComputeManager {
    const { name, virt, networking, logger, limits, serviceDownTimeMs } = this.#options;
    const { vifPluggingTimeoutMs, recordsPatienceMs, shelvedOffloadMs, resizeConfirmWindowMs } =
      this.#options;
    const computeApi = this.#computeApi;
    const lifetime = this.#lifetime.signal;
    const events = new EventWaiters();
    const locks = new InstanceLocks(lifetime);
    const host = {
      host: name,
      records: patientRecords({ lifetime, logger, recordsPatienceMs }, records),
      virt,
      networking,
      liveness: new Liveness({ serviceDownTimeMs }),
      computeApi,
      conductorApi: this.#conductorApi,
      tasks,
      events,
      locks,
      accepted: this.#accepted,
      emit: untilAborted(lifetime, this.#options.notifications.ofHost(name)),
      logger,
      lifetime,
      vifPluggingTimeoutMs,
      shelvedOffloadMs,
      recordsPatienceMs,
    };
    return new ComputeManager(host, { ...limits, resizeConfirmWindowMs });
  }

  #makeService(records: Records, registry: TaskRegistry, compute: ComputeManager): Service {
    const { name, virt, budgets, logger, reportIntervalMs, health, ownsProcess } = this.#options;
    const { availabilityZone, allocationRatios, abortBeforeDeadline, onExit } = this.#options;
    const capacity = new CapacityReport(records.allocations, virt, allocationRatios);
    const version = this.opsServer ? COMPUTE_SERVICE_VERSION : SERVICE_VERSION_WITHOUT_OPS;
    const about = { binary: 'compute', host: name, version, availabilityZone };
    const reports = new StateReports({ services: records.services, service: about, logger });
    let tellDrain: () => void = () => undefined;
    const drainTold = new Promise<void>((resolve) => {
      tellDrain = resolve;
    });
    const service = new Service({
      name: 'compute',
      host: name,
      manager: {
        gate: (hold, signal) => this.#fence.gate(hold, signal),
        initHost: (signal) => compute.startUp(signal),
        periodic: compute.periodic,
        reportState: async (snapshot) => {
          await capacity.tell(name).catch(unlessFenced); // before the host says that it takes requests
          this.#fence.hear(await reports.tell(snapshot));
          if (snapshot.state === 'draining') tellDrain();
        },
      },
      newRequestServer: this.newRequestServer,
      ...(this.opsServer && { opsServer: this.opsServer }),
      registry,
      budgets,
      abortBeforeDeadline,
      reportIntervalMs,
      logger,
      ...(health && { health }),
      ...(ownsProcess && { onExit: () => this.end().then(() => (this.isReplaced ? undefined : onExit())) }),
    });
    reportDrain(service);
    service.events.on('state', ({ previous, state }) => {
      // Without it, or before it was started, nothing of a move would arrive.
      if (state !== 'draining' || !this.opsServer || this.opsServer.state === 'idle') return;
      compute.drainBegins(previous === 'running' ? drainTold : undefined);
    });
    return service;
  }
}

/** What is refused since the host was forced down keeps no report back: by its answer the host learns why. */
function unlessFenced(error: unknown): void {
  if (!(error instanceof FencedError)) throw error;
}

/** What a host answers to besides Nova's interface. */
function drainEndpoint(onDrainAsked: (reason: string) => void): object {
  const target = { namespace: HOST_NAMESPACE, version: HOST_RPC_VERSION };
  return makeEndpoint(HOST_METHODS, target, {
    drain_host: (_context, { reason }) => {
      onDrainAsked(reason);
    },
  });
}
