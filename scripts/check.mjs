// npm run check: everything but the tests. Each step is named and timed; all run, unless the build fails.
import { build, packageNames } from './lib/build.mjs';
import { ensureInstalled } from './lib/install.mjs';
import { inLanes } from './lib/lanes.mjs';
import { run, tool } from './lib/run.mjs';

/** Runs one command for each package, two at a time; prints the output of those that fail. */
async function eachPackage(command) {
  let worst = 0;
  await inLanes(2, packageNames(), async (name) => {
    const { code, output } = await command(`packages/${name}`);
    if (code !== 0) console.log(`${name}:\n${output}`);
    worst = Math.max(worst, code);
  });
  return { code: worst };
}

const script = (name) => run(process.execPath, [`scripts/${name}.mjs`]);
const quiet = { capture: true };

const steps = [
  ['build', async () => ({ code: await build() })],
  ['commit messages', () => script('check-commits')],
  ['format', () => tool('prettier', 'prettier', ['--check', '--log-level', 'warn', '.'])],
  ['lint', () => tool('eslint', 'eslint', ['--max-warnings', '0', '.'])],
  ['unused code', () => tool('knip', 'knip', [])],
  ['API reports', () => script('api')],
  ['package contents', () => eachPackage((path) => tool('publint', 'publint', [path, '--strict'], quiet))],
  [
    'package types',
    () =>
      eachPackage((path) =>
        tool('@arethetypeswrong/cli', 'attw', ['--pack', path, '--profile', 'esm-only'], quiet),
      ),
  ],
];

await ensureInstalled();
const failed = [];
for (const [name, step] of steps) {
  console.log(`check: ${name} …`);
  const started = performance.now();
  const { code } = await step();
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  console.log(`check: ${name} ${code === 0 ? 'passed' : 'FAILED'} in ${seconds} s`);
  if (code !== 0) failed.push(name);
  if (code !== 0 && name === 'build') break;
}
console.log(failed.length === 0 ? 'check: all passed' : `check: failed: ${failed.join(', ')}`);
process.exitCode = failed.length === 0 ? 0 : 1;
