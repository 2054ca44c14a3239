// What better-sqlite3 is compiled with when it is installed. Only node: modules: it runs on a fresh clone.
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { ensurePackages } from './debian.mjs';

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
  await ensurePackages(missing).catch((error) => {
    const wanted = missing.join(' ');
    console.error(
      `${error.message}\nbetter-sqlite3 may have to be compiled, which needs: ${wanted}. Going on without.`,
    );
  });
}
