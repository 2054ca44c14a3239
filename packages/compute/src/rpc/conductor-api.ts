import type { Transport } from '@ebbgate/core';
import { type CallerContext, type ClientInterceptor, RpcClient } from '@ebbgate/rpc';
import { checkArgs } from './check-args.js';
import { CONDUCTOR_METHODS, CONDUCTOR_NAMESPACE, type ConductorMethods } from './conductor-methods.js';
import type { ArgsOf, CastMethod } from './methods.js';
import { objectSerializer } from './object-serializer.js';
import { CONDUCTOR_TOPIC } from './topics.js';

/** Sends work to the conductors; whichever is free takes it. */
export class ConductorApi {
  readonly #client: RpcClient;

  /** @param interceptors - around every cast */
  constructor(transport: Transport, interceptors: readonly ClientInterceptor[] = []) {
    const target = { topic: CONDUCTOR_TOPIC, namespace: CONDUCTOR_NAMESPACE, version: '1.0' };
    this.#client = new RpcClient(transport, target, { serializer: objectSerializer, interceptors });
  }

  /** Resolves when the broker has the request. */
  async cast<Name extends CastMethod<ConductorMethods>>(
    context: CallerContext,
    method: Name,
    args: ArgsOf<ConductorMethods[Name]>,
  ): Promise<void> {
    const row = CONDUCTOR_METHODS[method];
    const sent = checkArgs(method, row, args as Record<string, unknown>); // by name; checked here
    await this.#client.prepare({ version: row.version }).cast(context, method, sent);
  }
}
