import { CrossCellRecovery } from '#compute/conductor/cross-cell-recovery.js';
import { conductorIn } from './doomed-conductor.js';
import { DEST, SOURCE } from './test-cloud.js';
import { asBefore, type CellsOutcome, FIRST_CELL, MOVED, type TwoCells } from './two-cells.js';

/** More looks than any recovery needs: one to see it, one to take it up, and the same again when it goes on by itself. */
const LOOKS = 8;

/** What a host of the other cell has been to an instance that it does not have. */
const THERE = ['-', 'deleted/-@null hidden deleted', `deleted/-@${DEST} hidden deleted`] as const;
export const TAKEN_BACK = asBefore();
export const KEPT: CellsOutcome = {
  ...asBefore(),
  instance: [`error/-@${SOURCE}`, ''],
  guests: [],
  kept: [SOURCE],
};
export const CONFIRMED: CellsOutcome = {
  ...MOVED,
  instance: [`deleted/-@${SOURCE} hidden deleted`, `active/-@${DEST}`],
  migration: ['confirmed hidden', 'confirmed'],
  kept: [],
  bound: [null, DEST],
  allocations: [`instance@${DEST}:1024`],
};
export const REVERTED: CellsOutcome = { ...asBefore(), migration: ['reverted', ''] };

/** In words, without what the other cell remembers of what it does not have. */
export function wordsOf(outcome: CellsOutcome): string {
  const [here, there] = outcome.instance;
  const isGone = outcome.cell === FIRST_CELL && (there === '' || THERE.some((one) => one === there));
  const [moveHere, moveThere] = outcome.migration;
  const isOver = moveThere === '' || moveThere === '-' || moveThere.endsWith(' hidden deleted');
  return JSON.stringify({
    ...outcome,
    instance: isGone ? [here] : [here, there],
    migration: isGone && isOver ? [moveHere] : outcome.migration,
  });
}

/** Conductors look until there is nothing to be found; each look comes after so long that what nobody touches is nobody's. */
export async function recover(cells: TwoCells, finders: readonly string[]): Promise<void> {
  const { registry } = cells;
  let nowMs = 0;
  const recoveries = finders.map(async (own) => {
    const conductor = conductorIn(await registry.get(own), registry);
    return new CrossCellRecovery(conductor, { own, registry }, () => nowMs);
  });
  for (let look = 0; look < LOOKS; look += 1) {
    await Promise.all(recoveries.map(async (recovery) => (await recovery).look()));
    await cells.first.idle(SOURCE);
    nowMs += registry.takeOverMs;
  }
  await cells.settled();
}
