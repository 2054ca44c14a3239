import { MessagingTimeoutError, Target, type Transport, within } from '@ebbgate/core';
import { RpcServer, type ServerInterceptor } from '@ebbgate/rpc';
import { TaskRegistry } from '@ebbgate/service';
import type { Command } from 'commander';
import type { CliContext } from './cli-context.js';
import { type Broker, type ConnectionOptions, findBroker } from './connection.js';
import { deferred } from './deferred.js';
import { echoEndpoint } from './echo-endpoint.js';
import { type EndpointsContext, loadEndpoints } from './endpoints-file.js';
import type { LogLevel } from './stderr-logger.js';
import { UsageError } from './usage-error.js';

/** Options of commands that can bring their server along. */
export interface LocalServerOptions extends ConnectionOptions {
  readonly topic: string;
  readonly server?: string;
  readonly namespace?: string;
  readonly rpcVersion?: string;
  readonly serveEcho?: boolean;
  readonly endpoints?: string;
}

/** Adds them to a command. */
export function withLocalServerOptions(command: Command): Command {
  return command
    .option('--serve-echo', 'also run a server in this process, with echo and sink: what memory: needs')
    .option('--endpoints <file>', 'also run a server in this process, with the endpoints of a module');
}

/** A server in the same process. */
export interface LocalServer {
  readonly rpc: RpcServer;
  /** Resolves when it has taken its first request. */
  readonly firstRequest: Promise<void>;
  /** Ends it; waits so long for what runs. @throws ServerWaitTimeoutError (`ERR_WAIT_TIMEOUT`) */
  close(timeoutMs: number): Promise<void>;
}

/** How the server in the process differs from the default. */
export interface LocalServerSettings {
  readonly ping?: boolean;
  readonly slots?: number;
  /** From where on it logs; default `none`: a caller is told of failures anyway. */
  readonly logFrom?: LogLevel;
}

/** A transport, and a server beside it on a transport of its own, if one was asked for. */
export interface Session {
  readonly transport: Transport;
  readonly local: LocalServer | undefined;
}

/** A server that must not hold up the end gets so long. */
const SHORTLY_MS = 200;

/**
 * Runs `work` with a transport, and closes everything after it, whatever comes of it.
 *
 * @throws UsageError when the broker is within this process and nothing else would be in it
 */
export async function withSession<T>(
  context: CliContext,
  options: LocalServerOptions,
  settings: LocalServerSettings,
  work: (session: Session) => Promise<T>,
): Promise<T> {
  if (options.serveEcho === true && options.endpoints !== undefined) {
    throw new UsageError('Give --serve-echo or --endpoints, not both');
  }
  const wantsServer = options.serveEcho === true || options.endpoints !== undefined;
  const broker = await findBroker(context, options);
  const transport = broker.open();
  try {
    if (!wantsServer && !transport.features.crossProcess) throw nobodyThere(broker);
    const local = wantsServer ? await startLocalServer(context, broker, options, settings) : undefined;
    try {
      return await work({ transport, local });
    } finally {
      await local?.close(SHORTLY_MS).catch(() => undefined); // the outcome of the work counts
    }
  } finally {
    await transport.close();
  }
}

/** Waits until the server in the process has handled what was sent to it. */
export async function whenHandled(local: LocalServer, timeoutMs: number, signal: AbortSignal): Promise<void> {
  const late = (): Error =>
    new MessagingTimeoutError('The server in this process has not taken the request in time');
  await within(local.firstRequest, { timeoutMs, signal }, late);
  await within(local.close(timeoutMs), { signal }, late);
}

function nobodyThere({ url }: Broker): UsageError {
  return new UsageError(
    `Nothing can answer at ${url.scheme}: this broker lives within one process, and ends with it. Add --serve-echo or ` +
      '--endpoints FILE to run a server in this process, or name a broker of your own with --url',
  );
}

async function startLocalServer(
  context: CliContext,
  broker: Broker,
  options: LocalServerOptions,
  settings: LocalServerSettings,
): Promise<LocalServer> {
  const { topic, server = 'local', exchange } = options;
  const { logFrom = 'none', ...serverOptions } = settings;
  const transport = broker.open(logFrom);
  const listening = deferred();
  const first = deferred();
  const about = { transport, topic, server, tasks: new TaskRegistry(), listening: listening.promise };
  const interceptors: ServerInterceptor[] = [
    (request, next) => {
      first.resolve();
      return next(request);
    },
  ];
  try {
    const endpoints = await endpointsFor(context, options, about);
    const rpc = new RpcServer(transport, { exchange, topic, server }, endpoints, {
      ...serverOptions,
      interceptors,
    });
    await rpc.start();
    listening.resolve();
    let closing: Promise<void> | undefined;
    return {
      rpc,
      firstRequest: first.promise,
      close: (timeoutMs) => (closing ??= end(rpc, transport, timeoutMs)),
    };
  } catch (error) {
    await transport.close();
    throw error;
  }
}

/** Those of the file, or those that echo. */
export async function endpointsFor(
  context: CliContext,
  options: Pick<LocalServerOptions, 'endpoints' | 'namespace' | 'rpcVersion'>,
  about: EndpointsContext,
): Promise<object[]> {
  const target = { namespace: options.namespace, version: options.rpcVersion };
  if (options.endpoints !== undefined) return loadEndpoints(options.endpoints, context.cwd, about, target);
  return [{ ...echoEndpoint(), target: new Target(target) }];
}

async function end(rpc: RpcServer, transport: Transport, timeoutMs: number): Promise<void> {
  try {
    await rpc.stop();
    await rpc.wait({ timeoutMs });
  } finally {
    await transport.close();
  }
}
