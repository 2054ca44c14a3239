import type { Logger, Transport } from '@ebbgate/core';
import { launch } from '@ebbgate/service';
import { waitForRecords } from '../db/open-records.js';
import { RemoteRecords } from '../db/remote-records.js';
import type { Records } from '../db/repositories.js';
import { checkPorts } from './api-flags.js';
import { apiOf } from './api-parts.js';
import { brokerAt, daemonUrl } from './broker.js';
import { endWithParent, stderrLog } from './daemon.js';
import type { ApiDaemonOptions } from './daemon-options.js';
import { whenThere } from './waiting-start.js';

/** `ebbgate-compute api`: the HTTP API as a process. It ends with the exit code of its drain. */
export async function runApi(options: ApiDaemonOptions): Promise<void> {
  const { listen, health } = options;
  checkPorts(listen, health);
  const open = await brokerAt(daemonUrl(options.transport), options.exchange);
  const logger = stderrLog(options.logLevel);
  const transport = open(logger);
  const { done } = await whenThere({
    options,
    logger,
    open: () => recordsOf(options, transport, logger),
    begin: ({ records, close }) => {
      const { service, reload } = apiOf(options, {
        transport,
        records,
        logger,
        ...(health !== undefined && { health: { port: health } }),
        onExit: close,
      });
      const launched = launch(service, { logger, onReload: reload });
      endWithParent(options);
      return launched;
    },
  });
  await done;
}

async function recordsOf(
  { database, rpcResponseTimeout }: ApiDaemonOptions,
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
