// Brings node_modules in step with package-lock.json. Only node: modules: it runs on a fresh clone.
import { existsSync, readFileSync } from 'node:fs';
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
    if (found === undefined) return isOptional(entry);
    return found.version === entry.version && found.integrity === entry.integrity;
  });
}

/** How often it is told how far an install is. */
const TOLD_EVERY_MS = 30_000;

/** Tells how far an install is, again and again; gives what ends that. */
function tellProgress() {
  const wanted = Object.entries(lockedPackages('package-lock.json')).filter(
    ([path, entry]) => path.startsWith('node_modules/') && !entry.link && !isOptional(entry),
  );
  const begun = performance.now();
  const timer = setInterval(() => {
    const there = wanted.filter(([path]) => existsSync(join(root, path, 'package.json'))).length;
    const seconds = Math.round((performance.now() - begun) / 1000);
    console.error(
      `  ${seconds} s: ${there} of ${wanted.length} packages are there, ${nextOf(there, wanted.length)} …`,
    );
  }, TOLD_EVERY_MS);
  return () => clearInterval(timer);
}

/** What npm is at: it unpacks when all is downloaded, and runs install scripts when all is unpacked. */
function nextOf(there, all) {
  if (there === 0) return 'npm downloads';
  return there < all ? 'npm unpacks' : 'better-sqlite3 is compiled';
}

/** Packages for other platforms are in the lock, never on the disk. */
function isOptional({ optional, devOptional, peer }) {
  return optional === true || devOptional === true || peer === true;
}

/** Installs when needed; says so on stderr. Exits the process when it fails. */
export async function ensureInstalled() {
  if (isInstalled()) return;
  await ensureBuildTools();
  console.error(
    'Installing the dependencies (npm ci): two minutes on a fast machine, fifteen on a slow one …',
  );
  // --include=dev: the compiler is a development dependency, and NODE_ENV may say production.
  const args = ['ci', '--include=dev', '--no-audit', '--no-fund', '--loglevel=error'];
  const done = tellProgress();
  const { code, output } = await npm(args, { capture: true });
  done();
  if (code === 0) return;
  console.error(output);
  console.error(`npm ci failed with exit code ${code}.`);
  process.exit(code);
}
