import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { isAbsolute, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { UsageError } from './usage-error.js';

/** The exports of a module by their names. */
export type ModuleExports = ReadonlyMap<string, unknown>;

/** Imports a file, relative to a folder. @throws UsageError when it cannot be loaded; its cause says why */
export async function importFile(path: string, cwd: string): Promise<ModuleExports> {
  return load(pathToFileURL(resolve(cwd, path)).href, path);
}

/**
 * Imports a package, as seen from a folder or else from here, or a file (`./…`, an absolute path, `file:`).
 *
 * @returns undefined when there is no such package
 * @throws UsageError when it is there and cannot be loaded
 */
export async function importPackage(specifier: string, cwd: string): Promise<ModuleExports | undefined> {
  if (specifier.startsWith('file:')) return load(specifier, specifier);
  if (/^\.{1,2}[\\/]/.test(specifier) || isAbsolute(specifier)) return importFile(specifier, cwd);
  const url = locate(specifier, cwd);
  return url === undefined ? undefined : load(url, specifier);
}

function locate(specifier: string, cwd: string): string | undefined {
  try {
    return pathToFileURL(createRequire(join(cwd, 'package.json')).resolve(specifier)).href;
  } catch {
    // Not there, or only to be imported: then perhaps beside this command.
  }
  try {
    return import.meta.resolve(specifier);
  } catch {
    return undefined;
  }
}

async function load(url: string, shown: string): Promise<ModuleExports> {
  try {
    const namespace = (await import(url)) as object; // a module namespace is one
    return new Map<string, unknown>(Object.entries(namespace));
  } catch (error) {
    // Node's own words name the file of ours that wanted it.
    const cause = existsSync(fileURLToPath(url)) ? error : new Error('there is no such file');
    throw new UsageError(`${shown} cannot be loaded`, { cause });
  }
}
