import { spawn } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCommand } from '../run-command.js';

/** Long enough for the two brokers and Python's library on a slow line. */
const INSTALL_LIMIT_MS = 10 * 60_000;

const FLOCK = '/usr/bin/flock';

/** Looks again once it has the lock: a run beside this one may have installed them meanwhile. */
const INSTALL = `
  dpkg-query -W -f='\${db:Status-Status}\\n' "$@" 2>/dev/null | grep -cx installed | grep -qx "$#" && exit 0
  apt-get update -q && apt-get install -q -y --no-install-recommends -o DPkg::Lock::Timeout=300 "$@"`;

const present = new Set<string>();

async function isInstalled(name: string): Promise<boolean> {
  if (present.has(name)) return true;
  const query = await runCommand('dpkg-query', ['-W', '-f=${db:Status-Status}', name], '/').catch(
    (error: unknown) => {
      throw new Error(`Is this Debian? dpkg-query cannot be run to look for ${name}`, { cause: error });
    },
  );
  const installed = query.code === 0 && query.stdout === 'installed';
  if (installed) present.add(name);
  return installed;
}

function install(names: readonly string[]): Promise<number | null> {
  const lock = join(tmpdir(), 'ebbgate-apt.lock');
  return new Promise((resolve, reject) => {
    const child = spawn(FLOCK, [lock, 'sh', '-c', INSTALL, 'sh', ...names], {
      // Runlevel 1 keeps the packages from starting their services.
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' },
      stdio: ['ignore', 2, 2],
      timeout: INSTALL_LIMIT_MS,
    });
    child.on('error', reject);
    child.on('exit', resolve);
  });
}

/**
 * Makes sure that these Debian packages are there; as root it installs what is missing, one run at a time on a
 * machine, and says so on stderr.
 *
 * @throws Error - when some are missing and this is not root (the message says what to run), or apt-get failed
 */
export async function ensurePackages(names: readonly string[]): Promise<void> {
  const missing: string[] = [];
  for (const name of names) if (!(await isInstalled(name))) missing.push(name);
  if (missing.length === 0) return;
  const command = `apt-get install --no-install-recommends ${missing.join(' ')}`;
  if (process.getuid?.() !== 0)
    throw new Error(`These tests need Debian packages that are missing. As root, run: ${command}`);
  process.stderr.write(`Installing what the tests need: ${command}\n`);
  const code = await install(missing);
  for (const name of missing)
    if (!(await isInstalled(name)))
      throw new Error(`${name} is still missing after "${command}" (exit status ${String(code)}); see above`);
}
