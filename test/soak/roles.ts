import { createTransport, type DriverFactory } from '@ebbgate/core';
import type { Notebook } from './records.js';
import { startListener, startServer } from './receivers.js';
import type { Role, RoleName, RoleSettings, StartRole } from './role.js';
import { startClient, startNotifier } from './senders.js';

const STARTS: Readonly<Record<RoleName, StartRole>> = {
  client: startClient,
  notifier: startNotifier,
  server: startServer,
  listener: startListener,
};

/** Begins to play a role, with a transport of its own. */
export function startRole(settings: RoleSettings, drivers: readonly DriverFactory[], notes: Notebook): Role {
  const { role, url, timeoutMs } = settings;
  const transport = createTransport(url, { drivers, sendTimeoutMs: timeoutMs });
  transport.events.on('error', () => undefined); // the broker is away, and it says so
  return STARTS[role](settings, transport, notes);
}
