import { commandOf, type MatrixResult } from './matrix-case.js';

/** Where a run was stopped, and what is wrong in it. */
export function failureOf(result: MatrixResult): string {
  const { flow, party, way, step, message, problems } = result;
  const where = `${flow}, ${party}, ${way} at message ${step} (${message ?? 'it was over before'})`;
  return [where, ...problems.map((one) => `  ${one}`), `  again: ${commandOf(result)}`].join('\n');
}
