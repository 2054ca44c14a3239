import { spawn } from 'node:child_process';
import { availableParallelism, constants, setPriority } from 'node:os';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Result } from './matrix.js';

const PROGRAM = fileURLToPath(new URL('part.js', import.meta.url));

/**
 * Runs the matrix in as many processes as there are processors, each on a clock of its own.
 * @param flags - which cases, as `part.ts` has them
 * @param onResult - told of each as soon as it is there
 * @throws Error when one of the processes fails, with what it has printed
 */
export async function runParts(
  flags: readonly string[],
  onResult: (result: Result) => void = () => undefined,
): Promise<readonly Result[]> {
  const parts = availableParallelism();
  const results: Result[] = [];
  const note = (result: Result): void => {
    results.push(result);
    onResult(result);
  };
  await Promise.all(
    Array.from({ length: parts }, (_, index) =>
      runPart([...flags, '--part', `${String(index + 1)}/${String(parts)}`], note),
    ),
  );
  return results.sort((a, b) => a.number - b.number);
}

async function runPart(flags: readonly string[], onResult: (result: Result) => void): Promise<void> {
  const child = spawn(process.execPath, [PROGRAM, ...flags], { stdio: ['ignore', 'pipe', 'pipe'] });
  if (child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_LOW); // others may wait for something real
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
  createInterface(child.stdout).on('line', (line) => onResult(JSON.parse(line) as Result)); // its own words
  const code = await new Promise((resolve, reject) => child.on('error', reject).on('close', resolve));
  if (code !== 0) throw new Error(`The matrix ended with ${String(code)}: ${said}`);
}

/** Where a case was stopped, what is wrong in it, and how it is run again. */
export function failureOf(result: Result, flags: readonly string[]): string {
  const { flow, party, way, step, at, problems } = result;
  const again = `npm run matrix -- --flow ${flow} --party ${party} --way ${way} --step ${String(step)}`;
  return [
    `${flow}, ${party}, ${way} at step ${String(step)} (${at})`,
    ...problems.map((one) => `  ${one}`),
    `  again: ${[again, ...flags].join(' ')}`,
  ].join('\n');
}
