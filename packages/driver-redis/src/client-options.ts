import type { ClusterOptions, RedisOptions as ClientOptions } from 'ioredis';
import type { StoreHost } from './hosts.js';
import type { RedisSettings } from './options.js';
import { tlsOptions } from './tls.js';

/** What a connection is for: `commands`, or one blocking reader. */
export type Role = 'commands' | 'reader';

/** So long the last bytes may take to leave when a connection is ended. */
const END_MS = 200;
/** Nodes of a cluster that are asked, one after the other, in the time for one attempt to connect. */
const NODES_IN_TIME = 3;

/**
 * What ioredis is told of one connection. It connects once and says when it is lost: coming back, and what to do with what
 * was under way, is ours. So nothing waits in queues of its own, and nothing is ever sent again blindly.
 */
function common(settings: RedisSettings, host: StoreHost, role: Role): ClientOptions {
  const silenceMs = settings.commandTimeoutMs + (role === 'reader' ? settings.heartbeatMs : 0);
  return {
    ...(host.username !== undefined && { username: host.username }),
    ...(host.password !== undefined && { password: host.password }),
    db: settings.database,
    protocol: 2,
    enableOfflineQueue: false,
    enableReadyCheck: false,
    autoResubscribe: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: null,
    connectTimeout: settings.connectTimeoutMs,
    disconnectTimeout: END_MS,
    socketTimeout: silenceMs,
    connectionName: `ebbgate-${role}`,
    disableClientInfo: true,
  };
}

/** For one server, or for the one that Sentinels name. */
export function serverOptions(
  settings: RedisSettings,
  hosts: readonly StoreHost[],
  role: Role,
): ClientOptions {
  const [host] = hosts as [StoreHost]; // there is at least one
  const base = common(settings, host, role);
  const { ssl, layout } = settings;
  const once = { lazyConnect: true, retryStrategy: () => null };
  if (layout === 'servers') {
    const tls = ssl && tlsOptions(ssl, host.hostname);
    return { ...base, ...once, host: host.hostname, port: host.port, ...(tls && { tls }) };
  }
  const tls = ssl && tlsOptions(ssl, undefined);
  return {
    ...base,
    ...once,
    name: settings.masterName,
    sentinels: hosts.map(({ hostname, port }) => ({ host: hostname, port })),
    role: 'master',
    sentinelRetryStrategy: () => null,
    sentinelCommandTimeout: settings.commandTimeoutMs,
    ...(settings.sentinelAuth && host.password !== undefined && { sentinelPassword: host.password }),
    ...(settings.sentinelAuth && host.username !== undefined && { sentinelUsername: host.username }),
    ...(tls && { tls, sentinelTLS: tls, enableTLSForSentinelMode: true }),
  };
}

/** For a cluster: redirections are followed, but what was under way on a lost connection is not sent again. */
export function clusterOptions(
  settings: RedisSettings,
  hosts: readonly StoreHost[],
  role: Role,
): ClusterOptions {
  const [host] = hosts as [StoreHost]; // there is at least one
  const base = common(settings, host, role);
  const tls = settings.ssl && tlsOptions(settings.ssl, undefined);
  return {
    lazyConnect: true,
    clusterRetryStrategy: () => null,
    enableOfflineQueue: true, // a node is connected by the first command to it; when it is lost, all of it is
    enableReadyCheck: true,
    retryDelayOnFailover: 0,
    retryDelayOnClusterDown: 0,
    slotsRefreshTimeout: Math.ceil(settings.connectTimeoutMs / NODES_IN_TIME),
    redisOptions: { ...base, ...(tls && { tls }) },
  };
}
