import type { DriverFactory } from './driver.js';
import { DriverLoadError } from './errors.js';
import { memoryDriver } from './memory/driver.js';

/**
 * The drivers among what modules export: what has a `name`, a list `schemes` and a function `create` is one, as they need
 * not share a copy of this package with whoever loads them. For programs to which an operator names a driver.
 *
 * @throws DriverLoadError (`ERR_DRIVER_LOAD`) when two of them serve the same scheme, or one serves `memory`
 */
export function driversAmong(exported: Iterable<unknown>): DriverFactory[] {
  const drivers = [...new Set(exported)].filter(isFactory);
  const owners = new Map<string, DriverFactory>(memoryDriver.schemes.map((scheme) => [scheme, memoryDriver]));
  for (const driver of drivers.filter((each) => each !== memoryDriver)) {
    for (const scheme of driver.schemes) {
      const owner = owners.get(scheme);
      if (owner)
        throw new DriverLoadError(
          `Two drivers, ${owner.name} and ${driver.name}, serve the scheme "${scheme}": give one`,
        );
      owners.set(scheme, driver);
    }
  }
  return drivers;
}

function isFactory(value: unknown): value is DriverFactory {
  if (typeof value !== 'object' || value === null) return false;
  const { name, schemes, create } = value as Partial<Record<keyof DriverFactory, unknown>>; // looked at one by one
  return (
    typeof name === 'string' &&
    Array.isArray(schemes) &&
    schemes.length > 0 &&
    schemes.every((scheme) => typeof scheme === 'string') &&
    typeof create === 'function'
  );
}
