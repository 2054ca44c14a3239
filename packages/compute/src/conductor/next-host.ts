import type { RequestContext } from '@ebbgate/core';
import { NoValidHostError } from '../errors.js';
import type { RequestSpec } from '../objects/request-spec.js';
import { resourcesOf } from '../scheduler/flavor-resources.js';
import type { Selection } from '../scheduler/scheduler.js';
import { readSelection, selectionObject } from '../scheduler/selection-object.js';
import type { SelectionObject } from '../objects/selection.js';
import type { ConductorContext } from './conductor-context.js';

/** The hosts that an earlier choice named for the case that the first fails, as they travel. */
export async function hostListOf(
  { records }: ConductorContext,
  alternates: readonly Selection[],
): Promise<readonly SelectionObject[]> {
  const services = await records.services.list('compute');
  const known = new Map(services.map((service) => [service.host, service]));
  const nobody = { uuid: '', availabilityZone: null };
  return alternates.map((one) => selectionObject(one, known.get(one.host) ?? nobody));
}

/**
 * The first host of such a list that is still right by all filters, claimed now, and those after it; empty when there is
 * none.
 */
export async function nextHost(
  { scheduler, logger }: ConductorContext,
  context: RequestContext,
  spec: RequestSpec,
  uuid: string,
  hostList: readonly unknown[],
): Promise<readonly Selection[]> {
  const resources = resourcesOf(spec.get('flavor'), { bootsFromVolume: spec.find('is_bfv') === true });
  const list = hostList.map((object) => readSelection(object, resources)).filter((one) => one !== undefined);
  for (const [index, { host }] of list.entries()) {
    try {
      const chosen = await scheduler.selectDestinations(context, spec, [uuid], { onlyHosts: [host] });
      return [...(chosen[0] ?? []), ...list.slice(index + 1)];
    } catch (error) {
      if (!(error instanceof NoValidHostError)) throw error;
      logger.info(
        { err: error, host, instance: uuid },
        'An alternate host cannot take the instance any more',
      );
    }
  }
  return [];
}
