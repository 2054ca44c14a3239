// Compiles, then puts right what the compiler leaves undone.
import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { root, tool } from './run.mjs';

/** Names of the folders under packages/. */
export function packageNames() {
  return readdirSync(join(root, 'packages'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && existsSync(join(root, 'packages', entry.name, 'package.json')))
    .map((entry) => entry.name)
    .sort();
}

/** The compiler never deletes: without this a test whose source is gone would go on running. */
function removeStale(sourceFolder, outputFolder) {
  if (!existsSync(join(root, outputFolder))) return;
  for (const name of readdirSync(join(root, outputFolder), { recursive: true })) {
    const source = name.replace(/\.(js|d\.ts)(\.map)?$/, '.ts');
    if (source !== name && !existsSync(join(root, sourceFolder, source))) {
      rmSync(join(root, outputFolder, name));
    }
  }
}

/**
 * The compiler writes plain files, and npm links no command that was not there when it installed: makes the commands
 * of a package executable, and `npx NAME` find them.
 */
function linkCommands(name) {
  const { bin = {} } = JSON.parse(readFileSync(join(root, 'packages', name, 'package.json'), 'utf8'));
  for (const [command, path] of Object.entries(bin)) {
    const file = join(root, 'packages', name, path);
    const link = join(root, 'node_modules/.bin', command);
    if (!existsSync(file)) continue;
    chmodSync(file, 0o755);
    if (existsSync(link)) continue;
    rmSync(link, { force: true });
    symlinkSync(relative(dirname(link), file), link);
  }
}

/** What `--verbose` says of the build itself: the time and what is done, a list of projects, lines between. */
const SAID_OF_BUILD = /^(?:\d+:\d\d:\d\d [AP]M - | {4}\* |$)/;
const BUILDS = /Building project '(.+)\/tsconfig\.json'/;

/** Of the compiler's words only these are of interest: what it builds now, and what is wrong. */
function showProgress(line) {
  const [, project] = BUILDS.exec(line) ?? [];
  if (project !== undefined) console.error(`Building ${project} …`);
  else if (!SAID_OF_BUILD.test(line)) console.log(line);
}

/** Builds the projects given (all of them without any), incrementally; says which one it is at. Resolves with the compiler's exit code. */
export async function build(projects = []) {
  for (const name of packageNames()) removeStale(`packages/${name}/src`, `packages/${name}/dist`);
  for (const name of ['test', 'bench', 'examples']) removeStale(name, `build/${name}`);
  const { code } = await tool('typescript-native', 'tsc', ['-b', '--verbose', ...projects], {
    onLine: showProgress,
  });
  packageNames().forEach(linkCommands);
  return code;
}
