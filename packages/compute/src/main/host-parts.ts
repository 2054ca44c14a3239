import { createHash } from 'node:crypto';
import { join, resolve } from 'node:path';
import type { Logger } from '@ebbgate/core';
import type { ComputeHostOptions } from '../compute/host-options.js';
import { FileJournal } from '../compute/request-journal.js';
import { parseDatabaseUrl } from '../db/database-url.js';
import { NO_ORDERS } from '../virt/fake-orders.js';
import type { FakeVirtOptions } from '../virt/fake.js';
import { OrdersFile } from '../virt/orders-file.js';
import { HypervisorDirectory } from '../virt/hypervisor-directory.js';
import type { HostDaemonOptions } from './daemon-options.js';
import { makeFolder } from './default-place.js';

type HostParts = Pick<
  ComputeHostOptions,
  | 'budgets'
  | 'abortBeforeDeadline'
  | 'limits'
  | 'opsTopic'
  | 'availabilityZone'
  | 'allocationRatios'
  | 'forcedDownStart'
  | 'resizeConfirmWindowMs'
  | 'shelvedOffloadMs'
  | 'reportIntervalMs'
>;

/** As far as the user's own mask lets it: the hosts may be those of several. */
const SHARED = 0o777;

/** What the options say of a compute host itself. */
export function hostParts(options: HostDaemonOptions): HostParts {
  const { opsServer, opsTopic, availabilityZone, shelvedOffloadTime } = options;
  return {
    budgets: options.budgets,
    abortBeforeDeadline: options.abortBeforeDeadline,
    forcedDownStart: options.forcedDownStart,
    reportIntervalMs: options.reportInterval * 1000,
    resizeConfirmWindowMs: options.resizeConfirmWindow * 1000,
    shelvedOffloadMs: shelvedOffloadTime < 0 ? null : shelvedOffloadTime * 1000,
    limits: {
      maxConcurrentBuilds: options.maxConcurrentBuilds,
      maxConcurrentLiveMigrations: options.maxConcurrentLiveMigrations,
      recheckMs: options.recheckInterval * 1000,
    },
    ...(opsTopic !== undefined && { opsTopic }),
    ...(!opsServer && { opsTopic: null }),
    ...(availabilityZone !== undefined && { availabilityZone }),
    allocationRatios: {
      vcpus: options.cpuAllocationRatio,
      memoryMb: options.ramAllocationRatio,
      diskGb: options.diskAllocationRatio,
    },
  };
}

/**
 * Where the guests of all hosts are.
 * @throws ConfigurationError (`ERR_CONFIGURATION`) for a folder that cannot be made
 */
export function machinesIn(stateDir: string): HypervisorDirectory {
  makeFolder(stateDir, 'guests', '--state-dir', SHARED);
  return new HypervisorDirectory(stateDir);
}

/** Its journal of requests, beside its guests. */
export function journalIn(stateDir: string, host: string, logger: Logger): FileJournal {
  return new FileJournal(join(stateDir, host, 'requests.journal'), logger);
}

/**
 * That of a conductor, in a folder that cannot be a host's.
 * @param database - URL of its records, when they are not in that folder: conductors of several clouds or cells may share it
 */
export function conductorJournalIn(
  stateDir: string,
  name: string,
  logger: Logger,
  database?: string,
): FileJournal {
  const mark = database === undefined ? '' : `-${markOf(database)}`;
  return new FileJournal(join(stateDir, '.conductors', `${name}${mark}.journal`), logger);
}

/** Tells databases apart; nothing of the credentials is in it. */
function markOf(url: string): string {
  const database = parseDatabaseUrl(url);
  const server = database.kind === 'postgresql' ? database.label : database.kind;
  const place = database.kind === 'sqlite' ? resolve(database.file) : server;
  return createHash('sha256').update(place).digest('hex').slice(0, 8);
}

/**
 * What the options say of its hypervisor.
 * @throws ConfigurationError (`ERR_CONFIGURATION`) for a file of orders that cannot be read
 */
export function virtParts(
  { bootMs: spawnMs, migrationMs, fakeOrders, vcpus, memoryMb, diskGb }: HostDaemonOptions,
  logger: Logger,
): Pick<FakeVirtOptions, 'spawnMs' | 'migrationMs' | 'resources' | 'orders'> {
  const orders = fakeOrders === undefined ? NO_ORDERS : new OrdersFile(fakeOrders, logger);
  return { spawnMs, migrationMs, orders, resources: { vcpus, memoryMb, diskGb } };
}
