import type { ActionParts } from './action-parts.js';
import { InstanceActions } from './actions.js';
import { GuestControls } from './guest-controls.js';
import { Moves } from './moves.js';
import { Rebuilds } from './rebuilds.js';
import { Servers } from './servers.js';

/** All that users can ask of the instances of one cell. */
export class ServerApi {
  readonly parts: ActionParts;
  readonly servers: Servers;
  readonly actions: InstanceActions;
  readonly controls: GuestControls;
  readonly moves: Moves;
  readonly rebuilds: Rebuilds;

  constructor(parts: ActionParts) {
    this.parts = parts;
    this.servers = new Servers(parts);
    this.actions = new InstanceActions(parts);
    this.controls = new GuestControls(parts);
    this.moves = new Moves(parts);
    this.rebuilds = new Rebuilds(parts);
  }
}
