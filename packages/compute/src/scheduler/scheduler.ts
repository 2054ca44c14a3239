import type { CallerContext } from '@ebbgate/rpc';
import type { Resources } from '../db/repositories.js';
import type { RequestSpec } from '../objects/request-spec.js';

/** A host that was chosen for an instance. */
export interface Selection {
  /** The host: the server of its topics. */
  readonly host: string;
  /** Its hypervisor. */
  readonly node: string;
  /** What the instance takes there. */
  readonly resources: Resources;
}

/** How hosts are chosen, besides what the request itself says. */
export interface SelectOptions {
  /** How many more hosts are named for each instance, for the case that the first fails; default none. */
  readonly alternates?: number;
  /** None of these: they were tried already, or are being left. */
  readonly ignoreHosts?: readonly string[];
  /** Only these, if they pass all filters: what a user wishes, and not what an operator forces. */
  readonly onlyHosts?: readonly string[];
}

/** Chooses hosts for instances. */
export interface Scheduler {
  /**
   * A list of hosts for each instance, in the order of `instanceUuids`. The first of each list is claimed already, in the
   * name of that instance; the others, where asked for, are not. When one instance finds no host, none has a claim.
   * @throws NoValidHostError (`ERR_NO_VALID_HOST`), which tells why hosts were left out
   */
  selectDestinations(
    context: CallerContext,
    spec: RequestSpec,
    instanceUuids: readonly string[],
    options?: SelectOptions,
  ): Promise<readonly (readonly Selection[])[]>;
}
