import type { Transport } from '@ebbgate/core';
import { type CallerContext, type ClientInterceptor, RpcClient } from '@ebbgate/rpc';
import { checkArgs, checkResult } from './check-args.js';
import type { ArgsOf, CallMethod, MethodTable, ResultOf } from './methods.js';
import { objectSerializer } from './object-serializer.js';
import { remoteErrors } from './remote-errors.js';

/** How others are asked. */
export interface TableClientOptions {
  /** Time-out of each request; default 60000. */
  readonly timeoutMs?: number;
  /** Around every call. */
  readonly interceptors?: readonly ClientInterceptor[];
}

/** Where the methods of a table are served. */
export interface TableTarget extends TableClientOptions {
  readonly topic: string;
  readonly namespace: string;
  readonly version: string;
}

/** Calls the methods of one table; arguments and results are checked against it. */
export class TableClient<Table extends MethodTable> {
  readonly #table: Table;
  readonly #client: RpcClient;

  constructor(
    transport: Transport,
    table: Table,
    { timeoutMs = 60_000, interceptors = [], ...target }: TableTarget,
  ) {
    this.#table = table;
    this.#client = new RpcClient(transport, target, {
      serializer: objectSerializer,
      remoteErrors,
      timeoutMs,
      interceptors,
    });
  }

  /** Rejects with what the method threw, and with whatever `RpcClient.call` rejects with. */
  async call<Name extends CallMethod<Table>>(
    method: Name,
    args: ArgsOf<Table[Name]>,
    context: CallerContext = {},
  ): Promise<ResultOf<Table[Name]>> {
    const row: Table[Name] = this.#table[method];
    const sent = checkArgs(method, row, args as Record<string, unknown>); // by name; checked here
    return checkResult(method, row, await this.#client.call(context, method, sent));
  }
}
