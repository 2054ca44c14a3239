import type { CallerContext } from '@ebbgate/core';
import type { ArgsInput, Contract, Method, Methods, ResultOutput } from './contract.js';
import type { SendOptions } from './outgoing.js';
import type { PrepareOptions } from './prepare.js';

/** What a typed client needs of a client: RpcClient has it. */
export interface ContractCaller {
  /** As `RpcClient.prepare`. */
  prepare(overrides: PrepareOptions): ContractCaller;
  /** As `RpcClient.call`. */
  call(context: CallerContext, method: string, args?: object, options?: SendOptions): Promise<unknown>;
  /** As `RpcClient.cast`. */
  cast(context: CallerContext, method: string, args?: object, options?: SendOptions): Promise<void>;
  /** As `RpcClient.canSendVersion`. */
  canSendVersion(version?: string | null): boolean;
}

/** Calls resolve with their result, casts with nothing: when the broker has the message. */
export type Sent<M extends Method> = M['kind'] extends 'cast' ? Promise<void> : Promise<ResultOutput<M>>;

/** One method of a typed client. Without arguments the second parameter is `undefined`, or left out. */
export type ClientMethod<M extends Method> =
  undefined extends ArgsInput<M>
    ? (context: CallerContext, args?: ArgsInput<M>, options?: SendOptions) => Sent<M>
    : (context: CallerContext, args: ArgsInput<M>, options?: SendOptions) => Sent<M>;

/** What can be prepared of a typed client: all but what its contract settles. */
export type ContractPrepareOptions = Omit<PrepareOptions, 'namespace' | 'version'>;

/** A client with the methods of a contract. */
export type ContractClient<All extends Methods = Methods> = {
  readonly [Name in keyof All]: ClientMethod<All[Name]>;
} & {
  /** A typed client with some parameters replaced, as `RpcClient.prepare`; this one stays as it is. */
  prepare(overrides: ContractPrepareOptions): ContractClient<All>;
  /** May this method be sent under the version cap? */
  canSend(method: keyof All & string): boolean;
};

/**
 * A typed client for servers of a contract. Each method sends the version in which it appeared, so that servers of
 * older versions of the contract take it too, and the contract's namespace.
 *
 * @example
 * const compute = contractClient(client, contract);
 * const instance = await compute.get(context, { id });
 * await compute.prepare({ topic: 'compute-ops', server: host }).reboot(context, { id });
 *
 * @throws (its methods reject with) what `RpcClient.call` and `cast` reject with, RpcVersionCapError and
 * ValidationError among them
 */
export function contractClient<All extends Methods>(
  client: ContractCaller,
  contract: Contract<All>,
): ContractClient<All> {
  let Typed = typedClients.get(contract);
  if (!Typed) {
    Typed = typedClient(contract);
    typedClients.set(contract, Typed);
  }
  return new Typed(client, contract) as unknown as ContractClient<All>; // its methods were made from the contract
}

type TypedClient = new (client: ContractCaller, contract: Contract) => BoundClient;

/** The classes of typed clients: made once a contract, so that `prepare()` makes no functions. */
const typedClients = new WeakMap<Contract, TypedClient>();

/** A client, and the clients prepared from it, one for each version that has been sent. */
class BoundClient {
  readonly #client: ContractCaller;
  readonly #contract: Contract;
  readonly #byVersion = new Map<string, ContractCaller>();

  constructor(client: ContractCaller, contract: Contract) {
    this.#client = client;
    this.#contract = contract;
  }

  /** Not a method of the instance: its names belong to the contract. */
  static callerOf(bound: BoundClient, version: string): ContractCaller {
    let caller = bound.#byVersion.get(version);
    if (!caller) {
      caller = bound.#client.prepare({ namespace: bound.#contract.namespace ?? null, version });
      bound.#byVersion.set(version, caller);
    }
    return caller;
  }

  prepare(overrides: ContractPrepareOptions): unknown {
    return contractClient(this.#client.prepare(overrides), this.#contract);
  }

  canSend(name: string): boolean {
    const { methods } = this.#contract;
    const one = Object.hasOwn(methods, name) ? methods[name] : undefined;
    if (!one) throw new TypeError(`The contract has no method "${name}"`);
    return BoundClient.callerOf(this, one.since).canSendVersion();
  }
}

function typedClient(contract: Contract): TypedClient {
  class TypedClient extends BoundClient {}
  for (const [name, one] of Object.entries(contract.methods)) {
    Object.defineProperty(TypedClient.prototype, name, { value: sender(name, one) });
  }
  return TypedClient;
}

type Send = (
  this: BoundClient,
  context: CallerContext,
  args?: object,
  options?: SendOptions,
) => Promise<unknown>;

function sender(name: string, { kind, since }: Method): Send {
  if (kind === 'call') {
    return function (context, args, options) {
      return BoundClient.callerOf(this, since).call(context, name, args, options);
    };
  }
  return function (context, args, options) {
    return BoundClient.callerOf(this, since).cast(context, name, args, options);
  };
}
