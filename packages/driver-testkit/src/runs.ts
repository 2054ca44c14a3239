import { deepEqual, equal, ok } from 'node:assert/strict';
import type { Lab } from './lab.js';

/** So many runs; and up to one more for each request of unknown outcome that was sent again. */
export function expectCount({ doubts }: Lab, count: unknown, expected: number, what: string): void {
  if (doubts === 0) equal(count, expected, what);
  else ok(Number(count) >= expected && Number(count) <= expected + doubts, `${what}: ${String(count)}`);
}

/** These runs, in any order, as often as they are listed; each request that was sent again may have run once more. */
export function expectRuns({ doubts }: Lab, runs: readonly unknown[], expected: readonly unknown[]): void {
  const [ran, wanted] = [textsOf(runs), textsOf(expected)] as const;
  if (doubts === 0) {
    deepEqual(ran, wanted);
    return;
  }
  for (const text of new Set([...ran, ...wanted])) {
    const [times, least] = [timesOf(ran, text), timesOf(wanted, text)];
    ok(times >= least && times <= least * (1 + doubts), `${text} ran ${String(times)} times`);
  }
  const copies = Math.max(0, ...wanted.map((text) => timesOf(wanted, text))); // those of a fanout
  ok(ran.length <= wanted.length + doubts * copies, `${String(ran.length)} runs of ${String(wanted.length)}`);
}

function textsOf(list: readonly unknown[]): string[] {
  return list.map((one) => JSON.stringify(one)).sort();
}

function timesOf(list: readonly string[], text: string): number {
  return list.filter((one) => one === text).length;
}
