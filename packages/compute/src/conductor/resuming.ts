import type { CallerContext } from '@ebbgate/rpc';
import type { RequestSpec } from '../objects/request-spec.js';
import type { Scheduler, Selection, SelectOptions } from '../scheduler/scheduler.js';
import type { ConductorContext } from './conductor-context.js';

/** A conductor that does again what an earlier run of it was cut off in, at whatever step. */
export function resuming(conductor: ConductorContext): ConductorContext {
  return { ...conductor, isAgain: true, scheduler: new KeptChoices(conductor) };
}

/**
 * What was chosen and claimed for an instance stays its choice: that host may have the request already. Only what has no
 * claim is chosen for. Which others were named then is not known: any may be, as they are looked at before they are tried.
 */
class KeptChoices implements Scheduler {
  readonly #conductor: ConductorContext;

  constructor(conductor: ConductorContext) {
    this.#conductor = conductor;
  }

  async selectDestinations(
    context: CallerContext,
    spec: RequestSpec,
    instanceUuids: readonly string[],
    options: SelectOptions = {},
  ): Promise<readonly (readonly Selection[])[]> {
    const { records, scheduler } = this.#conductor;
    const { ignoreHosts = [], alternates = 0 } = options;
    const [uuid, ...more] = instanceUuids;
    if (uuid !== undefined && more.length === 0) {
      const claims = await records.allocations.find({ consumer: uuid });
      const kept = claims.find(({ host }) => !ignoreHosts.includes(host));
      if (kept) {
        const known = (await records.allocations.capacities()).map(({ host }) => host);
        const others = known.filter((host) => host !== kept.host && !ignoreHosts.includes(host));
        const hosts = [kept.host, ...others.slice(0, alternates)];
        return [hosts.map((host) => ({ host, node: host, resources: kept.resources }))];
      }
    }
    return scheduler.selectDestinations(context, spec, instanceUuids, options);
  }
}
