// Debian packages that are missing, installed as root: one run at a time on a machine. Only node: modules: it runs on a fresh clone.
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from './run.mjs';

const INSTALL_LIMIT_MS = 10 * 60_000;
const LOCK = join(tmpdir(), 'ebbgate-apt.lock');

/**
 * Looks again once it has the lock: a run beside this one may have installed them meanwhile. The lists of packages are
 * fetched only when it does not go without. Runlevel 1 keeps the packages from starting their services.
 */
const INSTALL = `
  dpkg-query -W -f='\${db:Status-Status}\\n' "$@" 2>/dev/null | grep -cx installed | grep -qx "$#" && exit 0
  install() { RUNLEVEL=1 apt-get install -q -y --no-install-recommends -o DPkg::Lock::Timeout=300 "$@"; }
  install "$@" || { apt-get update -q && install "$@"; }`;

async function missingOf(names) {
  const args = ['-W', '-f=${Package} ${db:Status-Status}\n', ...names];
  const { output } = await run('dpkg-query', args, { capture: true });
  const installed = new Set(output.split('\n').filter((line) => line.endsWith(' installed')));
  return names.filter((name) => !installed.has(`${name} installed`));
}

/**
 * Makes sure that these packages are there; says on stderr what it installs.
 *
 * @throws Error that says what to run: this is not Debian, not root, or apt-get has failed
 */
export async function ensurePackages(names) {
  const missing = await missingOf(names).catch(() => names);
  if (missing.length === 0) return;
  const command = `apt-get install --no-install-recommends ${missing.join(' ')}`;
  if (process.getuid?.() !== 0) throw new Error(`Debian packages are missing. As root, run: ${command}`);
  console.error(`Installing: ${command} …`);
  const { code, output } = await run('flock', [LOCK, 'sh', '-c', INSTALL, 'sh', ...missing], {
    capture: true,
    env: { DEBIAN_FRONTEND: 'noninteractive' },
    timeout: INSTALL_LIMIT_MS,
  }).catch((error) => ({ code: 1, output: error.message }));
  if (code !== 0)
    throw new Error(
      `${output}\nDebian packages could not be installed (exit code ${code}). As root, run: ${command}`,
    );
}
