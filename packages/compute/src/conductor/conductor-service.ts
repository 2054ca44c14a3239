import type { Logger, Transport } from '@ebbgate/core';
import { RpcServer } from '@ebbgate/rpc';
import {
  type DrainBudgets,
  type HealthOptions,
  Service,
  taskInterceptor,
  TaskRegistry,
} from '@ebbgate/service';
import { ExternalEvents } from '../api/external-events.js';
import type { ConductorCells } from '../cells/cell-access.js';
import type { LocalRecords } from '../db/local-records.js';
import { MemoryRecords } from '../db/memory-records.js';
import { RemoteRecords } from '../db/remote-records.js';
import type { Records } from '../db/repositories.js';
import { networkEndpoint } from '../network/endpoint.js';
import { StoredNetworking } from '../network/stored.js';
import { ComputeApi, type ComputeApiOptions } from '../rpc/compute-api.js';
import { novaContext } from '../rpc/nova-context.js';
import { objectSerializer } from '../rpc/object-serializer.js';
import { remoteErrors } from '../rpc/remote-errors.js';
import { CONDUCTOR_TOPIC, RECORDS_TOPIC } from '../rpc/topics.js';
import { LocalScheduler } from '../scheduler/local-scheduler.js';
import { RemoteScheduler } from '../scheduler/remote-scheduler.js';
import type { Scheduler } from '../scheduler/scheduler.js';
import { HostChoice } from './host-choice.js';
import { conductorEndpoint } from './manager.js';
import { recordsEndpoint } from './records-endpoint.js';

/** What a conductor that is a process of its own is made of. */
export interface ConductorServiceOptions {
  /** Its name among the conductors: the server of its topics. */
  readonly name: string;
  /** What it serves and sends with. */
  readonly transport: Transport;
  /**
   * `memory`: this one has the records, and serves them and the fake network service to all others on topic
   * `conductor-records`; one of all conductors does. `served`: likewise, with records that it is given, as several can that
   * have one database; it closes them at its end. `rpc`: it reaches them there. Records themselves: it uses those.
   */
  readonly records: 'memory' | 'rpc' | { readonly served: LocalRecords } | Records;
  /**
   * Who chooses hosts. `rpc`: the schedulers on topic `scheduler`; `local`: this process itself, by the same rules. Default
   * `local`.
   */
  readonly scheduler?: 'local' | 'rpc';
  /** Others share its topic: at its end it hands back at once what it has fetched and not begun. Default false. */
  readonly siblings?: boolean;
  /** Closes `transport` at its end; default true. */
  readonly ownsTransport?: boolean;
  /** The cells between which it moves instances; default: there are no others. */
  readonly cells?: ConductorCells;
  /** Where it logs. */
  readonly logger: Logger;
  /** A host that has not reported for longer is down; default 60000. */
  readonly serviceDownTimeMs?: number;
  /** How hosts are called. */
  readonly api?: ComputeApiOptions;
  /** What each part of a drain may take; what is left out has its default. */
  readonly budgets?: Partial<DrainBudgets>;
  /** Opens the health endpoints. */
  readonly health?: HealthOptions;
}

/** A conductor as a service that drains. */
export interface ConductorService {
  /** Starts it, drains it and tells its state. Not started yet. */
  readonly service: Service;
  /** The records, when they are here. */
  readonly own: LocalRecords | undefined;
  /** What SIGHUP is to do: reads the version cap again, and which versions the hosts have. */
  readonly reload: () => Promise<void>;
}

/**
 * Makes a conductor that drains: work is the business of its new-request server, on topic `conductor`. The server of the
 * records is its ops server, and so stays up while anything is under way that needs them.
 */
export function conductorService(options: ConductorServiceOptions): ConductorService {
  const { name, transport, logger, api, budgets, health, serviceDownTimeMs } = options;
  const { records, own } = recordsOf(options);
  const computeApi = new ComputeApi(transport, { services: records.services, ...api });
  const registry = new TaskRegistry({ logger });
  const hosts = new HostChoice({ ...(serviceDownTimeMs !== undefined && { serviceDownTimeMs }) });
  const scheduler = schedulerOf(options, records, hosts);
  const parts = { records, computeApi, scheduler, hosts, logger };
  const endpoint = conductorEndpoint({ ...parts, cells: options.cells });
  const newRequestServer = new RpcServer(transport, { topic: CONDUCTOR_TOPIC, server: name }, [endpoint], {
    serializer: objectSerializer,
    remoteErrors,
    interceptors: [taskInterceptor(registry)],
    ...(options.siblings === true && { fetched: 'release' }),
  });
  const service = new Service({
    name: 'conductor',
    host: name,
    manager: {
      reportState: ({ state, host }) =>
        records.services.report({ binary: 'conductor', host, state, reportedAtMs: Date.now() }),
    },
    newRequestServer,
    ...(own && { opsServer: serverOf(own, computeApi, options) }),
    registry,
    ...(budgets && { budgets }),
    ...(health && { health }),
    logger,
    onExit: async () => {
      if (options.ownsTransport ?? true) await transport.close();
      await own?.close();
    },
  });
  return { service, own, reload: () => computeApi.refresh() };
}

function schedulerOf(
  { scheduler, transport, logger, api }: ConductorServiceOptions,
  records: Records,
  hosts: HostChoice,
): Scheduler {
  const liveness = hosts.livenessOf(records);
  if (scheduler !== 'rpc') return new LocalScheduler({ records, logger, liveness });
  const rpcTimeoutMs = api?.rpcTimeoutMs;
  return new RemoteScheduler(transport, { ...(rpcTimeoutMs !== undefined && { rpcTimeoutMs }) });
}

function recordsOf({ records, transport, logger }: ConductorServiceOptions): {
  readonly records: Records;
  readonly own: LocalRecords | undefined;
} {
  if (records === 'rpc') return { records: new RemoteRecords(transport), own: undefined };
  if (records !== 'memory' && 'served' in records) return { records: records.served, own: records.served };
  if (records !== 'memory') return { records, own: undefined };
  const own = new MemoryRecords((error, event) => {
    logger.error({ err: error, event }, 'A listener to the records failed');
  });
  return { records: own, own };
}

/** What there is once: the records, and the network service with its word for plugged interfaces. */
function serverOf(
  records: LocalRecords,
  computeApi: ComputeApi,
  { name, transport, logger }: ConductorServiceOptions,
): RpcServer {
  const externalEvents = new ExternalEvents(records, computeApi);
  const networking = new StoredNetworking(records.networks, {
    notify: (event) => externalEvents.send(novaContext({ isAdmin: true }), event),
    onError: (error) => {
      logger.error({ err: error }, 'An external event was not sent');
    },
  });
  const endpoints = [recordsEndpoint(records), networkEndpoint(networking)];
  return new RpcServer(transport, { topic: RECORDS_TOPIC, server: name }, endpoints, {
    serializer: objectSerializer,
    remoteErrors,
  });
}
