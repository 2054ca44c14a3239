import { textOf } from './actions.js';
import type { ActionOptions } from './run-action.js';
import { OperatorUsageError } from './work.js';

type Given = Readonly<Record<string, unknown>>;

/** What all commands have that change something. */
export const WAIT_FLAGS: readonly (readonly [string, string])[] = [
  ['--wait', 'follow it to its end; exit code 1 when it fails'],
  ['--timeout <seconds>', 'longest time for --wait (default: 600)'],
  ['--json', 'print what has become of the instance, as a JSON object'],
];

/** @throws OperatorUsageError */
export function readActionOptions(given: Given): ActionOptions {
  const seconds = numberOf(given, 'timeout', 0.1, 1_000_000) ?? 600;
  return { json: given['json'] === true, wait: given['wait'] === true, timeoutMs: seconds * 1000 };
}

/** @throws OperatorUsageError */
export function readLines(given: Given): number | null {
  return wholeOf(given, 'lines', 1_000_000) ?? null;
}

/** How many at the same time. @throws OperatorUsageError */
export function readParallel(given: Given): number {
  return wholeOf(given, 'parallel', 100) ?? 5;
}

/** Hints of the form name=value, by name. @throws OperatorUsageError */
export function readHints(given: Given): Readonly<Record<string, readonly string[]>> {
  const hints = new Map<string, string[]>();
  for (const one of Array.isArray(given['hint']) ? given['hint'].map(String) : []) {
    const [, name, value] = /^([\w:.-]+)=(.+)$/.exec(one) ?? [];
    if (name === undefined || value === undefined) {
      throw new OperatorUsageError(`--hint is "${one}", and must be NAME=VALUE, as in same_host=ID`);
    }
    hints.set(name, [...(hints.get(name) ?? []), value]);
  }
  return Object.fromEntries(hints);
}

function wholeOf(given: Given, name: string, max: number): number | undefined {
  const value = numberOf(given, name, 1, max);
  if (value === undefined || Number.isInteger(value)) return value;
  throw new OperatorUsageError(`--${name} is "${value}", and must be a whole number`);
}

function numberOf(given: Given, name: string, min: number, max: number): number | undefined {
  const text = textOf(given, name);
  if (text === undefined) return undefined;
  const value = Number(text);
  if (text.trim() !== '' && value >= min && value <= max) return value;
  throw new OperatorUsageError(`--${name} is "${text}", and must be a number from ${min} to ${max}`);
}
