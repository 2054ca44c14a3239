import type { RequestContext } from '@ebbgate/core';
import type { ServerApi } from '../api/server-api.js';
import type { Instance } from '../objects/instance.js';
import type { ApiRoutes, Route, RouteInput } from './api-routes.js';
import type { HttpParts } from './app.js';
import { registerGuestActions } from './guest-actions.js';
import { registerLockActions } from './lock-actions.js';
import { registerMoveActions } from './move-actions.js';
import { registerResetState } from './reset-state.js';
import { conflictOf, refuseLocked } from './server-conflicts.js';
import { ServerDirectory } from './server-directory.js';

/** What is asked of one server. */
export interface Asked<Body> {
  readonly input: RouteInput<Body, undefined>;
  readonly body: Body;
  readonly context: RequestContext;
  readonly instance: Instance;
  readonly uuid: string;
  /** Where it is. */
  readonly api: ServerApi;
  /** Whoever asks may know more than users do. */
  readonly isAdmin: boolean;
}

/** One thing that can be asked of a server. */
export interface ServerAction<Body> extends Pick<
  Route<Body>,
  'summary' | 'policy' | 'since' | 'until' | 'body' | 'answer'
> {
  /** The member of the body. */
  readonly action: string;
  /** What it is called in the texts of refusals; default: as the member. */
  readonly word?: string;
  /** Default 202. */
  readonly status?: number;
  /** One that is locked can be asked for it all the same. */
  readonly alsoLocked?: boolean;
  readonly ask: (asked: Asked<Body>) => Promise<unknown>;
}

/** Adds what can be asked of servers. */
export class ServerActions {
  readonly #routes: ApiRoutes;
  readonly #directory: ServerDirectory;

  constructor(routes: ApiRoutes, directory: ServerDirectory) {
    this.#routes = routes;
    this.#directory = directory;
  }

  /** What `ask` resolves with is the answer; what it rejects with, for the state of the instance, is 409 in upstream's words. */
  add<Body = undefined>(action: ServerAction<Body>): void {
    const { ask, word = action.action, alsoLocked = false, status = 202, ...route } = action;
    this.#routes.add<Body>({
      ...route,
      method: 'POST',
      path: '/servers/{server_id}/action',
      status,
      errors: [404, 409],
      handle: async (input) => {
        const { instance, api } = await this.#directory.find(input, input.param('server_id'));
        const isAdmin = this.#directory.isAdmin(input);
        const uuid = instance.get('uuid');
        if (!alsoLocked) refuseLocked(instance, isAdmin);
        const { body, context } = input;
        return ask({ input, body, context, instance, uuid, api, isAdmin }).catch(conflictOf(word, instance));
      },
    });
  }
}

/** `servers/{id}/action`: all that is done to servers. */
export function registerServerActions(routes: ApiRoutes, parts: HttpParts): void {
  const actions = new ServerActions(routes, new ServerDirectory(parts));
  registerMoveActions(actions, parts);
  registerGuestActions(actions);
  registerLockActions(actions, parts);
  registerResetState(actions);
}
