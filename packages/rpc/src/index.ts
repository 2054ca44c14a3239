export type { CallerContext } from '@ebbgate/core';
export {
  type AccessPolicy,
  type AnyFunction,
  defaultAccessPolicy,
  explicitAccessPolicy,
  expose,
  legacyAccessPolicy,
} from './access-policy.js';
export { RpcClient } from './client.js';
export type { RpcClientOptions } from './client-options.js';
export {
  type ArgsInput,
  type ArgsOutput,
  type Contract,
  defineContract,
  type MaybeSchema,
  method,
  type Method,
  type MethodKind,
  type MethodOptions,
  type Methods,
  type ResultInput,
  type ResultOutput,
} from './contract.js';
export {
  type ClientMethod,
  contractClient,
  type ContractCaller,
  type ContractClient,
  type ContractPrepareOptions,
  type Sent,
} from './contract-client.js';
export {
  type ContractEndpoint,
  type Implementation,
  implementContract,
  type ImplementOptions,
} from './contract-endpoint.js';
export { RpcDispatcher } from './dispatcher.js';
export type { EndpointMethod } from './endpoint-methods.js';
export {
  DrainingError,
  NoSuchMethodError,
  RemoteError,
  type RemoteErrorDetails,
  RpcVersionCapError,
  UnsupportedVersionError,
  ValidationError,
  type ValidationIssue,
} from './errors.js';
export { type ErrorClass, ExpectedException, expectedExceptions } from './expected-exceptions.js';
export {
  type ClientCall,
  type ClientInterceptor,
  compose,
  type Interceptor,
  type ServerInterceptor,
  type ServerRequest,
} from './interceptors.js';
export type { SendOptions } from './outgoing.js';
export type { PrepareOptions, RpcTransportOptions } from './prepare.js';
export { type CallDiagnostic, rpcDiagnostics } from './rpc-diagnostics.js';
export type { RpcServerOptions } from './server-options.js';
export { RpcServer, type RpcServerCounts } from './server.js';
export { checkVersion, isCompatible } from './version.js';
export {
  type AnyErrorType,
  type RemoteErrorInfo,
  type RemoteErrorOptions,
  RemoteErrorRegistry,
  type RemoteErrorType,
} from './remote-error-registry.js';
export { remoteOrigin, type WireFailure } from './failure.js';
