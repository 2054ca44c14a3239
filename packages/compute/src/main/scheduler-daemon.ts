import type { Logger, Transport } from '@ebbgate/core';
import { launch } from '@ebbgate/service';
import { waitForRecords } from '../db/open-records.js';
import { RemoteRecords } from '../db/remote-records.js';
import type { Records } from '../db/repositories.js';
import { ProcessMetrics } from '../observability/process-metrics.js';
import { schedulerService } from '../scheduler/scheduler-service.js';
import { brokerAt, daemonUrl } from './broker.js';
import { endWithParent, eventPrinter, stderrLog } from './daemon.js';
import { openHealth } from './daemon-health.js';
import type { SchedulerDaemonOptions } from './daemon-options.js';
import { withDownTime } from './down-time.js';
import { whenThere } from './waiting-start.js';
import { runWorkers, serveForPool } from './worker-pool.js';

/** `ebbgate-compute scheduler`: a scheduler as a process, or as several. It ends with the exit code of its drain. */
export async function runScheduler(given: SchedulerDaemonOptions): Promise<void> {
  const open = await brokerAt(daemonUrl(given.transport), given);
  const logger = stderrLog(given.logLevel);
  const options = withDownTime(given, logger);
  const print = eventPrinter(options);
  if (options.workers > 1) {
    await runWorkers({ options, logger, print, firstIsOwner: false, argsOf: () => [] });
    return;
  }
  const metrics = new ProcessMetrics();
  const health = await openHealth(options, 'scheduler', metrics, logger);
  const transport = open(logger);
  const { done } = await whenThere({
    options,
    logger,
    open: () => recordsOf(options, transport, logger),
    begin: ({ records, close }) => {
      const { name, worker, serviceDownTime, budgets } = options;
      const service = schedulerService({
        name,
        transport,
        records,
        logger,
        serviceDownTimeMs: serviceDownTime * 1000,
        reportIntervalMs: options.reportInterval * 1000,
        siblings: worker,
        budgets,
        ...(health && { health }),
        onExit: async () => {
          await transport.close();
          await close();
        },
      });
      metrics.watch(service);
      metrics.watchTransport(transport);
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
