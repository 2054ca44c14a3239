import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

const SCRIPT = join(import.meta.dirname, '../../../../scripts/debian.mjs');

const present = new Set<string>();

/**
 * Makes sure that these Debian packages are there; as root it installs what is missing, one run at a time on a
 * machine, and says so on stderr.
 *
 * @throws Error - when some are missing and could not be installed; stderr says why, and what to run as root
 */
export async function ensurePackages(names: readonly string[]): Promise<void> {
  if (names.every((name) => present.has(name))) return;
  const child = spawn(process.execPath, [SCRIPT, ...names], { stdio: ['ignore', 2, 2] });
  const [code] = (await once(child, 'exit')) as [number | null]; // as Node documents it
  if (code !== 0) throw new Error(`These tests need Debian packages: ${names.join(' ')} (see above)`);
  for (const name of names) present.add(name);
}
