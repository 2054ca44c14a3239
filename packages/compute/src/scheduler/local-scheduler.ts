import type { Logger } from '@ebbgate/core';
import type { CallerContext } from '@ebbgate/rpc';
import type { Records } from '../db/repositories.js';
import { NoValidHostError } from '../errors.js';
import type { RequestSpec } from '../objects/request-spec.js';
import { Liveness } from '../servicegroup/liveness.js';
import { filterHosts } from './filters.js';
import { type HostState, readHosts } from './host-state.js';
import { agrees, findNeighbours, hasRules } from './neighbours.js';
import { type PlacementRequest, placementRequest } from './placement-request.js';
import type { Scheduler, Selection, SelectOptions } from './scheduler.js';
import { weighHosts } from './weighers.js';

/** What a scheduler works with. */
export interface LocalSchedulerOptions {
  /** Where the hosts, their capacities and all claims are. */
  readonly records: Records;
  /** Where it logs. */
  readonly logger: Logger;
  /** Who is up; default: with the usual times. */
  readonly liveness?: Liveness;
}

/** The hosts that may be tried, the best first, and why the others may not. */
interface Candidates {
  readonly hosts: readonly HostState[];
  readonly leftOut: ReadonlyMap<string, number>;
}

/** So often is chosen again when others, chosen for at the same time, turned out to be the wrong neighbours. */
const ROUNDS = 5;

/**
 * Chooses by what the records say: the hosts are read, filtered and weighed, then the best is claimed. The claim is one
 * step of the records: when others were faster and it does not fit any more, the next host is tried, so that any number of
 * schedulers can choose at the same time and none oversubscribes a host.
 */
export class LocalScheduler implements Scheduler {
  readonly #records: Records;
  readonly #logger: Logger;
  readonly #liveness: Liveness;

  constructor({ records, logger, liveness = new Liveness() }: LocalSchedulerOptions) {
    this.#records = records;
    this.#logger = logger;
    this.#liveness = liveness;
  }

  async selectDestinations(
    _context: CallerContext,
    spec: RequestSpec,
    instanceUuids: readonly string[],
    options: SelectOptions = {},
  ): Promise<readonly (readonly Selection[])[]> {
    const chosen: (readonly Selection[])[] = [];
    try {
      for (const uuid of instanceUuids) {
        chosen.push(await this.#selectFor(placementRequest(spec, uuid, options), options.alternates ?? 0));
      }
    } catch (error) {
      await this.#giveBack(instanceUuids, chosen);
      throw error;
    }
    return chosen;
  }

  async #selectFor(request: PlacementRequest, alternates: number): Promise<readonly Selection[]> {
    const excluded = new Set<string>();
    for (let round = 1; ; round += 1) {
      const { hosts, leftOut } = await this.#candidates(request, excluded);
      const { claimed, lost } = await this.#claimFirst(request, hosts);
      if (claimed === undefined) throw noValidHost(request, leftOut, lost);
      if (await this.#neighboursAgree(request, claimed.host)) {
        const others = hosts.filter(({ host }) => host !== claimed.host).slice(0, alternates);
        return [claimed, ...others].map(({ host }) => ({ host, node: host, resources: request.resources }));
      }
      await this.#records.allocations.release(request.instanceUuid, claimed.host);
      // Both that have met give way; the first member of the group may come back here, so that they part.
      if (!isFirstOfGroup(request)) excluded.add(claimed.host);
      if (round === ROUNDS) throw noValidHost(request, leftOut, lost);
    }
  }

  async #candidates(request: PlacementRequest, excluded: ReadonlySet<string>): Promise<Candidates> {
    const [all, neighbours] = await Promise.all([
      readHosts(this.#records, this.#liveness),
      findNeighbours(this.#records, request),
    ]);
    const known = all.filter(({ host }) => !excluded.has(host));
    if (request.forced.length === 0) {
      const { hosts, leftOut } = filterHosts(known, request, neighbours);
      return { hosts: weighHosts(hosts, neighbours), leftOut };
    }
    const forced = request.forced.flatMap((name) => known.filter(({ host }) => host === name));
    return filterHosts(forced, request, neighbours);
  }

  async #claimFirst(
    { instanceUuid, resources }: PlacementRequest,
    hosts: readonly HostState[],
  ): Promise<{ readonly claimed: HostState | undefined; readonly lost: number }> {
    let lost = 0;
    for (const host of hosts) {
      if (await this.#records.allocations.claim(instanceUuid, host.host, resources)) {
        return { claimed: host, lost };
      }
      lost += 1;
      this.#logger.info({ host: host.host, instance: instanceUuid }, 'A host had no room any more');
    }
    return { claimed: undefined, lost };
  }

  async #neighboursAgree(request: PlacementRequest, host: string): Promise<boolean> {
    if (request.forced.length > 0 || !hasRules(request.rules)) return true;
    return agrees(host, await findNeighbours(this.#records, request));
  }

  /** One instance has found no host: the others need none. */
  async #giveBack(uuids: readonly string[], chosen: readonly (readonly Selection[])[]): Promise<void> {
    for (const [index, [first]] of chosen.entries()) {
      const uuid = uuids[index];
      if (uuid === undefined || first === undefined) continue;
      try {
        await this.#records.allocations.release(uuid, first.host);
      } catch (error) {
        this.#logger.error({ err: error, instance: uuid, host: first.host }, 'A claim was not given back');
      }
    }
  }
}

function isFirstOfGroup({ rules, instanceUuid }: PlacementRequest): boolean {
  return rules.group?.find('members')?.[0] === instanceUuid;
}

function noValidHost(
  { instanceUuid }: PlacementRequest,
  leftOut: ReadonlyMap<string, number>,
  lost: number,
): NoValidHostError {
  const reasons = [...leftOut].map(([fault, count]) => `${count} ${fault}`);
  if (lost > 0) reasons.push(`${lost} full when claimed`);
  const why = reasons.length > 0 ? reasons.join(', ') : 'there is none';
  return new NoValidHostError(`No host can take instance ${instanceUuid}: ${why}`);
}
