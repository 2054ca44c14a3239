import type { Logger, Transport } from '@ebbgate/core';
import { launch } from '@ebbgate/service';
import { waitForRecords } from '../db/open-records.js';
import { RemoteRecords } from '../db/remote-records.js';
import type { Records } from '../db/repositories.js';
import { schedulerService } from '../scheduler/scheduler-service.js';
import { brokerAt, daemonUrl } from './broker.js';
import { endWithParent, eventPrinter, stderrLog } from './daemon.js';
import type { SchedulerDaemonOptions } from './daemon-options.js';
import { whenThere } from './waiting-start.js';
import { runWorkers, serveForPool } from './worker-pool.js';

/** `ebbgate-compute scheduler`: a scheduler as a process, or as several. It ends with the exit code of its drain. */
export async function runScheduler(options: SchedulerDaemonOptions): Promise<void> {
  const open = await brokerAt(daemonUrl(options.transport), options.exchange);
  const logger = stderrLog(options.logLevel);
  const print = eventPrinter(options);
  if (options.workers > 1) {
    await runWorkers({ options, logger, print, firstIsOwner: false, argsOf: () => [] });
    return;
  }
  const transport = open(logger);
  const { done } = await whenThere({
    options,
    logger,
    open: () => recordsOf(options, transport, logger),
    begin: ({ records, close }) => {
      const { name, worker, serviceDownTime, budgets, health } = options;
      const service = schedulerService({
        name,
        transport,
        records,
        logger,
        serviceDownTimeMs: serviceDownTime * 1000,
        siblings: worker,
        budgets,
        ...(health !== undefined && { health: { port: health } }),
        onExit: async () => {
          await transport.close();
          await close();
        },
      });
      const serves = serveForPool(options, print);
      service.events.on('state', ({ state }) => {
        if (state === 'running') serves();
      });
      const launched = launch(service, { logger });
      endWithParent(options);
      return launched;
    },
  });
  await done;
}

async function recordsOf(
  { database, rpcResponseTimeout }: SchedulerDaemonOptions,
  transport: Transport,
  logger: Logger,
): Promise<{ readonly records: Records; readonly close: () => Promise<void> }> {
  if (database === undefined) {
    const records = new RemoteRecords(transport, { timeoutMs: rpcResponseTimeout * 1000 });
    return { records, close: () => Promise.resolve() };
  }
  const records = await waitForRecords(database, logger);
  return { records, close: () => records.close() };
}
