import { RESET_STATE_BODIES } from './action-schemas.js';
import type { ServerActions } from './server-actions.js';

/**
 * An operator says what state a server is in, and that nothing is being done to it: as upstream, whatever is known of it. Its
 * guest, and whoever still works on it, are told nothing.
 */
export function registerResetState(actions: ServerActions): void {
  actions.add<{ readonly state: 'active' | 'error' }>({
    action: 'os-resetState',
    summary: 'Sets the state that is recorded, and takes the task away; nothing else is done',
    policy: 'os_compute_api:os-admin-actions:reset_state',
    body: RESET_STATE_BODIES,
    alsoLocked: true,
    ask: async ({ api, uuid, body }) => {
      await api.parts.records.instances.update(uuid, { vm_state: body.state, task_state: null });
    },
  });
}
