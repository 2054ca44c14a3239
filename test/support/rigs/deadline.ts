import { PATIENCE } from '../patience.js';

/** Settles as the promise does, or rejects after this time (times {@link PATIENCE}), naming what was waited for. */
export async function within<T>(what: string, limitMs: number, promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`${what}: not within ${limitMs} ms`)), limitMs * PATIENCE);
  });
  try {
    return await Promise.race([promise, limit]);
  } finally {
    clearTimeout(timer);
  }
}

/** The time between two looks of {@link eventually}. */
const LOOK_AGAIN_MS = 20;

/**
 * Looks again and again, so long times {@link PATIENCE}, until there is something to see: for state of another process that cannot announce itself.
 *
 * @param look - gives `undefined` or `false` for "not yet"; what it throws ends the waiting
 */
export async function eventually<T>(
  what: string,
  limitMs: number,
  look: () => T | Promise<T>,
): Promise<Exclude<T, undefined | false>> {
  const endMs = performance.now() + limitMs * PATIENCE;
  for (;;) {
    const seen = await look();
    // The two values that mean "not yet" are ruled out here.
    if (seen !== undefined && seen !== false) return seen as Exclude<T, undefined | false>;
    if (performance.now() >= endMs) throw new Error(`${what}: not within ${limitMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS));
  }
}
