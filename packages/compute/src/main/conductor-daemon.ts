import { ConfigurationError, type Logger, type Transport } from '@ebbgate/core';
import { type HealthServer, launch, type Launched } from '@ebbgate/service';
import { conductorService } from '../conductor/conductor-service.js';
import { isPrivate } from '../db/database-url.js';
import type { LocalRecords } from '../db/local-records.js';
import { waitForRecords } from '../db/open-records.js';
import { encodeObjects } from '../objects/codec.js';
import { ProcessMetrics } from '../observability/process-metrics.js';
import type { ComputeApiOptions } from '../rpc/compute-api.js';
import { Liveness } from '../servicegroup/liveness.js';
import { brokerAt, daemonUrl, type OpenTransport } from './broker.js';
import { apiOptions, endWithParent, eventPrinter, stderrLog } from './daemon.js';
import { hasCells, type OpenCells, openCells } from './conductor-cells.js';
import { openHealth } from './daemon-health.js';
import type { ConductorDaemonOptions } from './daemon-options.js';
import type { FileJournal } from '../compute/request-journal.js';
import { databaseIn, defaultStateDir, makeFolder } from './default-place.js';
import { withDownTime } from './down-time.js';
import { conductorJournalIn } from './host-parts.js';
import { openNotifications } from './open-notifications.js';
import { whenThere } from './waiting-start.js';
import { runWorkers, serveForPool } from './worker-pool.js';

/**
 * `ebbgate-compute conductor`: a conductor as a process. It ends by itself, with the exit code of its drain. Several can
 * have one database: none keeps anything that another would need.
 */
export async function runConductor(given: ConductorDaemonOptions): Promise<void> {
  const open = await brokerAt(daemonUrl(given.transport), given);
  const logger = stderrLog(given.logLevel);
  const options = withDownTime(given, logger);
  const print = eventPrinter(options);
  if (options.workers > 1) {
    await runPool(options, logger, print);
    return;
  }
  const metrics = new ProcessMetrics();
  const health = await openHealth(options, 'conductor', metrics, logger);
  const { done } = await whenThere({
    options,
    logger,
    open: () => openParts(options, open, print, logger),
    begin: (parts) => begin(options, { ...parts, metrics, health }, print, logger),
  });
  await done;
}

/** What a conductor is made of. */
interface Parts {
  readonly transport: Transport;
  readonly api: ComputeApiOptions;
  readonly records: 'rpc' | { readonly served: LocalRecords };
  readonly between: OpenCells | undefined;
  /** Undefined: what it has accepted is gone with its records. */
  readonly journal: FileJournal | undefined;
}

/** By which it is watched. */
interface Watched {
  readonly metrics: ProcessMetrics;
  readonly health: HealthServer | undefined;
}

async function openParts(
  options: ConductorDaemonOptions,
  open: OpenTransport,
  print: ReturnType<typeof eventPrinter>,
  logger: Logger,
): Promise<Parts> {
  const withCells = hasCells(options, options.records === 'rpc' ? undefined : databaseOf(options));
  const records = await recordsOf(options, logger); // first: without them there is nothing to serve
  const transport = open(logger);
  const api = apiOptions(options, print);
  const between =
    withCells && records !== 'rpc'
      ? await openCells(options, { records: records.served, transport, api, logger })
      : undefined;
  return { transport, api, records, between, journal: journalOf(options, logger) };
}

function begin(
  options: ConductorDaemonOptions,
  { transport, api, records, between, journal, metrics, health }: Parts & Watched,
  print: ReturnType<typeof eventPrinter>,
  logger: Logger,
): Launched {
  const { name, budgets, serviceDownTime } = options;
  const notifications = openNotifications(options, () => transport, logger);
  const { service, own, reload } = conductorService({
    name,
    records,
    scheduler: options.scheduler,
    migrateMaxRetries: options.migrateMaxRetries,
    allowResizeToSameHost: options.allowResizeToSameHost,
    siblings: hasSiblings(options),
    notifications,
    ...(journal && { journal }),
    transport,
    logger,
    api,
    serviceDownTimeMs: serviceDownTime * 1000,
    reportIntervalMs: options.reportInterval * 1000,
    ...(between && { cells: between.cells, onExit: between.close }),
    budgets,
    ...(health && { health }),
  });
  metrics.watch(service);
  metrics.watchTransport(transport);
  if (own) notifications.ofRecords(own.events, name);
  if (own) {
    const liveness = new Liveness({ serviceDownTimeMs: serviceDownTime * 1000 });
    metrics.watchServices({ services: () => own.services.find({}), liveness });
  }
  own?.events.on('instance', (record) => {
    print({ kind: 'record', record: encodeObjects(record) });
  });
  own?.events.on('migration', (record) => {
    print({ kind: 'record', record: encodeObjects(record) });
  });
  const serves = serveForPool(options, print);
  service.events.on('state', ({ state }) => {
    if (state === 'running') serves();
  });
  const launched = launch(service, {
    logger,
    onReload: async () => {
      await Promise.all([reload(), between?.refresh()]);
    },
  });
  endWithParent(options);
  return launched;
}

/** Others may share its topic: those of its pool, or of its database. */
function hasSiblings(options: ConductorDaemonOptions): boolean {
  return options.worker || options.records === 'rpc' || !isPrivate(databaseOf(options));
}

/** With a database in memory the first worker has the records, and the others use those. */
async function runPool(
  options: ConductorDaemonOptions,
  logger: Logger,
  print: ReturnType<typeof eventPrinter>,
): Promise<void> {
  const firstIsOwner = options.records === 'database' && isPrivate(databaseOf(options));
  const argsOf = (index: number): readonly string[] =>
    firstIsOwner && index > 0 ? ['--records', 'rpc'] : [];
  await runWorkers({ options, logger, print, firstIsOwner, argsOf });
}

async function recordsOf(
  options: ConductorDaemonOptions,
  logger: Logger,
): Promise<'rpc' | { readonly served: LocalRecords }> {
  if (options.records === 'rpc') {
    // A worker has the flags of its pool, too.
    if (options.database !== undefined && !options.worker)
      throw new ConfigurationError('--records rpc goes without --database: give one of them');
    return 'rpc';
  }
  const database = databaseOf(options);
  if (isPrivate(database))
    logger.warn({}, 'The records are in memory, and are gone with this process: see --database');
  return { served: await waitForRecords(database, logger) };
}

/** @throws ConfigurationError (`ERR_CONFIGURATION`) when its folder cannot be made */
function journalOf(options: ConductorDaemonOptions, logger: Logger): FileJournal | undefined {
  const { name, records, stateDir, exchange, database } = options;
  if (records === 'database' && isPrivate(databaseOf(options))) return undefined;
  const folder = stateDir ?? defaultStateDir(exchange);
  makeFolder(folder, 'journal', '--state-dir');
  return conductorJournalIn(folder, name, logger, database);
}

function databaseOf({ database, stateDir, exchange }: ConductorDaemonOptions): string {
  return database ?? databaseIn(stateDir ?? defaultStateDir(exchange));
}
