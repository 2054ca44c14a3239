import type { Transport } from '@ebbgate/core';
import { type CallerContext, RpcClient, ValidationError } from '@ebbgate/rpc';
import type { RequestSpec } from '../objects/request-spec.js';
import { checkArgs, checkResult } from '../rpc/check-args.js';
import { objectSerializer } from '../rpc/object-serializer.js';
import { remoteErrors } from '../rpc/remote-errors.js';
import { SCHEDULER_METHODS } from '../rpc/scheduler-methods.js';
import { SCHEDULER_TOPIC } from '../rpc/topics.js';
import { ONLY_HOSTS_HINT, placementRequest } from './placement-request.js';
import type { Scheduler, Selection, SelectOptions } from './scheduler.js';
import { readSelection } from './selection-object.js';

/** How schedulers are called. */
export interface RemoteSchedulerOptions {
  /** For an answer; default 60000. */
  readonly rpcTimeoutMs?: number;
}

const METHOD = 'select_destinations';

/**
 * The schedulers on topic `scheduler`; whichever is free answers. Hosts to be ignored travel in the request, as in Nova,
 * and how many alternates there are is the schedulers' to say; no more than asked for are handed on. Nova asks with the long
 * time-out under the call monitor: then a question outlives who has asked it, and is answered, with a claim, for nobody.
 */
export class RemoteScheduler implements Scheduler {
  readonly #client: RpcClient;

  constructor(transport: Transport, { rpcTimeoutMs = 60_000 }: RemoteSchedulerOptions = {}) {
    const target = { topic: SCHEDULER_TOPIC, version: SCHEDULER_METHODS[METHOD].version };
    const how = { serializer: objectSerializer, remoteErrors, timeoutMs: rpcTimeoutMs };
    this.#client = new RpcClient(transport, target, how);
  }

  /** Can also reject as `RpcClient.call` does; after a time-out (`ERR_TIMEOUT`) there may be claims. */
  async selectDestinations(
    context: CallerContext,
    spec: RequestSpec,
    instanceUuids: readonly string[],
    options: SelectOptions = {},
  ): Promise<readonly (readonly Selection[])[]> {
    const { alternates = 0 } = options;
    const row = SCHEDULER_METHODS[METHOD];
    const args = checkArgs(METHOD, row, {
      spec_obj: withOptions(spec, options),
      instance_uuids: instanceUuids,
      return_objects: true,
      return_alternates: alternates > 0,
    });
    const lists = checkResult(METHOD, row, await this.#client.call(context, METHOD, args));
    const { resources } = placementRequest(spec, '', options);
    return lists.map((list: unknown) => {
      const read = Array.isArray(list) ? list.map((one) => readSelection(one, resources)) : [undefined];
      const selections = read.filter((one) => one !== undefined);
      if (selections.length < read.length || selections.length === 0) {
        throw new ValidationError(METHOD, [{ path: '', message: 'must be lists of Selection' }], {
          part: 'result',
        });
      }
      return selections.slice(0, 1 + alternates);
    });
  }
}

function withOptions(spec: RequestSpec, { ignoreHosts = [], onlyHosts }: SelectOptions): RequestSpec {
  const sent = spec.clone();
  if (ignoreHosts.length > 0) {
    sent.update({ ignore_hosts: [...new Set([...(spec.find('ignore_hosts') ?? []), ...ignoreHosts])] });
  }
  if (onlyHosts !== undefined) {
    sent.update({
      scheduler_hints: { ...(spec.find('scheduler_hints') ?? {}), [ONLY_HOSTS_HINT]: onlyHosts },
    });
  }
  return sent;
}
