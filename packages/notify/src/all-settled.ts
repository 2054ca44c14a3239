import type { MaybePromise } from '@ebbgate/core';

/**
 * Does all of it, whatever becomes of the others. Settles when all have; fails with what the first one failed with, and
 * tells the others to `onOther`.
 */
export function allSettled<T>(
  items: readonly T[],
  work: (item: T) => MaybePromise<void>,
  onOther: (error: unknown) => void,
): MaybePromise<void> {
  const [only] = items;
  if (items.length === 1 && only !== undefined) return work(only);
  return settled(items, work, onOther);
}

async function settled<T>(
  items: readonly T[],
  work: (item: T) => MaybePromise<void>,
  onOther: (error: unknown) => void,
): Promise<void> {
  const outcomes = await Promise.allSettled(items.map(async (item) => work(item)));
  const errors = outcomes.flatMap((each): unknown[] => (each.status === 'rejected' ? [each.reason] : []));
  for (const error of errors.slice(1)) onOther(error);
  if (errors.length > 0) throw errors[0];
}
