import type { Logger, Transport } from '@ebbgate/core';
import { launch } from '@ebbgate/service';
import { waitForRecords } from '../db/open-records.js';
import { RemoteRecords } from '../db/remote-records.js';
import type { Records } from '../db/repositories.js';
import type { Notifications } from '../notifications/notifications.js';
import { ProcessMetrics } from '../observability/process-metrics.js';
import { checkPorts } from './api-flags.js';
import { apiOf } from './api-parts.js';
import { brokerAt, daemonUrl } from './broker.js';
import { hasCells, type OpenCells, openCells } from './conductor-cells.js';
import { apiOptions, endWithParent, eventPrinter, stderrLog } from './daemon.js';
import { openHealth } from './daemon-health.js';
import { withDownTime } from './down-time.js';
import type { ApiDaemonOptions } from './daemon-options.js';
import { openNotifications } from './open-notifications.js';
import { whenThere } from './waiting-start.js';

/** `ebbgate-compute api`: the HTTP API as a process. It ends with the exit code of its drain. */
export async function runApi(given: ApiDaemonOptions): Promise<void> {
  checkPorts(given.listen, given.health);
  const open = await brokerAt(daemonUrl(given.transport), given);
  const logger = stderrLog(given.logLevel);
  const options = withDownTime(given, logger);
  const metrics = new ProcessMetrics();
  const health = await openHealth(options, 'api', metrics, logger);
  const transport = open(logger);
  const notifications = openNotifications(options, () => transport, logger);
  const { done } = await whenThere({
    options,
    logger,
    open: () => openParts(options, { transport, notifications, logger }),
    begin: ({ records, between, close }) => {
      const { service, reload } = apiOf(options, {
        transport,
        records,
        cells: between?.cells.registry,
        notifications,
        logger,
        metrics,
        ...(health && { health }),
        onExit: close,
      });
      const launched = launch(service, {
        logger,
        onReload: async () => {
          await Promise.all([reload(), between?.refresh()]);
        },
      });
      endWithParent(options);
      return launched;
    },
  });
  await done;
}

/** By what it is opened. */
interface Opening {
  readonly transport: Transport;
  readonly notifications: Notifications;
  readonly logger: Logger;
}

/** What an API shows. */
interface Parts {
  readonly records: Records;
  /** Undefined: there is one cell. */
  readonly between?: OpenCells;
  readonly close: () => Promise<void>;
}

async function openParts(
  options: ApiDaemonOptions,
  { transport, notifications, logger }: Opening,
): Promise<Parts> {
  const { database, rpcResponseTimeout } = options;
  const withCells = hasCells(options, database);
  if (database === undefined) {
    const records = new RemoteRecords(transport, { timeoutMs: rpcResponseTimeout * 1000 });
    return { records, close: () => Promise.resolve() };
  }
  const records = await waitForRecords(database, logger);
  notifications.ofRecords(records.events, options.name);
  if (!withCells) return { records, close: () => records.close() };
  const api = apiOptions(options, eventPrinter(options));
  const between = await openCells(options, { records, transport, api, logger });
  return {
    records,
    between,
    close: async () => {
      await between.close();
      await records.close();
    },
  };
}
