import { makeEndpoint } from '../rpc/endpoint.js';
import { NETWORK_METHODS, NETWORK_NAMESPACE, NETWORK_RPC_VERSION } from '../rpc/network-methods.js';
import type { DirectedNetworking } from './networking.js';

/** A fake network service for other processes. */
export function networkEndpoint(networking: DirectedNetworking): object {
  const its = { version: NETWORK_RPC_VERSION, namespace: NETWORK_NAMESPACE };
  return makeEndpoint(NETWORK_METHODS, its, {
    allocate: (_context, { instance_uuid: uuid }) => networking.allocate(uuid),
    ports_of: (_context, { instance_uuid: uuid }) => networking.portsOf(uuid),
    plug: (_context, { instance_uuid: uuid, host }) => networking.plug(uuid, host),
    bind: (_context, { instance_uuid: uuid, host }) => networking.bind(uuid, host),
    unbind: (_context, { instance_uuid: uuid, host }) => networking.unbind(uuid, host),
    activate_binding: (_context, { instance_uuid: uuid, host }) => networking.activateBinding(uuid, host),
    deallocate: (_context, { instance_uuid: uuid }) => networking.deallocate(uuid),
    hold: (_context, { instance_uuid: uuid }) => networking.hold(uuid),
    release: (_context, { instance_uuid: uuid }) => networking.release(uuid),
  });
}
