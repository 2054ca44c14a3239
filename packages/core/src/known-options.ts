import { ConfigurationError } from './errors.js';

/**
 * Refuses options that nobody reads: a misspelt one must not be silently without effect (CORE-09).
 *
 * @throws ConfigurationError (`ERR_CONFIGURATION`) with the name and those that are known.
 */
export function refuseUnknown(options: object, known: readonly string[]): void {
  const unknown = Object.keys(options).find((name) => !known.includes(name));
  if (unknown === undefined) return;
  throw new ConfigurationError(`There is no option "${unknown}"; there are ${known.join(', ')}`);
}

/**
 * A whole number of at least `min`.
 *
 * @throws ConfigurationError (`ERR_CONFIGURATION`) with the name, the value and what would be right.
 */
export function checkWhole(name: string, value: number, min: number): number {
  if (Number.isSafeInteger(value) && value >= min) return value;
  throw new ConfigurationError(
    `${name} must be a whole number of at least ${String(min)}, not ${String(value)}`,
  );
}
