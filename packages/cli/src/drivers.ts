import {
  baseScheme,
  type DriverFactory,
  driverForUrl,
  DriverLoadError,
  driversAmong,
  type TransportUrl,
} from '@ebbgate/core';
import { importPackage, type ModuleExports } from './module-import.js';

/** The packages that serve a scheme which no given driver serves. `memory:` needs none. */
export const driverPackages: ReadonlyMap<string, string> = new Map([
  ...['rabbit', 'rabbits', 'amqp', 'amqps', 'kombu', 'amqp10', 'amqp10s'].map(
    (scheme) => [scheme, '@ebbgate/driver-amqp'] as const,
  ),
  ...['redis', 'rediss'].map((scheme) => [scheme, '@ebbgate/driver-redis'] as const),
]);

/** Gives the exports of a package, undefined when there is none of that name. */
type PackageImporter = (specifier: string, cwd: string) => Promise<ModuleExports | undefined>;

/**
 * The drivers for a URL: those of the packages named by `--driver`, and for a scheme that none of them serves the one
 * from the table above, if it is installed.
 *
 * @param cwd - where packages and paths are looked for first
 * @param importer - how packages are imported
 * @throws DriverLoadError (`ERR_DRIVER_LOAD`) naming the package to install, or two that serve the same scheme; UsageError
 * for one that cannot be loaded
 */
export async function driversFor(
  url: TransportUrl,
  given: readonly string[],
  cwd: string,
  importer: PackageImporter = importPackage,
): Promise<DriverFactory[]> {
  const loaded = await Promise.all(given.map((specifier) => loadDrivers(specifier, cwd, importer)));
  const drivers = driversAmong(loaded.flat());
  const scheme = baseScheme(url);
  if (scheme === 'memory' || driverForUrl(url, drivers)) return drivers;
  const known = driverPackages.get(scheme);
  const exports = known === undefined ? undefined : await importer(known, cwd);
  const found = exports ? driversAmong(exports.values()) : [];
  if (driverForUrl(url, found)) return [...drivers, ...found];
  const advice = exports
    ? `${known ?? ''} is installed, but this version of it serves no such scheme`
    : adviceFor(known, drivers);
  throw new DriverLoadError(`No driver for "${scheme}:". ${advice}`);
}

async function loadDrivers(
  specifier: string,
  cwd: string,
  importer: PackageImporter,
): Promise<DriverFactory[]> {
  const exports = await importer(specifier, cwd);
  if (!exports) throw new DriverLoadError(`There is no package ${specifier} here: npm install ${specifier}`);
  const factories = driversAmong(exports.values());
  if (factories.length > 0) return factories;
  const names = [...exports.keys()].join(', ');
  throw new DriverLoadError(
    `${specifier} exports no driver, which is an object with name, schemes and create; it exports ${names === '' ? 'nothing' : names}`,
  );
}

function adviceFor(known: string | undefined, drivers: readonly DriverFactory[]): string {
  if (known !== undefined) return `Install the package that has it: npm install ${known}`;
  const schemes = ['memory', ...drivers.flatMap((driver) => driver.schemes)].join(', ');
  return `There are drivers for ${schemes}. Name the package that has it: --driver PACKAGE`;
}
