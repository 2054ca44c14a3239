import { type MaybePromise, type RequestContext, Target } from '@ebbgate/core';
import { checkArgs, checkResult } from './check-args.js';
import type { ArgsOf, MethodRow, MethodTable, ResultOf } from './methods.js';

/** What a handler gives: nothing where the row returns nothing. */
type Answer<T> = [T] extends [null | undefined] ? MaybePromise<void> : MaybePromise<T>;

/** Methods of an endpoint, each under the name of its row. Those that are left out are unknown to callers. */
export type Handlers<Table extends MethodTable> = {
  readonly [Name in keyof Table]?: (
    context: RequestContext,
    args: ArgsOf<Table[Name]>,
  ) => Answer<ResultOf<Table[Name]>>;
};

type AnyHandler = (context: RequestContext, args: object) => unknown;

/** An endpoint for an RpcServer: arguments and results are checked against the table. */
export function makeEndpoint<Table extends MethodTable>(
  table: Table,
  interfaceOf: { readonly version: string; readonly namespace?: string },
  handlers: Handlers<Table>,
): object {
  const endpoint: Record<string, unknown> = { target: new Target(interfaceOf) };
  for (const [name, handler] of Object.entries(handlers)) {
    const row = table[name];
    if (row === undefined || handler === undefined) continue;
    endpoint[name] = checked(name, row, handler as AnyHandler); // its arguments are checked at each call
  }
  return Object.freeze(endpoint);
}

function checked(name: string, row: MethodRow, handler: AnyHandler) {
  return (context: RequestContext, args: Record<string, unknown>): unknown => {
    const result = handler(context, checkArgs(name, row, args));
    return result instanceof Promise
      ? result.then((value: unknown) => answer(name, row, value))
      : answer(name, row, result);
  };
}

function answer(name: string, row: MethodRow, value: unknown): unknown {
  return checkResult(name, row, value) ?? null;
}
