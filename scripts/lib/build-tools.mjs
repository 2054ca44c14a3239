// What better-sqlite3 is compiled with when it is installed. Only node: modules: it runs on a fresh clone.
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { run } from './run.mjs';

/** Commands, which are also the Debian packages that bring them. */
const TOOLS = ['python3', 'make', 'g++'];

function isThere(command) {
  return (process.env.PATH ?? '').split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, command), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/**
 * Makes sure that a compiler is there: on Debian and its like, as root, installs what is missing. Elsewhere it only says
 * what is missing, on stderr: the install may still find a binary that fits.
 */
export async function ensureBuildTools() {
  const missing = TOOLS.filter((command) => !isThere(command));
  if (missing.length === 0) return;
  const wanted = missing.join(' ');
  if (process.getuid?.() !== 0 || !isThere('apt-get')) {
    console.error(
      `better-sqlite3 may have to be compiled, and these are missing: ${wanted}. Install them if it fails.`,
    );
    return;
  }
  console.error(`Installing what better-sqlite3 is compiled with: ${wanted} …`);
  const env = { DEBIAN_FRONTEND: 'noninteractive' };
  const updated = await run('apt-get', ['update', '-q'], { env, capture: true });
  const args = [
    'install',
    '-q',
    '-y',
    '--no-install-recommends',
    '-o',
    'DPkg::Lock::Timeout=300',
    ...missing,
  ];
  const { code, output } = await run('apt-get', args, { env, capture: true });
  if (code === 0) return;
  console.error(
    `${updated.code === 0 ? '' : updated.output}${output}\nThey could not be installed; going on without.`,
  );
}
