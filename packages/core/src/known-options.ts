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
 * An object with these methods; absent, like every option.
 *
 * @throws ConfigurationError (`ERR_CONFIGURATION`) with the name and what would be right.
 */
export function checkMethods(name: string, value: unknown, methods: readonly string[]): void {
  if (value === undefined || value === null) return;
  const given = value as Readonly<Record<string, unknown>>; // anything else can be asked for members too
  if (methods.every((method) => typeof given[method] === 'function')) return;
  throw new ConfigurationError(`${name} must be an object with ${methods.join(', ')}`);
}

/**
 * An array of functions, or absent.
 *
 * @throws ConfigurationError (`ERR_CONFIGURATION`) with the name.
 */
export function checkFunctions(name: string, value: unknown): void {
  if (value === undefined || value === null) return;
  if (Array.isArray(value) && value.every((each) => typeof each === 'function')) return;
  throw new ConfigurationError(`${name} must be an array of functions`);
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
