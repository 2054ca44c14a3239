// npm test [-- [--nodes] [mocha options] [files or folders]]
// Builds, runs the tests on this Node and, with CI=true or --nodes, the unit tests again on the other supported ones.
// The last line on stdout is the sum: `N passed, N failed`, and `, N skipped` when there are any.
import { build } from './lib/build.mjs';
import { ensureInstalled } from './lib/install.mjs';
import { compiledPath, runMocha } from './lib/mocha.mjs';
import { nodeBinary } from './lib/nodes.mjs';

const OTHER_NODES = [22, 24];
const UNIT_TESTS = 'build/test/unit/';

const ci = process.env.CI === 'true';
const args = process.argv.slice(2);
const onOtherNodes = ci || args.includes('--nodes');
const options = args.filter((arg) => arg.startsWith('-') && arg !== '--nodes');
const selected = args.filter((arg) => !arg.startsWith('-')).map(compiledPath);
const files = selected.length === 0 ? ['build/test/**/*.test.js'] : selected;
const unitFiles =
  selected.length === 0
    ? [`${UNIT_TESTS}**/*.test.js`]
    : selected.filter((file) => file.startsWith(UNIT_TESTS));

const total = { passed: 0, failed: 0, skipped: 0 };

function add(counts) {
  for (const key of Object.keys(total)) total[key] += counts[key];
}

async function runOnOtherNodes() {
  const ownMajor = Number(process.versions.node.split('.')[0]);
  for (const major of OTHER_NODES.filter((other) => other !== ownMajor)) {
    try {
      const node = await nodeBinary(major);
      console.log(`\nUnit tests on Node ${major}`);
      add(await runMocha({ label: `node-${major}`, node, files: unitFiles, options }));
    } catch (error) {
      console.log(`${error.message}\n(counted as one failure)`);
      add({ passed: 0, failed: 1, skipped: 0 });
    }
  }
}

async function main() {
  await ensureInstalled();
  console.log('Building …');
  if ((await build()) !== 0) {
    console.log('The build failed; no test was run (counted as one failure).');
    add({ passed: 0, failed: 1, skipped: 0 });
    return;
  }
  console.log(`Tests on Node ${process.versions.node}`);
  add(await runMocha({ label: 'own', node: process.execPath, files, options }));
  if (onOtherNodes && unitFiles.length > 0) await runOnOtherNodes();
}

await main();
const none = total.passed + total.failed === 0;
if (none) console.log('No test was run.');
if (ci && total.skipped > 0) console.log('Skipped tests are failures when CI=true.');
const skipped = total.skipped > 0 ? `, ${total.skipped} skipped` : '';
console.log(`${total.passed} passed, ${total.failed} failed${skipped}`);
process.exitCode = total.failed > 0 || none || (ci && total.skipped > 0) ? 1 : 0;
