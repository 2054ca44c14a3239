/** More than a receiver reads of values within values: its own 256, and what an envelope adds. */
export const TOO_DEEP = 256 + 16 + 1;

/** How deep a value is; the stack of calls is none of its limits. */
export function depthOf(value: unknown): number {
  let depth = 0;
  for (let level = [value]; ; depth += 1) {
    level = level.flatMap((one): unknown[] =>
      typeof one === 'object' && one !== null ? Object.values(one) : [],
    );
    if (level.length === 0) return depth;
  }
}
