import { isUnreachable } from './faults.js';

/** A cell that was asked, and what it has answered. */
export interface CellAnswer<Cell, Answer> {
  readonly cell: Cell;
  readonly answer: Answer;
}

/** What those cells answer that can be reached, in their order; they are asked side by side. Rejects with all else. */
export async function answersOf<Cell, Answer>(
  cells: readonly Cell[],
  ask: (cell: Cell) => Promise<Answer>,
): Promise<readonly CellAnswer<Cell, Answer>[]> {
  const asked = cells.map(async (cell) => {
    try {
      return [{ cell, answer: await ask(cell) }];
    } catch (error) {
      if (isUnreachable(error)) return [];
      throw error;
    }
  });
  return (await Promise.all(asked)).flat();
}
