import { MessagingTimeoutError } from '@ebbgate/core';
import { expectedExceptions, ValidationError } from '@ebbgate/rpc';
import type { Records } from '../db/repositories.js';
import { NoValidHostError } from '../errors.js';
import { makeEndpoint } from '../rpc/endpoint.js';
import { SCHEDULER_METHODS, SCHEDULER_RPC_VERSION } from '../rpc/scheduler-methods.js';
import type { Scheduler, Selection } from './scheduler.js';
import { selectionObject } from './selection-object.js';

/** What an endpoint of a scheduler is made of. */
export interface SchedulerEndpointParts {
  readonly scheduler: Scheduler;
  readonly records: Records;
  /** How many more hosts are named where alternates are asked for: one less than the attempts at a build. */
  readonly alternates: number;
}

/** News of instances and aggregates: each choice reads the records, so nothing is to be remembered. */
const known = (): void => undefined;

/** What a scheduler answers to, in Nova's words. Below 4.5 the old form of an answer is meant. */
export function schedulerEndpoint(parts: SchedulerEndpointParts): object {
  const { scheduler, records } = parts;
  return makeEndpoint(
    SCHEDULER_METHODS,
    { version: SCHEDULER_RPC_VERSION },
    {
      update_instance_info: known,
      delete_instance_info: known,
      sync_instance_info: known,
      update_aggregates: known,
      delete_aggregate: known,
      // That there is no host is an answer, and no fault of this side.
      select_destinations: expectedExceptions([NoValidHostError], async (context, args) => {
        const alternates = args.return_alternates ? parts.alternates : 0;
        const uuids = uuidsOf(args.instance_uuids);
        const chosen = await scheduler.selectDestinations(context, args.spec_obj, uuids, { alternates });
        if (context.remainingMs <= 0) {
          // Whoever asked has given up, and given back what was claimed until then.
          for (const [index, uuid] of uuids.entries()) {
            await records.allocations.release(uuid, chosen[index]?.[0]?.host);
          }
          throw new MessagingTimeoutError('The choice of hosts took longer than whoever asked was to wait');
        }
        return args.return_objects ? withObjects(records, chosen) : chosen.flatMap(firstAsDictionary);
      }),
    },
  );
}

function uuidsOf(list: readonly unknown[]): readonly string[] {
  return list.map((uuid, index) => {
    if (typeof uuid === 'string') return uuid;
    throw new ValidationError('select_destinations', [
      { path: `instance_uuids[${index}]`, message: 'must be string' },
    ]);
  });
}

async function withObjects(
  { services }: Records,
  chosen: readonly (readonly Selection[])[],
): Promise<readonly unknown[]> {
  const known = new Map((await services.list('compute')).map((service) => [service.host, service]));
  const nobody = { uuid: '', availabilityZone: null };
  return chosen.map((list) => list.map((one) => selectionObject(one, known.get(one.host) ?? nobody)));
}

/** The old form of an answer: one dictionary for each instance. */
function firstAsDictionary([first]: readonly Selection[]): readonly unknown[] {
  return first ? [{ host: first.host, nodename: first.node, limits: {} }] : [];
}
