import { ComputeHost } from '../compute/compute-host.js';
import { RemoteRecords } from '../db/remote-records.js';
import { reportHost } from '../main-job/host-reports.js';
import { RemoteNetworking } from '../network/remote.js';
import { HostEpoch } from '../servicegroup/host-epoch.js';
import { FakeVirtDriver } from '../virt/fake.js';
import { HypervisorDirectory } from '../virt/hypervisor-directory.js';
import { brokerAt, daemonUrl } from './broker.js';
import { apiOptions, endWithParent, eventPrinter, stderrLog } from './daemon.js';
import type { ComputeDaemonOptions } from './daemon-options.js';
import { hostParts, journalIn, virtParts } from './host-parts.js';

/**
 * `ebbgate-compute compute`: one compute host as a process. It has no database: its records are a conductor's, reached
 * over RPC. It ends by itself, with the exit code of its drain.
 */
export async function runCompute(options: ComputeDaemonOptions): Promise<void> {
  const open = await brokerAt(daemonUrl(options.transport), options.exchange);
  const logger = stderrLog(options.logLevel);
  const print = eventPrinter(options);
  const transport = open(logger); // outlives the runs of the host; each has one of its own besides
  const { host: name, health } = options;
  const epoch = new HostEpoch(name);
  const stamped = { interceptors: [epoch.stamp] };
  const networking = new RemoteNetworking(transport, stamped);
  const host = new ComputeHost({
    name,
    epoch,
    openTransport: () => open(logger),
    records: new RemoteRecords(transport, stamped),
    networking,
    virt: new FakeVirtDriver(name, {
      network: new HypervisorDirectory(options.stateDir),
      networking,
      ...virtParts(options, logger),
    }),
    journal: journalIn(options.stateDir, name, logger), // of a host whose name can be a folder's: the hypervisor says so
    logger,
    api: apiOptions(options, print),
    serviceDownTimeMs: options.serviceDownTime * 1000,
    ...hostParts(options),
    ...(health !== undefined && { health: { port: health } }),
    ownsProcess: true,
  });
  reportHost(host, print);
  const started = host.start();
  endWithParent(options);
  await started.catch(() => undefined); // logged by the service; the exit code says so
}
