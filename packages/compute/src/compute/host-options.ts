import type { Logger, Transport } from '@ebbgate/core';
import type { DrainBudgets } from '@ebbgate/service';
import type { Records } from '../db/repositories.js';
import type { Networking } from '../network/networking.js';
import type { ComputeApiOptions } from '../rpc/compute-api.js';
import { RPC_TOPIC_OPS } from '../rpc/topics.js';
import type { VirtDriver } from '../virt/driver.js';
import type { ComputeLimits } from './manager.js';

/** What a compute host is made of. */
export interface ComputeHostOptions {
  /** The host's name: the server of its topics. */
  readonly name: string;
  /** Opens the way to the broker; called at each start, and closed at each end. */
  readonly openTransport: () => Transport;
  readonly records: Records;
  readonly virt: VirtDriver;
  readonly networking: Networking;
  readonly logger: Logger;
  /** Topic of the ops server; null: there is none, and follow-ups go to the new-request server. Default `compute-ops`. */
  readonly opsTopic?: string | null;
  /** How other hosts are called. */
  readonly api?: ComputeApiOptions;
  readonly budgets?: Partial<DrainBudgets>;
  readonly limits?: Partial<ComputeLimits>;
  /** Default 300000. */
  readonly vifPluggingTimeoutMs?: number;
  /** Default 10000. */
  readonly reportIntervalMs?: number;
}

/** The options with their defaults. */
export interface CompleteHostOptions extends Required<Omit<ComputeHostOptions, 'limits'>> {
  readonly limits: ComputeLimits;
}

export function completeHostOptions(options: ComputeHostOptions): CompleteHostOptions {
  return Object.freeze({
    opsTopic: RPC_TOPIC_OPS,
    api: {},
    budgets: {},
    vifPluggingTimeoutMs: 300_000,
    reportIntervalMs: 10_000,
    ...options,
    limits: { maxConcurrentBuilds: 10, maxConcurrentLiveMigrations: 1, recheckMs: 10_000, ...options.limits },
  });
}
