/** What would do something to a terminal, or turn what stands beside it. */
const UNSEEN = /[\p{C}\p{Zl}\p{Zp}]/gu;

/**
 * Rows as columns, each as wide as its widest cell, two blanks between them; the last one is not padded. Characters that
 * are not seen become `?`.
 */
export function textTable(given: readonly (readonly string[])[]): readonly string[] {
  const rows = given.map((row) => row.map((cell) => cell.replaceAll(UNSEEN, '?')));
  const widths: number[] = [];
  for (const row of rows) {
    for (const [column, cell] of row.entries()) widths[column] = Math.max(widths[column] ?? 0, cell.length);
  }
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}
