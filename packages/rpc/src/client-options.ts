import {
  checkFunctions,
  checkMethods,
  ConfigurationError,
  type RequestContext,
  type Serializer,
  serializerMethods,
  Target,
  type TargetOptions,
  type Transport,
} from '@ebbgate/core';
import type { RpcReply } from './envelope.js';
import { decodeFailure } from './failure.js';
import type { ClientInterceptor } from './interceptors.js';
import { override, type RpcTransportOptions, type SendSettings, TARGET_NAMES } from './prepare.js';
import { RemoteErrorRegistry } from './remote-error-registry.js';
import { replyWaiters, type ReplyWaiters } from './reply-waiters.js';

/** How an RPC client is made. All may be left out, and all but the last three be changed by `prepare()`. */
export interface RpcClientOptions {
  /** Milliseconds that a call waits for its reply; default 60000. */
  readonly timeoutMs?: number | null;
  /** The highest version that may be sent; default: any. */
  readonly versionCap?: string | null;
  /** Most further attempts to send after one that failed; default: as many as the time-out allows. */
  readonly retry?: number | null;
  /** Milliseconds without a sign of life from the server after which a call fails; default: no monitor. */
  readonly callMonitorTimeoutMs?: number | null;
  /** What is asked of the transport for each send. */
  readonly transportOptions?: RpcTransportOptions | null;
  /** For contexts, arguments and results; default: plain values as they are. */
  readonly serializer?: Serializer;
  /** Around every call and cast, the first one outermost. */
  readonly interceptors?: readonly ClientInterceptor[];
  /** Error types that may be rebuilt from a failure; all others arrive as RemoteError. */
  readonly remoteErrors?: RemoteErrorRegistry;
}

/** What all clients prepared from one share. */
export interface Shared {
  readonly transport: Transport;
  readonly waiters: ReplyWaiters;
  readonly serializer: Serializer | undefined;
  readonly interceptors: readonly ClientInterceptor[];
  readonly resultOf: (reply: RpcReply, context: RequestContext) => unknown;
}

/** A client made by `prepare()`: checked already. */
export class Prepared {
  readonly shared: Shared;
  readonly settings: SendSettings;

  constructor(shared: Shared, settings: SendSettings) {
    this.shared = shared;
    this.settings = settings;
  }
}

/** @throws ConfigurationError, InvalidTargetError for a bad option */
export function checkOptions(
  transport: Transport,
  target: Target | TargetOptions,
  options: RpcClientOptions,
): Prepared {
  const { serializer, interceptors = [], remoteErrors = new RemoteErrorRegistry(), ...overrides } = options;
  checkMethods('serializer', serializer, serializerMethods);
  checkMethods('remoteErrors', remoteErrors, ['nameOf', 'build']);
  checkFunctions('interceptors', interceptors);
  const misplaced = Object.keys(overrides).find((name) => (TARGET_NAMES as readonly string[]).includes(name));
  if (misplaced !== undefined) {
    throw new ConfigurationError(`"${misplaced}" belongs to the target of a client, not to its options`);
  }
  const resultOf = (reply: RpcReply, context: RequestContext): unknown => {
    if (reply.failure !== null) throw decodeFailure(reply.failure, remoteErrors);
    return serializer ? serializer.deserializeEntity(context.values, reply.result) : reply.result;
  };
  const bare: SendSettings = {
    target: target instanceof Target ? target : new Target(target),
    timeoutMs: undefined,
    versionCap: undefined,
    retry: undefined,
    callMonitorTimeoutMs: undefined,
    transportOptions: undefined,
  };
  const shared = {
    transport,
    waiters: replyWaiters(transport),
    serializer,
    interceptors: [...interceptors],
    resultOf,
  };
  return new Prepared(shared, override(bare, overrides));
}
