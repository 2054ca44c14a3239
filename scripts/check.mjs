// npm run check: everything but the tests. After the build the steps run side by side; each is named and timed, and all
// run to their end.
import { availableParallelism } from 'node:os';
import { build, packageNames } from './lib/build.mjs';
import { ensureInstalled } from './lib/install.mjs';
import { inLanes } from './lib/lanes.mjs';
import { run, tool } from './lib/run.mjs';

const quiet = { capture: true };

/** Runs one command for each package; gives the output of those that fail. */
async function eachPackage(command) {
  const failed = [];
  for (const name of packageNames()) {
    const { code, output } = await command(`packages/${name}`);
    if (code !== 0) failed.push(`${name}:\n${output}`);
  }
  return { code: failed.length === 0 ? 0 : 1, output: failed.join('') };
}

const script = (name) => run(process.execPath, [`scripts/${name}.mjs`], quiet);

/** The longest first. */
const steps = [
  ['lint', () => tool('eslint', 'eslint', ['--max-warnings', '0', '.'], quiet)],
  ['API reports', () => script('api')],
  ['format', () => tool('prettier', 'prettier', ['--check', '--log-level', 'warn', '.'], quiet)],
  [
    'package types',
    () =>
      eachPackage((path) =>
        tool('@arethetypeswrong/cli', 'attw', ['--pack', path, '--profile', 'esm-only'], quiet),
      ),
  ],
  ['package contents', () => eachPackage((path) => tool('publint', 'publint', [path, '--strict'], quiet))],
  ['unused code', () => tool('knip', 'knip', [], quiet)],
  ['commit messages', () => script('check-commits')],
];

const failed = [];

async function take([name, step]) {
  const started = performance.now();
  const { code, output = '' } = await step();
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  if (code !== 0) {
    failed.push(name);
    console.log(output.trimEnd());
  }
  console.log(`check: ${name} ${code === 0 ? 'passed' : 'FAILED'} in ${seconds} s`);
}

await ensureInstalled();
console.log('check: build …');
await take(['build', async () => ({ code: await build() })]);
if (failed.length === 0) {
  console.log(`check: ${steps.map(([name]) => name).join(', ')} …`);
  await inLanes(availableParallelism(), steps, take);
}
console.log(failed.length === 0 ? 'check: all passed' : `check: failed: ${failed.join(', ')}`);
process.exitCode = failed.length === 0 ? 0 : 1;
