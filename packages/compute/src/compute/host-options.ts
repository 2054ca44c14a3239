import type { Logger, Transport } from '@ebbgate/core';
import type { DrainBudgets, HealthOptions } from '@ebbgate/service';
import type { Records } from '../db/repositories.js';
import type { Networking } from '../network/networking.js';
import { NO_NOTIFICATIONS, type Notifications } from '../notifications/notifications.js';
import type { ComputeApiOptions } from '../rpc/compute-api.js';
import { RPC_TOPIC_OPS } from '../rpc/topics.js';
import { HostEpoch } from '../servicegroup/host-epoch.js';
import type { VirtDriver } from '../virt/driver.js';
import { type AllocationRatios, DEFAULT_RATIOS } from './capacity-report.js';
import type { ForcedDownStart } from './fence.js';
import type { ComputeLimits } from './manager.js';
import { MemoryJournal, type RequestJournal } from './request-journal.js';

/** What a compute host is made of. */
export interface ComputeHostOptions {
  /** The host's name: the server of its topics. */
  readonly name: string;
  /** Opens the way to the broker; called at each start, and closed at each end unless it is shared. */
  readonly openTransport: () => Transport;
  /**
   * Closes the transport at the end of a run; default true. False: `openTransport` gives one that other hosts of the process
   * use too, so that all of them together have the connections of one.
   */
  readonly ownsTransport?: boolean;
  /** Instances, migrations and services. */
  readonly records: Records;
  /** The hypervisor. */
  readonly virt: VirtDriver;
  /** Ports and their bindings. */
  readonly networking: Networking;
  /** Where it logs. */
  readonly logger: Logger;
  /** Topic of the ops server; null: there is none, and follow-ups go to the new-request server. Default `compute-ops`. */
  readonly opsTopic?: string | null;
  /** How other hosts are called. */
  readonly api?: ComputeApiOptions;
  /** What each part of a drain may take; what is left out has its default. */
  readonly budgets?: Partial<DrainBudgets>;
  /** A drain aborts, and puts back, what may be aborted and cannot end in its time; default false. */
  readonly abortBeforeDeadline?: boolean;
  /** How much is done at the same time, and how often is looked. */
  readonly limits?: Partial<ComputeLimits>;
  /** Zone that it is in; default null: none. */
  readonly availabilityZone?: string | null;
  /** How often each resource of the machine may be given away; what is left out has its default: 4 for CPUs, else 1. */
  readonly allocationRatios?: Partial<AllocationRatios>;
  /** Default 300000. */
  readonly vifPluggingTimeoutMs?: number;
  /** How long a shelved instance stays on its host; null: until it is asked to leave. Default 0: it leaves at once. */
  readonly shelvedOffloadMs?: number | null;
  /** After how long a resize to this host is confirmed by itself; default 0: never. */
  readonly resizeConfirmWindowMs?: number;
  /** How long an operation waits for records that do not answer, before it fails; default 300000. */
  readonly recordsPatienceMs?: number;
  /** Another host that has not reported for longer is down: nothing is awaited from it; default 60000. */
  readonly serviceDownTimeMs?: number;
  /** Default 10000. */
  readonly reportIntervalMs?: number;
  /** What it does when it is forced down at its start; default `clean-up`: removes what was evacuated, and waits. */
  readonly forcedDownStart?: ForcedDownStart;
  /** Is on all that it sends, also by its `records` and `networking` when they are remote; default: a new one. */
  readonly epoch?: HostEpoch;
  /** Where it writes what it has accepted until that has begun; default: in the memory of the process. */
  readonly journal?: RequestJournal;
  /** Tells those who listen outside what is done to instances; default: nobody is told. */
  readonly notifications?: Notifications;
  /** Opens the health endpoints. */
  readonly health?: HealthOptions;
  /** The process is this host's alone: its signals drain it, and it ends with the run. Default: neither. */
  readonly ownsProcess?: boolean;
  /** Closes what has outlived the runs, once the process is to end with the last one. Default: there is nothing. */
  readonly onExit?: () => Promise<void>;
}

/** The options with their defaults. */
export interface CompleteHostOptions extends Required<
  Omit<ComputeHostOptions, 'limits' | 'health' | 'allocationRatios'>
> {
  /** Complete. */
  readonly allocationRatios: AllocationRatios;
  /** Complete. */
  readonly limits: ComputeLimits;
  /** Absent: the health endpoints are not opened. */
  readonly health?: HealthOptions;
}

export function completeHostOptions(options: ComputeHostOptions): CompleteHostOptions {
  return Object.freeze({
    ownsTransport: true,
    opsTopic: RPC_TOPIC_OPS,
    api: {},
    budgets: {},
    abortBeforeDeadline: false,
    vifPluggingTimeoutMs: 300_000,
    shelvedOffloadMs: 0,
    resizeConfirmWindowMs: 0,
    recordsPatienceMs: 300_000,
    serviceDownTimeMs: 60_000,
    reportIntervalMs: 10_000,
    ownsProcess: false,
    onExit: () => Promise.resolve(),
    forcedDownStart: 'clean-up',
    epoch: new HostEpoch(options.name),
    journal: new MemoryJournal(),
    availabilityZone: null,
    notifications: NO_NOTIFICATIONS,
    ...options,
    allocationRatios: { ...DEFAULT_RATIOS, ...options.allocationRatios },
    limits: { maxConcurrentBuilds: 10, maxConcurrentLiveMigrations: 1, recheckMs: 10_000, ...options.limits },
  });
}
