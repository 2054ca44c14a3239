// Runs one command at a time for the scripts beside this folder. Only node: modules: it works before an install.
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../../', import.meta.url));

/**
 * Resolves with `{ code, output }`: the exit code (128 when a signal ended it) and, with `capture`, what it printed.
 * With `onLine` each line that it prints is given to that instead, and errors are printed. Never rejects for a command
 * that ran and failed.
 */
export function run(
  command,
  args,
  { cwd = root, env = {}, capture = false, onLine, timeout = undefined, onSpawn = undefined } = {},
) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd,
      env: { ...process.env, ...env },
      timeout,
      stdio: capture ? ['ignore', 'pipe', 'pipe'] : ['inherit', onLine ? 'pipe' : 'inherit', 'inherit'],
    });
    let output = '';
    if (onLine) createInterface({ input: child.stdout }).on('line', onLine);
    else {
      for (const stream of [child.stdout, child.stderr]) {
        stream?.setEncoding('utf8').on('data', (text) => (output += text));
      }
    }
    child.once('error', reject);
    child.once('close', (code) => resolve({ code: code ?? 128, output }));
    onSpawn?.(child);
  });
}

/** Runs npm itself; by the copy of npm that runs this script where there is one. */
export function npm(args, options) {
  const cli = process.env.npm_execpath;
  if (cli?.endsWith('npm-cli.js')) return run(process.execPath, [cli, ...args], options);
  return run('npm', args, options);
}

/** The path of a tool's script, by the `bin` entry of an installed package. */
export function toolPath(packageName, binName) {
  const folder = join(root, 'node_modules', packageName);
  const { bin } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  return join(folder, typeof bin === 'string' ? bin : bin[binName]);
}

/** Runs an installed tool with this Node, or with the one given as `node`. */
export function tool(packageName, binName, args, { node = process.execPath, ...options } = {}) {
  return run(node, [toolPath(packageName, binName), ...args], options);
}
