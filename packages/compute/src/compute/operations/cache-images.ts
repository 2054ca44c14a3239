import type { Logger } from '@ebbgate/core';
import type { VirtDriver } from '../../virt/driver.js';

/** What became of one image, in Nova's words. */
export type CachedImage = 'cached' | 'existing' | 'error';

/**
 * Fetches images before instances need them, one after another, so that a rollout does not fetch them on all hosts at
 * once. One that cannot be fetched keeps no other from being.
 */
export async function cacheImages(
  {
    virt,
    logger,
    lifetime,
  }: { readonly virt: VirtDriver; readonly logger: Logger; readonly lifetime: AbortSignal },
  imageIds: readonly unknown[],
): Promise<Readonly<Record<string, CachedImage>>> {
  const results = new Map<string, CachedImage>();
  for (const id of imageIds.map(String)) {
    try {
      results.set(id, (await virt.imageCache.cache(id, { signal: lifetime })) ? 'cached' : 'existing');
    } catch (error) {
      if (lifetime.aborted) throw error;
      logger.error({ err: error, image: id }, 'An image could not be cached');
      results.set(id, 'error');
    }
  }
  return Object.fromEntries(results);
}
