import type { Logger, Transport } from '@ebbgate/core';
import { RpcServer, type ServerInterceptor } from '@ebbgate/rpc';
import { type Launched, launch, Service, taskInterceptor, TaskRegistry } from '@ebbgate/service';
import { guardRecords } from '../db/guarded-records.js';
import type { Records } from '../db/repositories.js';
import { OperationAbortedError } from '../errors.js';
import { ComputeApi } from '../rpc/compute-api.js';
import { objectSerializer } from '../rpc/object-serializer.js';
import { RPC_TOPIC } from '../rpc/topics.js';
import { EventWaiters } from './event-waiters.js';
import type { CompleteHostOptions } from './host-options.js';
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
  #launched: Launched | undefined;

  /** @param observe - sees every request that arrives, on either server */
  constructor(options: CompleteHostOptions, observe: ServerInterceptor) {
    this.#options = options;
    this.#logger = options.logger;
    this.#transport = options.openTransport();
    const records = guardRecords(options.records, this.#lifetime.signal);
    const registry = new TaskRegistry({ logger: options.logger });
    const endpoint = this.#makeEndpoint(records, registry);
    const track = taskInterceptor(registry, { skip: (method) => SELF_TRACKED.has(method) });
    const serverOn = (topic: string): RpcServer =>
      new RpcServer(this.#transport, { topic, server: options.name }, [endpoint], {
        serializer: objectSerializer,
        interceptors: [observe, track],
      });
    this.newRequestServer = serverOn(RPC_TOPIC);
    this.opsServer = options.opsTopic === null ? undefined : serverOn(options.opsTopic);
    this.service = this.#makeService(records, registry);
  }

  /** Resolves when the service serves; rejects with what kept it from starting. */
  async start(): Promise<void> {
    const logger = this.#logger;
    this.#launched = this.#options.ownsProcess
      ? launch(this.service, { logger })
      : // The process has several hosts: its signals are not for one of them, nor does it end with one.
        launch(this.service, { logger, signals: [], exit: () => this.#end() });
    await this.service.start();
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

  #makeEndpoint(records: Records, tasks: TaskRegistry): object {
    const { name, virt, networking, logger, limits, api, opsTopic, vifPluggingTimeoutMs } = this.#options;
    const computeApi = new ComputeApi(this.#transport, { ...(opsTopic !== null && { opsTopic }), ...api });
    const lifetime = this.#lifetime.signal;
    const events = new EventWaiters();
    const host = {
      host: name,
      records,
      virt,
      networking,
      computeApi,
      tasks,
      events,
      logger,
      lifetime,
      vifPluggingTimeoutMs,
    };
    return new ComputeManager(host, limits).endpoint;
  }

  #makeService(records: Records, registry: TaskRegistry): Service {
    const { name, budgets, logger, reportIntervalMs, health, ownsProcess } = this.#options;
    return new Service({
      name: 'compute',
      host: name,
      manager: {
        reportState: ({ state, host }) =>
          records.services.report({ binary: 'compute', host, state, reportedAtMs: Date.now() }),
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
