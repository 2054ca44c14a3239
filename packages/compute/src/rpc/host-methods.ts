/** Where hosts answer to what is ours alone, beside Nova's interface. */
export const HOST_NAMESPACE = 'ebbgate';

/** Version of that. */
export const HOST_RPC_VERSION = '1.0';

/**
 * What a host is asked for besides Nova's methods, on the same servers. The columns are those of the compute methods. Nova's
 * own hosts do not know the namespace, and refuse it.
 */
// prettier-ignore
export const HOST_METHODS = {
  drain_host: {
    since: '1.0', version: '1.0', kind: 'call', topic: 'ops', starts: false, route: 'API -> host', returns: 'nothing',
    args: { reason: 'string' },
  },
} as const;
