import type { Logger, Transport } from '@ebbgate/core';
import { exitCodeOf, exitCodes, type Service } from '@ebbgate/service';
import { ComputeHost } from '../compute/compute-host.js';
import { conductorService } from '../conductor/conductor-service.js';
import type { LocalRecords } from '../db/local-records.js';
import { waitForRecords } from '../db/open-records.js';
import { RemoteRecords } from '../db/remote-records.js';
import { encodeObjects } from '../objects/codec.js';
import { reportHost } from '../main-job/host-reports.js';
import { RemoteNetworking } from '../network/remote.js';
import type { Notifications } from '../notifications/notifications.js';
import { ProcessMetrics } from '../observability/process-metrics.js';
import { schedulerService } from '../scheduler/scheduler-service.js';
import { HostEpoch } from '../servicegroup/host-epoch.js';
import { Liveness } from '../servicegroup/liveness.js';
import { FakeVirtDriver } from '../virt/fake.js';
import { HypervisorNetwork } from '../virt/hypervisor-network.js';
import { openControl } from './all-in-one-control.js';
import { HostPart } from './all-in-one-host.js';
import { checkPorts } from './api-flags.js';
import { apiOf } from './api-parts.js';
import { brokerAt, type OpenTransport } from './broker.js';
import { apiOptions, endWithParent, eventPrinter, stderrLog } from './daemon.js';
import { jointHealth, openHealth } from './daemon-health.js';
import type { AllInOneOptions } from './daemon-options.js';
import { databaseIn, defaultStateDir } from './default-place.js';
import { HostLog } from './host-log.js';
import { conductorJournalIn, hostParts, journalIn, machinesIn, virtParts } from './host-parts.js';
import { openNotifications } from './open-notifications.js';
import { limited, type StartablePart } from './startable-part.js';
import { withDownTime } from './down-time.js';
import { Supervisor } from './supervisor.js';
import { whenThere } from './waiting-start.js';

const NAME = 'all-in-one';
/** After these nothing is waited for. */
const AT_ONCE: readonly number[] = [exitCodes.interrupted, exitCodes.timedOut];

type PlacedOptions = AllInOneOptions & { readonly database: string };

interface Opened {
  readonly records: LocalRecords;
  readonly conductors: readonly StartablePart[];
  readonly schedulers: readonly StartablePart[];
  readonly hosts: readonly StartablePart[];
  readonly apis: readonly StartablePart[];
  readonly supervisor: Supervisor;
  readonly closeControl: () => void;
  /** What the records and the network service of all hosts are reached by. */
  readonly shared: Transport;
}

/**
 * `ebbgate-compute all-in-one`: everything in one process, each part as it would be in one of its own. The hosts drain
 * first, since what they finish needs the others; then the conductors, then the schedulers, which they ask, and at last
 * the API, by which all that can be watched. One time limit is for all of them.
 */
export async function runAllInOne(given: AllInOneOptions): Promise<void> {
  const logger = stderrLog(given.logLevel);
  const options = withDownTime(placed(given), logger);
  if (options.listen) checkPorts(options.listen, options.health);
  const openAt = await brokerAt(options.transport ?? 'memory:', options);
  const metrics = new ProcessMetrics();
  const health = await openHealth({ ...options, name: NAME }, NAME, metrics, logger);
  const open: OpenTransport = (log) => {
    const transport = openAt(log);
    metrics.watchTransport(transport);
    return transport;
  };
  const { supervisor, records, closeControl, shared } = await whenThere({
    options,
    logger,
    open: () => openParts(options, open, metrics, logger),
    begin: (opened) => {
      const { hosts, conductors, schedulers, apis, supervisor } = opened;
      const parts = [...schedulers, ...conductors, ...hosts, ...apis];
      health?.show(() =>
        jointHealth(
          NAME,
          parts.flatMap(({ service }) => service ?? []),
        ),
      );
      supervisor.hearSignals();
      const print = eventPrinter(options);
      void startAll(parts, () => {
        supervisor.serves();
        print({ kind: 'serves' });
      });
      endWithParent(options);
      return opened;
    },
  });
  const code = await supervisor.done;
  closeControl();
  if (!AT_ONCE.includes(code)) await shared.close().catch(() => undefined); // what is left of it goes by itself
  await records.close().catch(() => undefined); // nobody writes any more, and the process ends anyhow
  process.exit(code);
}

/** All parts; none is started. */
async function openParts(
  options: PlacedOptions,
  open: OpenTransport,
  metrics: ProcessMetrics,
  logger: Logger,
): Promise<Opened> {
  const records = await waitForRecords(options.database, logger);
  const notifications = openNotifications(options, () => open(logger), logger);
  notifications.ofRecords(records.events, NAME);
  const conductors = conductorParts(options, { records, open, notifications, logger });
  const schedulers = schedulerParts(options, records, open, logger);
  const shared = open(logger); // outlives the runs of all hosts; each run has one of its own besides
  const named = hostsOf(options, shared, { open, metrics, notifications, logger });
  const hosts = [...named.values()];
  const closeControl = await openControl(options, named, open, logger);
  const apis = apiParts(options, { records, open, metrics, notifications, logger });
  for (const { service } of [...conductors, ...schedulers]) if (service) metrics.watch(service);
  if (apis.length === 0) {
    const liveness = new Liveness({ serviceDownTimeMs: options.serviceDownTime * 1000 });
    metrics.watchServices({ services: () => records.services.find({}), liveness });
  }
  const supervisor = new Supervisor({
    stages: [hosts, conductors, schedulers, apis],
    gracefulShutdownTimeoutMs: options.budgets.gracefulShutdownTimeoutMs,
    logger,
  });
  return { records, conductors, schedulers, hosts, apis, supervisor, closeControl, shared };
}

