import type { Transport } from '@ebbgate/core';
import { RemoteRecords } from '../db/remote-records.js';
import type { Records } from '../db/repositories.js';
import { RemoteNetworking } from '../network/remote.js';
import { ComputeApi, type ComputeApiOptions } from '../rpc/compute-api.js';
import { ConductorApi } from '../rpc/conductor-api.js';
import { Liveness } from '../servicegroup/liveness.js';
import type { ActionParts } from './action-parts.js';
import { ServerApi } from './server-api.js';

/** How the cloud is asked. All may be left out. */
export interface RemoteApiOptions {
  /** How hosts are called. */
  readonly api?: ComputeApiOptions;
  /** Time-out of each look into the records; default 60000. */
  readonly timeoutMs?: number;
  /** Who is up. */
  readonly liveness?: Liveness;
  /** For instances that have come from another cell; absent: there is no other. */
  readonly cells?: NonNullable<ActionParts['cells']>;
}

/** All that can be asked of a cloud by somebody who has only its broker: the records are a conductor's. */
export class RemoteApi extends ServerApi {
  /** @throws ConfigurationError (`ERR_CONFIGURATION`) as {@link ComputeApi} does */
  constructor(transport: Transport, options: RemoteApiOptions = {}) {
    super(partsOver(transport, options));
  }

  get records(): Records {
    return this.parts.records;
  }

  get liveness(): Liveness {
    return this.parts.liveness;
  }
}

function partsOver(
  transport: Transport,
  { api = {}, timeoutMs, liveness = new Liveness(), cells }: RemoteApiOptions,
): ActionParts {
  const limit = timeoutMs === undefined ? {} : { timeoutMs };
  const records = new RemoteRecords(transport, limit);
  return {
    records,
    computeApi: new ComputeApi(transport, { services: records.services, ...api }),
    conductor: new ConductorApi(transport),
    networking: new RemoteNetworking(transport, limit),
    liveness,
    ...(cells && { cells }),
  };
}
