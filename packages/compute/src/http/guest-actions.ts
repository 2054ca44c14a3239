import type { PlainControl } from '../api/guest-controls.js';
import { RemoteError } from '@ebbgate/rpc';
import { HypervisorError } from '../errors.js';
import {
  CONSOLE_OUTPUT_BODIES,
  CREATE_IMAGE_BODIES,
  IMAGE_ANSWER,
  OUTPUT_ANSWER,
  PASSWORD_ANSWER,
  PASSWORD_BODIES,
  REBOOT_BODIES,
  RESCUE_BODIES,
  UNSHELVE_BODIES,
} from './action-schemas.js';
import { freshPassword } from './new-server.js';
import type { Asked, ServerActions } from './server-actions.js';
import { conflict } from './server-conflicts.js';

const RULES = 'os_compute_api';
const IMAGE_ID_MINOR = 45;

/** Controls that are asked for by name alone: upstream's rule, and what they do. */
const PLAIN: readonly (readonly [name: PlainControl, rule: string, summary: string])[] = [
  ['pause', 'os-pause-server:pause', 'Its guest stands still, and keeps its memory'],
  ['unpause', 'os-pause-server:unpause', 'Its guest goes on'],
  ['suspend', 'os-suspend-server:suspend', 'Its memory goes to disk, and its guest ends'],
  ['resume', 'os-suspend-server:resume', 'Its guest goes on with the memory that it had'],
  ['unrescue', 'os-unrescue', 'Starts it from its own disk again'],
];

/** What is done to a server where it is. */
export function registerGuestActions(actions: ServerActions): void {
  for (const [action, rule, summary] of PLAIN) {
    actions.add({
      action,
      summary,
      policy: `${RULES}:${rule}`,
      ask: ({ api, context, uuid }) => api.controls.ask(context, uuid, action),
    });
  }
  registerPower(actions);
  registerShelving(actions);
  registerMending(actions);
  registerCopies(actions);
}

function registerPower(actions: ServerActions): void {
  actions.add({
    action: 'os-start',
    word: 'start',
    summary: 'Starts it',
    policy: `${RULES}:servers:start`,
    ask: ({ api, context, uuid }) => api.actions.start(context, uuid),
  });
  actions.add({
    action: 'os-stop',
    word: 'stop',
    summary: 'Shuts its guest down',
    policy: `${RULES}:servers:stop`,
    ask: ({ api, context, uuid }) => api.actions.stop(context, uuid),
  });
  actions.add<{ readonly type: 'soft' | 'hard' }>({
    action: 'reboot',
    summary: 'Reboots it; a hard one also mends one in ERROR',
    policy: `${RULES}:servers:reboot`,
    body: REBOOT_BODIES,
    ask: ({ api, context, uuid, body }) => api.actions.reboot(context, uuid, body.type),
  });
}

function registerShelving(actions: ServerActions): void {
  actions.add({
    action: 'shelve',
    summary: 'Makes an image of it, and frees its host',
    policy: `${RULES}:os-shelve:shelve`,
    ask: ({ api, context, uuid }) => api.controls.shelve(context, uuid),
  });
  actions.add({
    action: 'shelveOffload',
    summary: 'Frees the host of one that is shelved there',
    policy: `${RULES}:os-shelve:shelve_offload`,
    ask: ({ api, context, uuid }) => api.controls.shelveOffload(context, uuid),
  });
  actions.add<object | null>({
    action: 'unshelve',
    summary: 'Brings a shelved one back, on its host or on another',
    policy: `${RULES}:os-shelve:unshelve`,
    body: UNSHELVE_BODIES,
    ask: ({ api, context, uuid }) => api.controls.unshelve(context, uuid),
  });
}

function registerMending(actions: ServerActions): void {
  actions.add<{
    readonly adminPass?: string | undefined;
    readonly rescue_image_ref?: string | undefined;
  } | null>({
    action: 'rescue',
    summary: 'Starts it from another disk, with its own beside it, to be mended',
    policy: `${RULES}:os-rescue`,
    body: RESCUE_BODIES,
    status: 200,
    answer: PASSWORD_ANSWER,
    ask: async ({ api, context, uuid, body }) => {
      const adminPass = body?.adminPass ?? freshPassword();
      await api.controls.rescue(context, uuid, body?.rescue_image_ref ?? null, adminPass);
      return { adminPass };
    },
  });
  actions.add<{ readonly adminPass: string }>({
    action: 'changePassword',
    summary: 'Gives its administrator another password',
    policy: `${RULES}:os-admin-password`,
    body: PASSWORD_BODIES,
    ask: ({ api, context, uuid, body }) =>
      api.controls.setPassword(context, uuid, body.adminPass).catch(notReady(uuid)),
  });
  actions.add({
    action: 'trigger_crash_dump',
    summary: 'Has its system dump its memory',
    policy: `${RULES}:servers:trigger_crash_dump`,
    since: 17,
    ask: ({ api, context, uuid }) => api.controls.crashDump(context, uuid),
  });
}

function registerCopies(actions: ServerActions): void {
  actions.add<{ readonly name: string }>({
    action: 'createImage',
    summary: 'Makes an image of it',
    policy: `${RULES}:servers:create_image`,
    body: CREATE_IMAGE_BODIES,
    answer: IMAGE_ANSWER,
    alsoLocked: true,
    ask: createImage,
  });
  actions.add<{ readonly length?: number | null | undefined }>({
    action: 'os-getConsoleOutput',
    summary: 'Tells what its guest has written to its console',
    policy: `${RULES}:os-console-output`,
    body: CONSOLE_OUTPUT_BODIES,
    status: 200,
    answer: OUTPUT_ANSWER,
    alsoLocked: true,
    ask: async ({ api, context, uuid, body }) => {
      const { length = null } = body;
      const lines = length === -1 ? null : length;
      const output = await api.actions.consoleOutput(context, uuid, lines).catch(notReady(uuid));
      return { output };
    },
  });
}

/** Before 2.45 a header tells where the image is. */
async function createImage({
  api,
  context,
  uuid,
  input,
}: Asked<{ readonly name: string }>): Promise<unknown> {
  const image_id = await api.actions.snapshot(context, uuid);
  if (input.version.minor >= IMAGE_ID_MINOR) return { image_id };
  input.addHeaders({ Location: input.links.bookmark(`/images/${image_id}`).href });
  return undefined;
}

/** A host that has no such guest, or none that runs, says so, in words of its own when it is one of Nova's. */
export function notReady(uuid: string): (error: unknown) => never {
  return (error) => {
    if (error instanceof HypervisorError || error instanceof RemoteError)
      throw conflict(`Instance ${uuid} is not ready`);
    throw error;
  };
}
