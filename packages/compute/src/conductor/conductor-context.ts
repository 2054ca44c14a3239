import type { Logger } from '@ebbgate/core';
import type { ConductorCells } from '../cells/cell-access.js';
import type { Records } from '../db/repositories.js';
import type { Networking } from '../network/networking.js';
import type { Emit, InstanceEvent, TaskEvent } from '../notifications/compute-event.js';
import type { ComputeApi } from '../rpc/compute-api.js';
import type { Scheduler } from '../scheduler/scheduler.js';
import type { HostChoice } from './host-choice.js';

/** What the tasks of a conductor work with. */
export interface ConductorContext {
  readonly records: Records;
  readonly computeApi: ComputeApi;
  /** Chooses hosts and claims them. */
  readonly scheduler: Scheduler;
  /** Which hosts take new requests. */
  readonly hosts: HostChoice;
  /** Binds the ports of instances that move live. */
  readonly networking: Pick<Networking, 'bind' | 'unbind'>;
  /** How many more hosts are asked when one cannot take an instance that moves live; -1: as many as there are. */
  readonly migrateMaxRetries: number;
  /** An instance may get its new size on the host where it is. */
  readonly allowResizeToSameHost: boolean;
  /** Tells those who listen outside what could not be done, and what is done to instances between cells. */
  readonly emit: Emit<InstanceEvent | TaskEvent>;
  readonly logger: Logger;
  /** An earlier run was cut off in the request: whatever of it was done may be done already. Default false. */
  readonly isAgain?: boolean;
  /** Undefined: this one is the only cell. */
  readonly cells?: ConductorCells | undefined;
}
