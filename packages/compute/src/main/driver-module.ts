import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { isAbsolute, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { type DriverFactory, DriverLoadError, driversAmong } from '@ebbgate/core';

/**
 * The drivers of a module: a package, as seen from a folder or else from here, or a file (`./…`, an absolute path, `file:`).
 * It is code that will run here: its name comes from the operator alone, never from a record or a message.
 *
 * @throws DriverLoadError (`ERR_DRIVER_LOAD`) when it is not there, cannot be loaded, or has no driver
 */
export async function driversOf(specifier: string, folder: string): Promise<readonly DriverFactory[]> {
  const url = locate(specifier, folder);
  if (url === undefined || !existsSync(fileURLToPath(url)))
    throw new DriverLoadError(`There is no package or file ${specifier}; a file is written ./driver.js`);
  const exports = await load(url, specifier);
  const drivers = driversAmong(Object.values(exports));
  if (drivers.length > 0) return drivers;
  throw new DriverLoadError(
    `${specifier} exports no driver, which is an object with name, schemes and create; it exports ${Object.keys(exports).join(', ') || 'nothing'}`,
  );
}

function locate(specifier: string, folder: string): string | undefined {
  if (specifier.startsWith('file:')) return specifier;
  if (/^\.{1,2}[\\/]/.test(specifier) || isAbsolute(specifier))
    return pathToFileURL(resolve(folder, specifier)).href;
  try {
    return pathToFileURL(createRequire(join(folder, 'package.json')).resolve(specifier)).href;
  } catch {
    // Not there, or only to be imported: then perhaps beside this program.
  }
  try {
    return import.meta.resolve(specifier);
  } catch {
    return undefined;
  }
}

async function load(url: string, specifier: string): Promise<object> {
  try {
    return (await import(url)) as object; // a module namespace is one
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new DriverLoadError(`${specifier} cannot be loaded: ${why}`, { cause: error });
  }
}
