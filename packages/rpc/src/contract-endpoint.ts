import { type MaybePromise, type RequestContext, Target } from '@ebbgate/core';
import type { ArgsOutput, Contract, Method, Methods, ResultInput } from './contract.js';
import { refuseUnknown, validate } from './contract-validation.js';
import { type EndpointMethod, setMethodVersions } from './endpoint-methods.js';

/** What an endpoint of a contract must have: every method, with its arguments and its result. */
export type Implementation<All extends Methods> = {
  readonly [Name in keyof All]: (
    context: RequestContext,
    args: ArgsOutput<All[Name]>,
  ) => MaybePromise<ResultInput<All[Name]>>;
};

/** How a contract is implemented. */
export interface ImplementOptions {
  /** Arguments that are unknown here are ignored and not refused; default false (RPC-13). */
  readonly lenient?: boolean;
}

/** An endpoint for `RpcServer`: the methods of a contract, which check their arguments and results. */
export type ContractEndpoint<All extends Methods = Methods> = {
  readonly [Name in keyof All]: EndpointMethod;
} & { readonly target: Target };

/**
 * An endpoint out of a contract and its methods. Arguments are checked by their schema before the method runs, the
 * result by its own before it is sent; what does not fit is a ValidationError for the caller, without the value.
 * A schema that works at once costs no promise.
 *
 * Arguments that the schema leaves out of what it gives (zod's `z.object` does) count as unknown and are refused, unless
 * `lenient`. A schema that passes unknown ones on (`z.looseObject`) accepts them. One that renames arguments needs `lenient`.
 *
 * @throws TypeError naming the method that is missing or no function
 */
export function implementContract<All extends Methods>(
  contract: Contract<All>,
  implementation: Implementation<NoInfer<All>>,
  options: ImplementOptions = {},
): ContractEndpoint<All> {
  const { lenient = false } = options;
  const members: [string, unknown][] = [
    ['target', new Target({ namespace: contract.namespace, version: contract.version })],
  ];
  const since = new Map<string, string>();
  for (const [name, one] of Object.entries<Method>(contract.methods)) {
    const run = (implementation as Readonly<Record<string, unknown>>)[name]; // checked below; named by us, not by the wire
    if (typeof run !== 'function')
      throw new TypeError(`The method "${name}" of the contract is not implemented`);
    const bound = run.bind(implementation) as EndpointMethod; // of that type by the contract
    members.push([name, checkedResult(name, one, checkedArgs(name, one, bound, lenient))]);
    since.set(name, one.since);
  }
  const endpoint = Object.freeze(Object.fromEntries(members)) as ContractEndpoint<All>; // one member for each method
  setMethodVersions(endpoint, since);
  return endpoint;
}

function checkedArgs(
  name: string,
  { args: schema }: Method,
  run: EndpointMethod,
  lenient: boolean,
): EndpointMethod {
  if (!schema) {
    return (context, args) => {
      if (!lenient) refuseUnknown(name, args);
      return run(context, {});
    };
  }
  const checked = { method: name, part: 'arguments' } as const;
  const enter = (context: RequestContext, args: object, kept: unknown): unknown => {
    if (!lenient) refuseUnknown(name, args, kept);
    return run(context, kept as Record<string, unknown>); // of the type that the schema gives
  };
  return (context, args) => {
    const kept = validate(schema, args, checked);
    if (kept instanceof Promise) return kept.then((later) => enter(context, args, later));
    return enter(context, args, kept);
  };
}

function checkedResult(name: string, { kind, result: schema }: Method, run: EndpointMethod): EndpointMethod {
  if (!schema || kind === 'cast') return run;
  const checked = { method: name, part: 'result' } as const;
  return (context, args) => {
    const result = run(context, args);
    if (result instanceof Promise) return result.then((later) => validate(schema, later, checked));
    return validate(schema, result, checked);
  };
}
