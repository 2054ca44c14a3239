import type { Logger, Transport } from '@ebbgate/core';
import { RpcServer } from '@ebbgate/rpc';
import {
  type DrainBudgets,
  type PeriodicTask,
  Service,
  type ServiceOptions,
  taskInterceptor,
  TaskRegistry,
} from '@ebbgate/service';
import { ExternalEvents } from '../api/external-events.js';
import type { ConductorCells } from '../cells/cell-access.js';
import type { LocalRecords } from '../db/local-records.js';
import { MemoryRecords } from '../db/memory-records.js';
import { RemoteRecords } from '../db/remote-records.js';
import type { Records } from '../db/repositories.js';
import { MemoryJournal, type RequestJournal } from '../compute/request-journal.js';
import { networkEndpoint } from '../network/endpoint.js';
import type { Networking } from '../network/networking.js';
import { RemoteNetworking } from '../network/remote.js';
import { StoredNetworking } from '../network/stored.js';
import { NO_NOTIFICATIONS, type Notifications } from '../notifications/notifications.js';
import { ComputeApi, type ComputeApiOptions } from '../rpc/compute-api.js';
import { novaContext } from '../rpc/nova-context.js';
import { objectSerializer } from '../rpc/object-serializer.js';
import { remoteErrors } from '../rpc/remote-errors.js';
import { CONDUCTOR_TOPIC, RECORDS_TOPIC } from '../rpc/topics.js';
import { LocalScheduler } from '../scheduler/local-scheduler.js';
import { RemoteScheduler } from '../scheduler/remote-scheduler.js';
import type { Scheduler } from '../scheduler/scheduler.js';
import { SenderEpochs } from '../servicegroup/sender-epochs.js';
import { StateReports } from '../servicegroup/state-reports.js';
import { acceptedBy, takeUpAccepted } from './accepted-work.js';
import { CrossCellRecovery } from './cross-cell-recovery.js';
import type { ConductorContext } from './conductor-context.js';
import { HostChoice } from './host-choice.js';
import { conductorEndpoint } from './manager.js';
import { objectsEndpoint } from './objects-endpoint.js';
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
  /**
   * Where it writes what it has accepted until that has ended; the next run of its name takes it up. Default: in memory,
   * and gone with it.
   */
  readonly journal?: RequestJournal;
  /** Others share its topic: at its end it hands back at once what it has fetched and not begun. Default false. */
  readonly siblings?: boolean;
  /** Closes `transport` at its end; default true. */
  readonly ownsTransport?: boolean;
  /** An instance may get its new size on the host where it is; default false. */
  readonly allowResizeToSameHost?: boolean;
  /** The cells between which it moves instances; default: there are no others. */
  readonly cells?: ConductorCells;
  /** Ports and their bindings; default: the fake network service beside the records, here or where they are served. */
  readonly networking?: Networking;
  /**
   * How many more hosts are asked when one cannot take an instance that moves live; 0: none, -1: as many as there are.
   * Default -1.
   */
  readonly migrateMaxRetries?: number;
  /** Tells those who listen outside what it could not do; default: nobody is told. */
  readonly notifications?: Notifications;
  /** Where it logs. */
  readonly logger: Logger;
  /** A host that has not reported for longer is down; default 60000. */
  readonly serviceDownTimeMs?: number;
  /** How hosts are called. */
  readonly api?: ComputeApiOptions;
  /** From one state report to the next; default 10000. */
  readonly reportIntervalMs?: number;
  /** What each part of a drain may take; what is left out has its default. */
  readonly budgets?: Partial<DrainBudgets>;
  /** The health endpoints. */
  readonly health?: ServiceOptions['health'];
  /** Runs at its end, before what it has is closed. */
  readonly onExit?: () => Promise<void>;
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
  const { name, transport, logger, api, budgets, health, reportIntervalMs } = options;
  const { records, own } = recordsOf(options);
  const computeApi = new ComputeApi(transport, { services: records.services, ...api });
  const registry = new TaskRegistry({ logger });
  const about = { binary: 'conductor', host: name };
  const reports = new StateReports({ services: records.services, service: about, logger });
  const stored = own && storedNetworking(own, computeApi, logger);
  const parts = contextOf(options, records, computeApi, stored);
  const endpoints = [conductorEndpoint(parts), objectsEndpoint(records)];
  const lifetime = new AbortController();
  const accepted = acceptedBy(options.journal ?? new MemoryJournal(), logger, lifetime.signal);
  const senders = new SenderEpochs({ services: records.services, logger });
  own?.events.on('service', (record) => {
    senders.hear(record);
  });
  const newRequestServer = new RpcServer(transport, { topic: CONDUCTOR_TOPIC, server: name }, endpoints, {
    serializer: objectSerializer,
    remoteErrors,
    beforeAccept: accepted.accept,
    interceptors: [accepted.interceptor, senders.interceptor, taskInterceptor(registry)],
    ...(options.siblings === true && { fetched: 'release' }),
  });
  const service = new Service({
    name: 'conductor',
    host: name,
    manager: {
      initHost: (signal) =>
        takeUpAccepted({ conductor: parts, accepted, tasks: registry, lifetime: lifetime.signal }, signal),
      reportState: async (snapshot) => {
        await reports.tell(snapshot);
      },
      ...periodicOf(parts),
    },
    newRequestServer,
    ...(own && stored && { opsServer: serverOf(own, stored, senders, options) }),
    registry,
    ...(budgets && { budgets }),
    ...(health && { health }),
    ...(reportIntervalMs !== undefined && { reportIntervalMs }),
    logger,
    onExit: async () => {
      lifetime.abort();
      await Promise.all([options.onExit?.(), options.notifications?.settle()]);
      if (options.ownsTransport ?? true) await transport.close();
      await own?.close();
    },
  });
  return { service, own, reload: () => computeApi.refresh() };
}

