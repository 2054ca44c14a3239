import type { RequestContext } from '@ebbgate/core';
import type { ConductorMethods } from '../../rpc/conductor-methods.js';
import type { ArgsOf } from '../../rpc/methods.js';
import type { ConductorContext } from '../conductor-context.js';

/** Has the hosts of an aggregate fetch images; those that do not take requests are left out, and the log says what came of it. */
export async function cacheImagesOn(
  { records, computeApi, hosts, logger }: ConductorContext,
  context: RequestContext,
  { aggregate, image_ids: ids }: ArgsOf<ConductorMethods['cache_images']>,
): Promise<void> {
  const named: unknown = aggregate.find('hosts');
  const wanted = Array.isArray(named) ? named.map(String) : [];
  await Promise.all(
    wanted.map(async (host) => {
      if (!(await hosts.takesRequests(records, host))) {
        logger.info({ host }, 'A host that is not up caches no images');
        return;
      }
      try {
        const results = await computeApi.call(context, 'cache_images', host, { image_ids: ids });
        logger.info({ host, results }, 'A host has cached images');
      } catch (error) {
        logger.error({ err: error, host }, 'A host has not cached images');
      }
    }),
  );
}
