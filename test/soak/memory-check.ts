import type { Problem } from './checker.js';
import type { Evidence, Run } from './evidence.js';

/** The heap at the end, against that after a quarter. */
const MOST_GROWTH = 1.1;
/** Until then a process is not warm: what Node compiles and keeps is on top, at most so much. */
const WARM_MS = 120_000;
const WARMING_BYTES = 1024 ** 2;
/** A quarter of the load is seen in so much of it, as more or less is under way at a moment. */
const QUARTER = { from: 0.25, to: 0.4 };

/** The least heap of a run after a quarter of the load, and that at its end, in bytes. */
export interface Growth {
  readonly run: string;
  readonly quarter: number;
  readonly end: number;
}

/** Of those who were there all the time, from a quarter of the load to its end. */
export function growths({ runs, load }: Pick<Evidence, 'runs' | 'load'>): readonly Growth[] {
  const at = (part: number): number => load.from + (load.to - load.from) * part;
  return runs.flatMap((run) => {
    const quarter = leastHeap(run, at(QUARTER.from), at(QUARTER.to));
    const end = leastHeap(run, load.to, Infinity);
    return quarter === undefined || end === undefined ? [] : [{ run: run.run, quarter, end }];
  });
}

function leastHeap({ records }: Run, from: number, to: number): number | undefined {
  const seen = records.flatMap((one) =>
    one.is === 'heap' && one.at >= from && one.at <= to ? [one.bytes] : [],
  );
  return seen.length === 0 ? undefined : Math.min(...seen);
}

/**
 * Of who was there all the time: the heap when all has settled is more than a tenth above that after a quarter of the load; one MiB
 * above that is allowed under a load of less than two minutes.
 */
export function memoryProblems(evidence: Evidence): readonly Problem[] {
  const seen = growths(evidence);
  if (seen.length === 0)
    return [{ kind: 'memory', text: 'nobody was there long enough to see whether heaps grow' }];
  const isWarm = evidence.load.to - evidence.load.from >= WARM_MS;
  const allowed = isWarm ? 0 : WARMING_BYTES;
  return seen
    .filter(({ quarter, end }) => end > quarter * MOST_GROWTH + allowed)
    .map(({ run, quarter, end }) => ({
      kind: 'memory',
      text: `the heap of ${run} grew from ${mib(quarter)} to ${mib(end)}`,
    }));
}

export function mib(bytes: number): string {
  return `${(bytes / 1024 ** 2).toFixed(2)} MiB`;
}
