import { ComputeHost } from '../compute/compute-host.js';
import { RemoteRecords } from '../db/remote-records.js';
import { reportHost } from '../main-job/host-reports.js';
import { RemoteNetworking } from '../network/remote.js';
import { ProcessMetrics } from '../observability/process-metrics.js';
import { HostEpoch } from '../servicegroup/host-epoch.js';
import { FakeVirtDriver } from '../virt/fake.js';
import { brokerAt, daemonUrl } from './broker.js';
import { apiOptions, endWithParent, eventPrinter, stderrLog } from './daemon.js';
import type { ComputeDaemonOptions } from './daemon-options.js';
import { withDownTime } from './down-time.js';
import { openNotifications } from './open-notifications.js';
import { hostParts, journalIn, machinesIn, virtParts } from './host-parts.js';

/**
 * `ebbgate-compute compute`: one compute host as a process. It has no database: its records are a conductor's, reached
 * over RPC. It ends by itself, with the exit code of its drain.
 */
export async function runCompute(given: ComputeDaemonOptions): Promise<void> {
  const open = await brokerAt(daemonUrl(given.transport), given);
  const logger = stderrLog(given.logLevel);
  const options = withDownTime(given, logger);
  const print = eventPrinter(options);
  const transport = open(logger); // outlives the runs of the host, each of which has one of its own besides
  const { host: name, health: port, healthHost } = options;
  const metrics = new ProcessMetrics();
  if (port !== undefined) metrics.hear();
  metrics.watchTransport(transport);
  const epoch = new HostEpoch(name);
  const stamped = { interceptors: [epoch.stamp], timeoutMs: options.rpcResponseTimeout * 1000 };
  const networking = new RemoteNetworking(transport, stamped);
  const host = new ComputeHost({
    name,
    epoch,
    openTransport: () => {
      const own = open(logger);
      metrics.watchTransport(own);
      return own;
    },
    records: new RemoteRecords(transport, stamped),
    networking,
    virt: new FakeVirtDriver(name, {
      network: machinesIn(options.stateDir),
      networking,
      ...virtParts(options, logger),
    }),
    journal: journalIn(options.stateDir, name, logger), // of a host whose name can be a folder's: the hypervisor says so
    logger,
    api: apiOptions(options, print),
    serviceDownTimeMs: options.serviceDownTime * 1000,
    notifications: openNotifications(options, () => transport, logger),
    ...hostParts(options),
    ...(port !== undefined && { health: { port, host: healthHost, metrics: () => metrics.text() } }),
    ownsProcess: true,
    onExit: () => transport.close(),
  });
  host.events.on('started', ({ service }) => {
    metrics.watch(service);
  });
  reportHost(host, print);
  const started = host.start();
  endWithParent(options);
  await started.catch(() => undefined); // logged by the service; the exit code says so
}
