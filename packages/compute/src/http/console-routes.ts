import type { ServerApi } from '../api/server-api.js';
import {
  CONSOLE_ANSWER,
  consoleBodies,
  type ConsoleProtocol,
  REMOTE_CONSOLE_ANSWER,
  REMOTE_CONSOLE_BODIES,
  type RemoteConsoleBody,
} from './action-schemas.js';
import type { ApiRoutes, RouteInput } from './api-routes.js';
import type { HttpParts } from './app.js';
import { notReady } from './guest-actions.js';
import { ServerActions } from './server-actions.js';
import { conflictOf } from './server-conflicts.js';
import { ServerDirectory } from './server-directory.js';

const POLICY = 'os_compute_api:os-remote-consoles';
/** Before 2.6: one action for each protocol. */
const ACTIONS: readonly (readonly [action: string, protocol: ConsoleProtocol])[] = [
  ['os-getVNCConsole', 'vnc'],
  ['os-getSPICEConsole', 'spice'],
  ['os-getSerialConsole', 'serial'],
];
/** Where a proxy of each protocol has its page; the token follows. */
const PAGES: Readonly<Record<ConsoleProtocol, (place: string, token: string) => string>> = {
  vnc: (place, token) => `http://${place}/vnc_auto.html?path=%3Ftoken%3D${token}`,
  spice: (place, token) => `http://${place}/spice_auto.html?token=${token}`,
  serial: (place, token) => `ws://${place}/?token=${token}`,
};

/** Consoles: where a guest's is, and a token for it. */
export function registerConsoles(routes: ApiRoutes, parts: HttpParts): void {
  const directory = new ServerDirectory(parts);
  routes.add<RemoteConsoleBody>({
    method: 'POST',
    path: '/servers/{server_id}/remote-consoles',
    summary: 'Tells where a console of a server is',
    policy: POLICY,
    since: 6,
    body: REMOTE_CONSOLE_BODIES,
    status: 200,
    answer: REMOTE_CONSOLE_ANSWER,
    errors: [404, 409],
    handle: async (input) => {
      const { api, instance } = await directory.find(input, input.param('server_id'));
      const { protocol, type } = input.body.remote_console;
      const opened = urlOf(api, input, instance.get('uuid'), { protocol, type });
      return { remote_console: { protocol, type, url: await opened.catch(conflictOf(type, instance)) } };
    },
  });
  const actions = new ServerActions(routes, directory);
  for (const [action, protocol] of ACTIONS) {
    actions.add<{ readonly type: string }>({
      action,
      summary: 'Tells where its console is; from 2.6 remote-consoles does',
      policy: POLICY,
      until: 5,
      body: consoleBodies(protocol),
      status: 200,
      answer: CONSOLE_ANSWER,
      alsoLocked: true,
      ask: async ({ api, input, uuid, body: { type } }) => ({
        console: { type, url: await urlOf(api, input, uuid, { protocol, type }) },
      }),
    });
  }
}

async function urlOf(
  { actions }: ServerApi,
  { context }: Pick<RouteInput<unknown, unknown>, 'context'>,
  uuid: string,
  { protocol, type }: { readonly protocol: ConsoleProtocol; readonly type: string },
): Promise<string> {
  const opened = await actions.openConsole(context, uuid, protocol, type).catch(notReady(uuid));
  const { host, port, token } = opened;
  return PAGES[protocol](`${String(host)}:${String(port)}`, String(token));
}
