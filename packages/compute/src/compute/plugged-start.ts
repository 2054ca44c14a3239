import type { HostContext } from './host-context.js';

/**
 * Runs what plugs the interfaces of an instance and starts its guest; `beforeStart`, to be called in between, resolves
 * when `network-vif-plugged` has come for each port. It is announced before the work begins, so that it cannot come too
 * early.
 * @throws what the work throws; `beforeStart` rejects with ExternalEventError (`ERR_EXTERNAL_EVENT`) or, when the process
 * ends, OperationAbortedError (`ERR_ABORTED`)
 */
export async function startWhenPlugged(
  { events, networking, lifetime, vifPluggingTimeoutMs }: HostContext,
  uuid: string,
  work: (beforeStart: () => Promise<void>) => Promise<void>,
  signal: AbortSignal = lifetime,
): Promise<void> {
  const plugged = events.expect(uuid, 'network-vif-plugged', await networking.portsOf(uuid));
  try {
    await work(() => plugged.wait({ timeoutMs: vifPluggingTimeoutMs, signal }));
  } finally {
    plugged.cancel();
  }
}
