import type { Transport } from '@ebbgate/core';
import { RemoteRecords } from '../db/remote-records.js';
import { RemoteNetworking } from '../network/remote.js';
import { ComputeApi, type ComputeApiOptions } from '../rpc/compute-api.js';
import { ConductorApi } from '../rpc/conductor-api.js';
import { Liveness } from '../servicegroup/liveness.js';
import type { ActionParts } from './action-parts.js';
import { InstanceActions } from './actions.js';
import { GuestControls } from './guest-controls.js';
import { Moves } from './moves.js';
import { Rebuilds } from './rebuilds.js';
import { Servers } from './servers.js';

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
export class RemoteApi {
  readonly records: RemoteRecords;
  readonly networking: RemoteNetworking;
  readonly liveness: Liveness;
  readonly servers: Servers;
  readonly actions: InstanceActions;
  readonly controls: GuestControls;
  readonly moves: Moves;
  readonly rebuilds: Rebuilds;

  /** @throws ConfigurationError (`ERR_CONFIGURATION`) as {@link ComputeApi} does */
  constructor(
    transport: Transport,
    { api = {}, timeoutMs, liveness = new Liveness(), cells }: RemoteApiOptions = {},
  ) {
    const limit = timeoutMs === undefined ? {} : { timeoutMs };
    const conductor = new ConductorApi(transport);
    this.records = new RemoteRecords(transport, limit);
    this.networking = new RemoteNetworking(transport, limit);
    this.liveness = liveness;
    const { records, networking } = this;
    const computeApi = new ComputeApi(transport, { services: records.services, ...api });
    const parts = { records, computeApi, conductor, networking, liveness, ...(cells && { cells }) };
    this.servers = new Servers(parts);
    this.actions = new InstanceActions(parts);
    this.controls = new GuestControls(parts);
    this.moves = new Moves(parts);
    this.rebuilds = new Rebuilds(parts);
  }
}
