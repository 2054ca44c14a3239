import { launch } from '@ebbgate/service';
import { conductorService } from '../conductor/conductor-service.js';
import { encodeObjects } from '../objects/codec.js';
import { brokerAt, daemonUrl } from './broker.js';
import { apiOptions, endWithParent, eventPrinter, stderrLog } from './daemon.js';
import type { ConductorDaemonOptions } from './daemon-options.js';

/** `ebbgate-compute conductor`: a conductor as a process. It ends by itself, with the exit code of its drain. */
export async function runConductor(options: ConductorDaemonOptions): Promise<void> {
  const open = await brokerAt(daemonUrl(options.transport));
  const logger = stderrLog(options.logLevel);
  const print = eventPrinter(options);
  const { name, records, budgets, health } = options;
  const { service, own } = conductorService({
    name,
    records,
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
  service.events.on('state', ({ state }) => {
    if (state === 'running') print({ kind: 'serves' });
  });
  const { done } = launch(service, { logger });
  endWithParent(options);
  await done;
}
