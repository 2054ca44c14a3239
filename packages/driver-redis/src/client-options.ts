import type { ClusterOptions, RedisOptions as ClientOptions } from 'ioredis';
import type { StoreHost } from './hosts.js';
import type { RedisSettings } from './options.js';
import { tlsOptions } from './tls.js';

/** What a connection is for: `commands`, or one blocking reader. */
export type Role = 'commands' | 'reader';

/** So long the last bytes may take to leave when a connection is ended. */
const END_MS = 200;
/** Sentinels, or nodes of a cluster, that are asked, one after the other, in the time for one attempt to connect. */
const NODES_IN_TIME = 3;
/** Between two tries at a slot that moves. */
const TRY_AGAIN_MS = 25;
/** What ioredis itself allows for one command. */
const MOST_REDIRECTIONS = 16;
/** It connects when it is told to, and never again by itself. */
const ONCE = Object.freeze({ lazyConnect: true, retryStrategy: () => null });

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

/** For one server, or for the one that Sentinels name: its connector finds out where that is. */
export function serverOptions(
  settings: RedisSettings,
  hosts: readonly StoreHost[],
  role: Role,
): ClientOptions {
  const [host] = hosts as [StoreHost]; // there is at least one
  const { ssl, layout } = settings;
  const isNamed = layout === 'servers';
  const tls = ssl && tlsOptions(ssl, isNamed ? host.hostname : undefined);
  return {
    ...common(settings, host, role),
    ...ONCE,
    ...(isNamed && { host: host.hostname, port: host.port }),
    ...(tls && { tls }),
  };
}

/** To ask one Sentinel where the store is. */
export function sentinelOptions(
  { connectTimeoutMs, sentinelAuth, ssl }: RedisSettings,
  { hostname, port, username, password }: StoreHost,
): ClientOptions {
  const timeout = Math.ceil(connectTimeoutMs / NODES_IN_TIME);
  const tls = ssl && tlsOptions(ssl, hostname);
  return {
    ...ONCE,
    ...{ host: hostname, port, protocol: 2, connectionName: 'ebbgate-sentinel', disableClientInfo: true },
    ...{ enableOfflineQueue: false, enableReadyCheck: false, maxRetriesPerRequest: null },
    ...{ connectTimeout: timeout, commandTimeout: timeout, disconnectTimeout: END_MS },
    ...(sentinelAuth && username !== undefined && { username }),
    ...(sentinelAuth && password !== undefined && { password }),
    ...(tls && { tls }),
  };
}

/**
 * For a cluster: redirections are followed, but what was under way on a lost connection is not sent again. While a slot moves, what
 * is there in part at each of two nodes is refused by both (TRYAGAIN): that is asked for again for as long as an answer may take.
 */
export function clusterOptions(
  settings: RedisSettings,
  hosts: readonly StoreHost[],
  role: Role,
  Connector: ClientOptions['Connector'],
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
    retryDelayOnTryAgain: TRY_AGAIN_MS,
    maxRedirections: MOST_REDIRECTIONS + Math.ceil((2 * settings.commandTimeoutMs) / TRY_AGAIN_MS), // ASK counts, too
    slotsRefreshTimeout: Math.ceil(settings.connectTimeoutMs / NODES_IN_TIME),
    redisOptions: { ...base, ...(tls && { tls }), Connector },
  };
}
