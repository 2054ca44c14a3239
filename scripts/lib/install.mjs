// Brings node_modules in step with package-lock.json. Only node: modules: it runs on a fresh clone.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ensureBuildTools } from './build-tools.mjs';
import { npm, root } from './run.mjs';

function lockedPackages(path) {
  try {
    return JSON.parse(readFileSync(join(root, path), 'utf8')).packages;
  } catch (error) {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  }
}

/** npm writes what it installed to node_modules/.package-lock.json as its last act, so half an install has none. */
export function isInstalled() {
  const wanted = lockedPackages('package-lock.json');
  const present = lockedPackages('node_modules/.package-lock.json');
  if (wanted === undefined) throw new Error('package-lock.json is missing: restore it, or run `npm install`');
  if (present === undefined) return false;
  return Object.entries(wanted).every(([path, entry]) => {
    if (path === '' || (path.startsWith('packages/') && !path.includes('node_modules/'))) return true;
    const found = present[path];
    // Packages for other platforms are in the lock, never on the disk.
    if (found === undefined)
      return entry.optional === true || entry.devOptional === true || entry.peer === true;
    return found.version === entry.version && found.integrity === entry.integrity;
  });
}

/** Installs when needed; says so on stderr. Exits the process when it fails. */
export async function ensureInstalled() {
  if (isInstalled()) return;
  await ensureBuildTools();
  console.error(
    'Installing the dependencies (npm ci): about two minutes, one of which compiles better-sqlite3 …',
  );
  // --include=dev: the compiler is a development dependency, and NODE_ENV may say production.
  const args = ['ci', '--include=dev', '--no-audit', '--no-fund', '--loglevel=error'];
  const { code, output } = await npm(args, { capture: true });
  if (code === 0) return;
  console.error(output);
  console.error(`npm ci failed with exit code ${code}.`);
  process.exit(code);
}
