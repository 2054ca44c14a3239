// Further Node versions to test on, from the registry: the packages that hold the binary for one platform.
// (The package `node` would fetch the same by an install script, which npm may refuse to run.)
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { npm, root, run } from './run.mjs';

async function versionOf(binary) {
  const { code, output } = await run(binary, ['--version'], { capture: true }).catch(() => ({
    code: 1,
    output: '',
  }));
  return code === 0 ? output.trim() : '';
}

/** The path of a Node of this major; fetched into build/nodes once. Throws when it cannot be had. */
export async function nodeBinary(major) {
  const platform = process.platform === 'win32' ? 'win' : process.platform;
  const name = `node-${platform}-${process.arch}`;
  const prefix = join(root, 'build/nodes', String(major));
  const binary = join(
    prefix,
    'node_modules',
    name,
    'bin',
    process.platform === 'win32' ? 'node.exe' : 'node',
  );
  if ((await versionOf(binary)).startsWith(`v${major}.`)) return binary;

  console.log(`Fetching Node ${major} (about 40 MB, once) …`);
  mkdirSync(prefix, { recursive: true });
  const flags = [
    '--no-save',
    '--no-package-lock',
    '--no-audit',
    '--no-fund',
    '--ignore-scripts',
    '--loglevel=error',
  ];
  const args = ['install', ...flags, '--prefix', prefix, `${name}@${major}`];
  const { code, output } = await npm(args, { cwd: prefix, capture: true });
  if ((await versionOf(binary)).startsWith(`v${major}.`)) return binary;
  throw new Error(
    `Node ${major} could not be fetched (npm install ${name}@${major}: exit code ${code})\n${output}`,
  );
}
