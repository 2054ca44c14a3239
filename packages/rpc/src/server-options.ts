import {
  checkFunctions,
  checkMethods,
  ConfigurationError,
  type MaybePromise,
  type MessageServerOptions,
  refuseUnknown,
  type Serializer,
  serializerMethods,
} from '@ebbgate/core';
import type { AccessPolicy } from './access-policy.js';
import type { ServerInterceptor, ServerRequest } from './interceptors.js';
import type { RemoteErrorRegistry } from './remote-error-registry.js';

/** How an RPC server is made. All may be left out. */
export interface RpcServerOptions extends MessageServerOptions {
  /** Which methods may be called from outside; default: names without a leading underscore. */
  readonly accessPolicy?: AccessPolicy;
  /** For contexts, arguments and results; default: plain values as they are. */
  readonly serializer?: Serializer;
  /** Around every request, the first one outermost. */
  readonly interceptors?: readonly ServerInterceptor[];
  /**
   * Runs before a request is accepted, for endpoints that write a journal first. When it fails the request goes back, and
   * the server asks for no more for a while: 100 ms at first, then twice as long each time, up to 10 s.
   */
  readonly beforeAccept?: (request: ServerRequest) => MaybePromise<void>;
  /** Answers `oslo_rpc_server_ping` with `"pong"`; default false. */
  readonly ping?: boolean;
  /** Sends stack traces to callers; default false: only the error's type and text. */
  readonly trace?: boolean;
  /** Errors of these types travel under the names registered for them; all others under those of their classes. */
  readonly remoteErrors?: RemoteErrorRegistry;
}

/** As a record, so that the compiler says when one is missing. */
const OPTIONS: Readonly<Record<keyof RpcServerOptions, true>> = {
  accessPolicy: true,
  serializer: true,
  interceptors: true,
  beforeAccept: true,
  ping: true,
  trace: true,
  remoteErrors: true,
  slots: true,
  prefetch: true,
  fetched: true,
  duplicateWindow: true,
  stallMs: true,
  maxHeldMs: true,
};

/** @throws ConfigurationError (`ERR_CONFIGURATION`) for an unknown option, or one of a wrong type */
export function checkServerOptions(options: RpcServerOptions): void {
  refuseUnknown(options, Object.keys(OPTIONS));
  const { accessPolicy, serializer, interceptors, remoteErrors } = options;
  checkMethods('accessPolicy', accessPolicy, ['allows']);
  checkMethods('serializer', serializer, serializerMethods);
  checkMethods('remoteErrors', remoteErrors, ['nameOf', 'build']);
  checkFunctions('interceptors', interceptors);
  const beforeAccept: unknown = options.beforeAccept ?? undefined; // what a caller without types gave
  if (beforeAccept !== undefined && typeof beforeAccept !== 'function')
    throw new ConfigurationError('beforeAccept must be a function');
}
