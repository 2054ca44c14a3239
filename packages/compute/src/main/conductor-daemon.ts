import { ConfigurationError, type Logger } from '@ebbgate/core';
import { launch } from '@ebbgate/service';
import { conductorService } from '../conductor/conductor-service.js';
import { isPrivate } from '../db/database-url.js';
import type { LocalRecords } from '../db/local-records.js';
import { openRecords } from '../db/open-records.js';
import { encodeObjects } from '../objects/codec.js';
import { brokerAt, daemonUrl } from './broker.js';
import { apiOptions, endWithParent, eventPrinter, stderrLog } from './daemon.js';
import type { ConductorDaemonOptions } from './daemon-options.js';
import { runWorkers, serveForPool } from './worker-pool.js';

/**
 * `ebbgate-compute conductor`: a conductor as a process. It ends by itself, with the exit code of its drain. Several can
 * have one database: none keeps anything that another would need.
 */
export async function runConductor(options: ConductorDaemonOptions): Promise<void> {
  const open = await brokerAt(daemonUrl(options.transport), options.exchange);
  const logger = stderrLog(options.logLevel);
  const print = eventPrinter(options);
  if (options.workers > 1) {
    await runPool(options, logger, print);
    return;
  }
  const { name, budgets, health } = options;
  const records = await recordsOf(options, logger); // first: without them there is nothing to serve
  const { service, own, reload } = conductorService({
    name,
    records,
    scheduler: options.scheduler,
    siblings: options.worker || typeof records === 'object',
    transport: open(logger),
    logger,
    api: apiOptions(options, print),
    budgets,
    ...(health !== undefined && { health: { port: health } }),
  });
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
  const { done } = launch(service, { logger, onReload: reload });
  endWithParent(options);
  await done;
}

/** Without a database the first worker has the records, and the others use those. */
async function runPool(
  options: ConductorDaemonOptions,
  logger: Logger,
  print: ReturnType<typeof eventPrinter>,
): Promise<void> {
  if (options.database !== undefined && isPrivate(options.database)) {
    throw new ConfigurationError(
      '--workers above 1 need a --database that they can share: one in memory has one process',
    );
  }
  const firstIsOwner = options.database === undefined && options.records === 'memory';
  const argsOf = (index: number): readonly string[] =>
    firstIsOwner && index > 0 ? ['--records', 'rpc'] : [];
  await runWorkers({ options, logger, print, firstIsOwner, argsOf });
}

async function recordsOf(
  { database, records }: ConductorDaemonOptions,
  logger: Logger,
): Promise<'rpc' | 'memory' | { readonly served: LocalRecords }> {
  if (database !== undefined) {
    if (records === 'rpc')
      throw new ConfigurationError('--records rpc goes without --database: give one of them');
    return { served: await openRecords(database, { logger }) };
  }
  if (records === 'memory')
    logger.warn({}, 'The records are in memory, and are gone with this process: see --database');
  return records;
}
