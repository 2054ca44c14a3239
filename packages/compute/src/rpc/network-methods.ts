export const NETWORK_NAMESPACE = 'network';
export const NETWORK_RPC_VERSION = '1.1';

/**
 * The fake network service over RPC; the last two are for whoever directs it. The columns are those of the compute
 * methods.
 */
// prettier-ignore
export const NETWORK_METHODS = {
  allocate: {
    since: '1.0', version: '1.0', kind: 'call', topic: 'main', starts: false, route: 'all -> network', returns: 'list',
    args: { instance_uuid: 'string' },
  },
  ports_of: {
    since: '1.0', version: '1.0', kind: 'call', topic: 'main', starts: false, route: 'all -> network', returns: 'list',
    args: { instance_uuid: 'string' },
  },
  plug: {
    since: '1.0', version: '1.0', kind: 'call', topic: 'main', starts: false, route: 'all -> network', returns: 'nothing',
    args: { instance_uuid: 'string', host: 'string' },
  },
  bind: {
    since: '1.1', version: '1.1', kind: 'call', topic: 'main', starts: false, route: 'all -> network', returns: 'nothing',
    args: { instance_uuid: 'string', host: 'string' },
  },
  unbind: {
    since: '1.1', version: '1.1', kind: 'call', topic: 'main', starts: false, route: 'all -> network', returns: 'nothing',
    args: { instance_uuid: 'string', host: 'string' },
  },
  activate_binding: {
    since: '1.0', version: '1.0', kind: 'call', topic: 'main', starts: false, route: 'all -> network', returns: 'nothing',
    args: { instance_uuid: 'string', host: 'string' },
  },
  deallocate: {
    since: '1.0', version: '1.0', kind: 'call', topic: 'main', starts: false, route: 'all -> network', returns: 'nothing',
    args: { instance_uuid: 'string' },
  },
  hold: {
    since: '1.0', version: '1.0', kind: 'call', topic: 'main', starts: false, route: 'all -> network', returns: 'nothing',
    args: { instance_uuid: 'string' },
  },
  release: {
    since: '1.0', version: '1.0', kind: 'call', topic: 'main', starts: false, route: 'all -> network', returns: 'nothing',
    args: { instance_uuid: 'string' },
  },
} as const;

/** The type of {@link NETWORK_METHODS}. */
export type NetworkMethods = typeof NETWORK_METHODS;
