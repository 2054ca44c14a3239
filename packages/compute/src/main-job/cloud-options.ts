import { createTransport, type DriverFactory, type Logger, type Transport } from '@ebbgate/core';
import type { ClientInterceptor } from '@ebbgate/rpc';
import type { DrainBudgets } from '@ebbgate/service';
import type { ConductorCells } from '../cells/cell-access.js';
import type { ComputeHostOptions } from '../compute/host-options.js';
import type { LocalRecords } from '../db/local-records.js';
import type { Records, Resources } from '../db/repositories.js';
import type { Notifications } from '../notifications/notifications.js';
import type { ComputeApiOptions } from '../rpc/compute-api.js';
import { CONTROL_EXCHANGE } from '../rpc/topics.js';
import type { FakeOrders } from '../virt/fake-orders.js';
import type { HypervisorNetwork } from '../virt/hypervisor-network.js';
import type { SentMessage } from './job-cloud.js';

/** What a cloud in one process is made of. */
export interface CloudOptions {
  readonly transport: string;
  /** Default: Nova's. */
  readonly exchange?: string;
  /** Opens the transport of the API (`api`) or of a host, by its name; default: one to `transport` for each. */
  readonly transportOf?: (owner: string) => Transport;
  /** For transports other than the one in memory. */
  readonly drivers?: readonly DriverFactory[];
  readonly hosts: readonly string[];
  /** Hosts use the transport that the API and the conductors use; default: each has its own, as processes have. */
  readonly sharedTransport?: boolean;
  readonly bootMs: number;
  readonly migrationMs: number;
  readonly opsServer: boolean;
  /** The version cap of the API and the conductors, read again by `reload`; hosts have none. Default: none. */
  readonly clientCap?: () => string | undefined;
  /** What all tasks of a drain together may take. */
  readonly tasksMs: number;
  /** What the last replies and acknowledgements of a host may take; default 1000. */
  readonly closingMs?: number;
  /** Time-out of calls, and of long calls without a sign of life; default 60000. */
  readonly rpcTimeoutMs?: number;
  /** Default 1000. */
  readonly recheckMs?: number;
  /** How long hosts wait for records that do not answer; default 300000. */
  readonly recordsPatienceMs?: number;
  readonly maxConcurrentLiveMigrations?: number;
  /** Default -1: conductors ask all hosts that the scheduler names. */
  readonly migrateMaxRetries?: number;
  /** How what is done to single guests is to go; default: as to all others. */
  readonly orders?: FakeOrders;
  /** More of each host. */
  readonly host?: Pick<
    ComputeHostOptions,
    | 'abortBeforeDeadline'
    | 'journal'
    | 'shelvedOffloadMs'
    | 'resizeConfirmWindowMs'
    | 'reportIntervalMs'
    | 'forcedDownStart'
  >;
  /** Default false. */
  readonly allowResizeToSameHost?: boolean;
  /** How many conductors share their topic; default 1. */
  readonly conductors?: number;
  /** How many schedulers share theirs; default 0: conductors choose hosts themselves. */
  readonly schedulers?: number;
  /** What the machine of a host has; undefined: the default of the fake hypervisor. */
  readonly resourcesOf?: (host: string) => Resources | undefined;
  /** Zone of a host; undefined: none. */
  readonly zoneOf?: (host: string) => string | undefined;
  /** All hosts have the same storage; default: each has its own. */
  readonly sharedStorage?: boolean;
  /** After how long without a report a host counts as down, for conductors and hosts; default 60000. */
  readonly serviceDownTimeMs?: number;
  /** Default: nobody is told what happens. */
  readonly notifications?: Notifications;
  readonly logger: Logger;
  /** Id of an instance's first port, where it shall not be random. */
  readonly portId?: (instanceUuid: string) => string | undefined;
  /** Closed by whoever has opened them; default: new ones in memory. */
  readonly records?: LocalRecords;
  /** The records as one host has them; default: as all others. */
  readonly recordsOf?: (host: string, records: Records) => Records;
  /** This is one of several cells; default: there is no other. */
  readonly cells?: ConductorCells;
  /** Where the guests are; default: on machines that no other cloud has. */
  readonly hypervisors?: HypervisorNetwork;
  /** Hears of every message to a host that is about to be sent, by whomever. */
  readonly onSend?: (message: SentMessage) => void;
}

export function downTime({ serviceDownTimeMs }: CloudOptions): { readonly serviceDownTimeMs?: number } {
  return { ...(serviceDownTimeMs !== undefined && { serviceDownTimeMs }) };
}

export function telling({ notifications }: CloudOptions): { readonly notifications?: Notifications } {
  return { ...(notifications && { notifications }) };
}

/** What each part of the drain of a host may take. */
export function hostBudgets({ tasksMs, closingMs = 1000 }: CloudOptions): DrainBudgets {
  return {
    managerShutdownTimeoutMs: tasksMs,
    cleanupTimeoutMs: 2000,
    closingTimeoutMs: closingMs,
    gracefulShutdownTimeoutMs: tasksMs + closingMs + 4000,
  };
}

export function openTransport(options: CloudOptions, owner: string): Transport {
  if (options.transportOf) return options.transportOf(owner);
  const { transport, exchange: controlExchange = CONTROL_EXCHANGE, drivers = [], logger } = options;
  return createTransport(transport, { drivers, logger, controlExchange });
}

/** How the API and the conductors call hosts. */
export function clientOptions(options: CloudOptions): ComputeApiOptions {
  const { clientCap: readVersionCap } = options;
  const own = readVersionCap && { readVersionCap, versionCap: readVersionCap() };
  return { ...apiOptions(options), ...own };
}

/** Without ops servers everybody is told by the version cap that the receivers are too old for them. */
export function apiOptions({ opsServer, rpcTimeoutMs, onSend }: CloudOptions): ComputeApiOptions {
  const tell: ClientInterceptor = async (call, next) => {
    onSend?.({ topic: call.target.topic ?? '', host: call.target.server ?? '', method: call.method });
    return next(call);
  };
  return {
    interceptors: [tell],
    ...(!opsServer && { versionCap: '6.4' }),
    ...(rpcTimeoutMs !== undefined && { rpcTimeoutMs }),
  };
}
