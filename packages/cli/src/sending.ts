import { type ContextValues, MessagingError, type PlainObject, type Transport } from '@ebbgate/core';
import { type ClientInterceptor, RemoteError, RpcClient } from '@ebbgate/rpc';
import type { Command } from 'commander';
import type { CliContext } from './cli-context.js';
import { parseJsonObject } from './json-argument.js';
import type { LocalServerOptions } from './local-server.js';
import { secondsOption, someSeconds } from './option-values.js';
import { readText } from './read-text.js';

/** Options of commands that send one request. */
export interface SendingOptions extends LocalServerOptions {
  /** Milliseconds, as all times are once they are read. */
  readonly timeout: number;
  readonly context?: string;
}

/** What is to be sent. */
export interface Request {
  readonly method: string;
  readonly args: PlainObject;
  readonly values: ContextValues;
}

/** Adds them to a command, but for those that say where to. */
export function withSendingOptions(command: Command): Command {
  return command
    .argument('<method>', 'the method to run')
    .argument('[arguments]', "its arguments by name, a JSON object; - reads it from stdin (default: '{}')")
    .option('--namespace <name>', 'the namespace of the method (default: none)')
    .option('--rpc-version <version>', 'the version that the receiver must have (default: 1.0)')
    .addOption(secondsOption('--timeout <seconds>', 'how long to wait at most', 60_000, someSeconds))
    .option('--context <json>', 'members of the request context, a JSON object');
}

/**
 * Reads what is to be sent from the command line.
 * @throws UsageError naming what is wrong with the JSON, and where
 */
export async function readRequest(
  context: CliContext,
  method: string,
  args: string | undefined,
  options: SendingOptions,
): Promise<Request> {
  const values = options.context === undefined ? {} : parseJsonObject('--context', options.context);
  const text = args === '-' ? await readText(context.stdin, context.interrupted) : args;
  return { method, args: text === undefined ? {} : parseJsonObject('The arguments', text), values };
}

/** A client whose calls fail with errors of the family only, and with the reason of an interruption. */
export function makeClient(transport: Transport, options: LocalServerOptions, timeoutMs: number): RpcClient {
  const { exchange, topic, server, namespace, rpcVersion: version } = options;
  return new RpcClient(
    transport,
    { exchange, topic, server, namespace, version },
    { timeoutMs, interceptors: [remoteErrorsByName] },
  );
}

/** A TypeError or RangeError here is the peer's: it is told as one. */
const remoteErrorsByName: ClientInterceptor = async (call, next) => {
  try {
    return await next(call);
  } catch (error) {
    const interrupted = call.options.signal?.aborted === true;
    if (interrupted || error instanceof MessagingError || !(error instanceof Error)) throw error;
    throw new RemoteError({ remoteType: error.name, remoteMessage: error.message });
  }
};
