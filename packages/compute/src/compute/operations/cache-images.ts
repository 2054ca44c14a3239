import type { RequestContext } from '@ebbgate/core';
import { OperationAbortedError } from '../../errors.js';
import type { VirtDriver } from '../../virt/driver.js';
import { aborted } from '../../virt/pause.js';
import { EarlyEnd } from '../early-end.js';
import type { HostContext } from '../host-context.js';

/** What became of one image, in Nova's words. */
export type CachedImage = 'cached' | 'existing' | 'error';

/** What it works with. */
type Parts = Pick<HostContext, 'logger' | 'lifetime' | 'tasks'> & {
  readonly virt: Pick<VirtDriver, 'imageCache'>;
};

/**
 * Fetches images before instances need them, one after another, so that a rollout does not fetch them on all hosts at
 * once. One that cannot be fetched keeps no other from being. A drain may end it between them: those that are here stay.
 * @throws OperationAbortedError (`ERR_ABORTED`) then, and when the process ends
 */
export function cacheImages(
  { virt, logger, lifetime, tasks }: Parts,
  context: RequestContext,
  imageIds: readonly unknown[],
): Promise<Readonly<Record<string, CachedImage>>> {
  const ids = [...new Set(imageIds.map(String))];
  const results = new Map<string, CachedImage>();
  const startedMs = performance.now();
  const needsMs = (): number | undefined => {
    if (results.size === 0) return undefined;
    return ((performance.now() - startedMs) / results.size) * (ids.length - results.size);
  };
  const early = new EarlyEnd(needsMs);
  const signal = AbortSignal.any([early.signal, lifetime]);
  const record = {
    name: 'cache_images',
    kind: 'handler',
    requestId: context.requestId ?? null,
    progress: () => results.size / ids.length,
    abort: early.abort,
  } as const;
  const cacheOne = async (id: string): Promise<CachedImage> => {
    if (signal.aborted) throw aborted(signal);
    try {
      return (await virt.imageCache.cache(id, { signal })) ? 'cached' : 'existing';
    } catch (error) {
      if (error instanceof OperationAbortedError) throw error;
      logger.error({ err: error, image: id }, 'An image could not be cached');
      return 'error';
    }
  };
  return tasks.track(record, async (task) => {
    for (const id of ids) {
      results.set(id, await cacheOne(id));
      task.changed();
    }
    return Object.fromEntries(results);
  });
}
