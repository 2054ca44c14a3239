import type { Logger, Transport, TypedEvents } from '@ebbgate/core';
import { type DrainBudgets, Service, type ServiceOptions, TaskRegistry } from '@ebbgate/service';
import type { CellRegistry } from '../cells/cell-access.js';
import type { RecordEvents } from '../db/memory-records.js';
import type { Records } from '../db/repositories.js';
import { RemoteNetworking } from '../network/remote.js';
import { NO_NOTIFICATIONS, type Notifications } from '../notifications/notifications.js';
import type { ProcessMetrics } from '../observability/process-metrics.js';
import { ComputeApi, type ComputeApiOptions } from '../rpc/compute-api.js';
import { ConductorApi } from '../rpc/conductor-api.js';
import { Liveness } from '../servicegroup/liveness.js';
import { createApp } from './app.js';
import type { TokenValidator } from './auth.js';
import { HttpServer, type ListenAddress } from './http-server.js';
import { HttpMetrics } from './metrics.js';
import type { Policy } from './policy.js';

/** What the API is made of. */
export interface ApiServiceOptions {
  /** Its name among the APIs. */
  readonly name: string;
  /** What it sends with; closed at its end. */
  readonly transport: Transport;
  /** Those of a database, or a conductor's. */
  readonly records: Records;
  /** All cells, which are shown together; default: there is one. */
  readonly cells?: CellRegistry | undefined;
  readonly listen: ListenAddress;
  /** Who has which token. */
  readonly validator: TokenValidator;
  /** Who may do what. */
  readonly policy: Policy;
  /** Tells those who listen outside what it was asked for; default: nobody is told. */
  readonly notifications?: Notifications;
  readonly logger: Logger;
  /** How hosts are called. */
  readonly api: ComputeApiOptions;
  /** A service that has not reported for longer is down. */
  readonly serviceDownTimeMs: number;
  /** Requests a second that each caller may make; 0: no limit. */
  readonly rateLimit: number;
  readonly budgets: DrainBudgets;
  /** The health endpoints. */
  readonly health?: ServiceOptions['health'];
  /** Those of the process, to which it adds its own; default: nothing is counted. */
  readonly metrics?: ProcessMetrics;
  /** Tells of each change of a record, whoever makes it; absent: the page for operators looks again and again. */
  readonly events?: TypedEvents<RecordEvents> | undefined;
  /** Runs when it has drained. */
  readonly onExit?: () => Promise<void>;
}

/** The API as a service that drains. */
export interface ApiService {
  readonly service: Service;
  readonly server: HttpServer;
  /** What SIGHUP is to do: reads the version cap again, and which versions the hosts have. */
  readonly reload: () => Promise<void>;
}

/**
 * Makes the API over HTTP: its listener is what a drain stops first, its requests are tasks that a drain waits for. It has
 * no record among the services, as upstream's is not listed either.
 * @throws ConfigurationError (`ERR_CONFIGURATION`) as {@link HttpServer} and {@link ComputeApi} do
 */
export function apiService(options: ApiServiceOptions): ApiService {
  const { name, transport, records, logger, budgets, health, rateLimit, validator, policy } = options;
  const tasks = new TaskRegistry({ logger });
  const liveness = new Liveness({ serviceDownTimeMs: options.serviceDownTimeMs });
  const computeApi = new ComputeApi(transport, { services: records.services, ...options.api });
  const conductor = new ConductorApi(transport, options.api.interceptors);
  const networking = new RemoteNetworking(transport, { timeoutMs: computeApi.rpcTimeoutMs });
  const { cells } = options;
  const { notifications = NO_NOTIFICATIONS } = options;
  const emitAsked = notifications.ofApi(name);
  const cloud = { records, computeApi, conductor, networking, liveness, emitAsked, ...(cells && { cells }) };
  const { events, metrics } = options;
  const parts = { ...cloud, validator, policy, rateLimit, tasks, logger };
  const counted = metrics && { metrics: new HttpMetrics(metrics.registry) };
  const app = createApp({ ...parts, ...counted, ...(events && { events }) });
  const server = new HttpServer(app, options.listen);
  const service = new Service({
    name: 'api',
    host: name,
    newRequestServer: server,
    registry: tasks,
    budgets,
    ...(health && { health }),
    logger,
    onExit: async () => {
      await notifications.settle();
      await transport.close();
      await options.onExit?.();
    },
  });
  metrics?.watch(service);
  metrics?.watchTransport(transport);
  metrics?.watchServices({ services: () => records.services.find({}), liveness });
  return { service, server, reload: () => computeApi.refresh() };
}