function contextOf(
  options: ConductorServiceOptions,
  records: Records,
  computeApi: ComputeApi,
  stored: Networking | undefined,
): ConductorContext {
  const { transport, logger, serviceDownTimeMs, cells } = options;
  const { migrateMaxRetries = -1, allowResizeToSameHost = false } = options;
  const { notifications = NO_NOTIFICATIONS } = options;
  const emit = notifications.ofConductor(options.name);
  const hosts = new HostChoice({ ...(serviceDownTimeMs !== undefined && { serviceDownTimeMs }) });
  const scheduler = schedulerOf(options, records, hosts);
  const { rpcTimeoutMs: timeoutMs } = computeApi;
  const networking = options.networking ?? stored ?? new RemoteNetworking(transport, { timeoutMs });
  const limits = { migrateMaxRetries, allowResizeToSameHost };
  return { records, computeApi, scheduler, hosts, networking, ...limits, emit, logger, cells };
}

function periodicOf(conductor: ConductorContext): { readonly periodic?: readonly PeriodicTask[] } {
  const { cells } = conductor;
  if (!cells) return {};
  const recovery = new CrossCellRecovery(conductor, cells);
  const often = { intervalMs: cells.registry.beatMs, initialDelayMs: 0 };
  return { periodic: [{ name: 'cross_cell_recovery', ...often, run: () => recovery.look() }] };
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

function recordsOf({ records, transport, logger, api }: ConductorServiceOptions): {
  readonly records: Records;
  readonly own: LocalRecords | undefined;
} {
  if (records === 'rpc') {
    const timeoutMs = api?.rpcTimeoutMs;
    const remote = new RemoteRecords(transport, { ...(timeoutMs !== undefined && { timeoutMs }) });
    return { records: remote, own: undefined };
  }
  if (records !== 'memory' && 'served' in records) return { records: records.served, own: records.served };
  if (records !== 'memory') return { records, own: undefined };
  const own = new MemoryRecords((error, event) => {
    logger.error({ err: error, event }, 'A listener to the records failed');
  });
  return { records: own, own };
}

/** The network service, with its word for plugged interfaces. */
export function storedNetworking(
  records: LocalRecords,
  computeApi: ComputeApi,
  logger: Logger,
): StoredNetworking {
  const externalEvents = new ExternalEvents(records, computeApi);
  return new StoredNetworking(records.networks, {
    notify: (event) => externalEvents.send(novaContext({ isAdmin: true }), event),
    onError: (error) => {
      logger.error({ err: error }, 'An external event was not sent');
    },
  });
}

/** What there is once: the records and the network service. */
function serverOf(
  records: LocalRecords,
  networking: StoredNetworking,
  senders: SenderEpochs,
  { name, transport }: ConductorServiceOptions,
): RpcServer {
  const endpoints = [recordsEndpoint(records), networkEndpoint(networking)];
  return new RpcServer(transport, { topic: RECORDS_TOPIC, server: name }, endpoints, {
    serializer: objectSerializer,
    remoteErrors,
    interceptors: [senders.interceptor],
  });
}