/** Records and guests are kept together: where the ones are given and the others are not, those are in memory. */
function placed(options: AllInOneOptions): PlacedOptions {
  const { database, stateDir, exchange } = options;
  if (database !== undefined) return { ...options, database };
  const folder = stateDir ?? defaultStateDir(exchange);
  return { ...options, database: databaseIn(folder), stateDir: folder };
}

/** What the parts have in common. */
interface Shared {
  readonly open: OpenTransport;
  readonly notifications: Notifications;
  readonly logger: Logger;
}

/** The first has the server of the records. */
function conductorParts(
  options: AllInOneOptions,
  { records, open, notifications, logger }: Shared & { readonly records: LocalRecords },
): readonly StartablePart[] {
  const { workers, budgets } = options;
  const print = eventPrinter(options);
  const { instances, migrations, services, allocations, cells, mappings, networks, events } = records;
  const shared = { instances, migrations, services, allocations, cells, mappings, networks, events };
  const served: LocalRecords = { ...shared, close: () => Promise.resolve() }; // closed when all parts have ended
  events.on('instance', (record) => {
    print({ kind: 'record', record: encodeObjects(record) });
  });
  events.on('migration', (record) => {
    print({ kind: 'record', record: encodeObjects(record) });
  });
  return numbered('conductor', workers).map((name, index) => {
    const { service, reload } = conductorService({
      serviceDownTimeMs: options.serviceDownTime * 1000,
      reportIntervalMs: options.reportInterval * 1000,
      name,
      transport: open(logger),
      records: index === 0 ? { served } : records,
      scheduler: 'rpc',
      migrateMaxRetries: options.migrateMaxRetries,
      allowResizeToSameHost: options.allowResizeToSameHost,
      siblings: workers > 1,
      notifications,
      ...(options.stateDir !== undefined && { journal: conductorJournalIn(options.stateDir, name, logger) }),
      logger,
      api: apiOptions(options, print),
      budgets,
    });
    return servicePart(service, reload, logger);
  });
}

function schedulerParts(
  { workers, budgets, serviceDownTime, reportInterval }: AllInOneOptions,
  records: LocalRecords,
  open: OpenTransport,
  logger: Logger,
): readonly StartablePart[] {
  const times = { serviceDownTimeMs: serviceDownTime * 1000, reportIntervalMs: reportInterval * 1000 };
  const common = { records, logger, budgets, ...times };
  return numbered('scheduler', workers).map((name) => {
    const service = schedulerService({ ...common, name, transport: open(logger), siblings: workers > 1 });
    return servicePart(service, () => Promise.resolve(), logger);
  });
}

function apiParts(
  options: AllInOneOptions,
  {
    records,
    open,
    metrics,
    notifications,
    logger,
  }: Shared & {
    readonly records: LocalRecords;
    readonly metrics: ProcessMetrics;
  },
): readonly StartablePart[] {
  const { listen } = options;
  if (!listen) return [];
  const its = { ...options, name: 'api-1', listen };
  const { events } = records;
  const { service, reload } = apiOf(its, {
    transport: open(logger),
    records,
    events,
    metrics,
    notifications,
    logger,
  });
  return [servicePart(service, reload, logger)];
}

function numbered(what: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `${what}-${String(index + 1)}`);
}

/** By their names. */
function hostsOf(
  options: AllInOneOptions,
  shared: Transport,
  { open, metrics, notifications, logger }: Shared & { readonly metrics: ProcessMetrics },
): ReadonlyMap<string, HostPart> {
  const print = eventPrinter(options);
  const network = options.stateDir === undefined ? new HypervisorNetwork() : machinesIn(options.stateDir);
  const parts = options.hosts.map((name) => {
    const log = new HostLog(logger);
    const epoch = new HostEpoch(name);
    const stamped = { interceptors: [epoch.stamp], timeoutMs: options.rpcResponseTimeout * 1000 };
    const networking = new RemoteNetworking(shared, stamped);
    const records = new RemoteRecords(shared, stamped);
    const host = new ComputeHost({
      name,
      epoch,
      openTransport: () => open(log),
      records,
      networking,
      virt: new FakeVirtDriver(name, { network, networking, ...virtParts(options, logger) }),
      ...(options.stateDir !== undefined && { journal: journalIn(options.stateDir, name, logger) }),
      logger: log,
      api: apiOptions(options, print),
      serviceDownTimeMs: options.serviceDownTime * 1000,
      notifications,
      ...hostParts(options),
    });
    host.events.on('started', ({ service }) => metrics.watch(service));
    reportHost(host, print);
    return [name, new HostPart(host, log)] as const;
  });
  return new Map(parts);
}

/** Those that others need come first; what cannot start ends all, by its own exit code. */
async function startAll(parts: readonly StartablePart[], whenStarted: () => void): Promise<void> {
  try {
    for (const part of parts) await part.start();
    whenStarted();
  } catch {
    // It was logged, and the supervisor has seen the part end.
  }
}

function servicePart(service: Service, reload: () => Promise<void>, logger: Logger): StartablePart {
  return {
    name: `${service.name} ${service.host}`,
    ended: service.exited.then(exitCodeOf),
    service,
    start: () => service.start(),
    drain: (withinMs) => void service.drain('the process ends', limited(withinMs)),
    endAtOnce: () => undefined, // it ends with the process
    reload: () => {
      reload().catch((error: unknown) => {
        logger.error({ err: error }, 'The configuration could not be read again; the old one stays');
      });
    },
  };
}
