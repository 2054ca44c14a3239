import type { Logger } from '@ebbgate/core';
import type { TaskRegistry } from '@ebbgate/service';
import type { Records } from '../db/repositories.js';
import type { Emit, InstanceEvent } from '../notifications/compute-event.js';
import type { Networking } from '../network/networking.js';
import type { ComputeApi } from '../rpc/compute-api.js';
import type { ConductorApi } from '../rpc/conductor-api.js';
import type { Liveness } from '../servicegroup/liveness.js';
import type { VirtDriver } from '../virt/driver.js';
import type { AcceptedRequests } from './accepted-requests.js';
import type { EventWaiters } from './event-waiters.js';
import type { InstanceLocks } from './instance-locks.js';

/** What the operations of one compute host work with, from its start to its end. */
export interface HostContext {
  /** Name of the host: the server of its topics, and what the records say. */
  readonly host: string;
  readonly records: Records;
  readonly virt: VirtDriver;
  readonly networking: Networking;
  /** Which other hosts are up. */
  readonly liveness: Liveness;
  readonly computeApi: ComputeApi;
  readonly conductorApi: ConductorApi;
  /** Everything that runs here, for the drain to wait for. */
  readonly tasks: TaskRegistry;
  readonly events: EventWaiters;
  /** One operation on an instance at a time. */
  readonly locks: InstanceLocks;
  /** What was accepted and has not begun. */
  readonly accepted: AcceptedRequests;
  /** Tells those who listen outside what is done to an instance. */
  readonly emit: Emit<InstanceEvent>;
  readonly logger: Logger;
  /** Aborts when the process ends: whatever still runs ends then and touches nothing any more. */
  readonly lifetime: AbortSignal;
  /** How long `network-vif-plugged` is waited for. */
  readonly vifPluggingTimeoutMs: number;
  /** How long a shelved instance stays on its host; null: until it is asked to leave. */
  readonly shelvedOffloadMs: number | null;
  /** How long a record is written, or read, again while no answer comes. */
  readonly recordsPatienceMs: number;
}
