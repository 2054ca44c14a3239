// npm test [-- [--nodes] [mocha options] [files or folders]]
// Builds, runs the tests on this Node and, with --nodes, the unit tests again on the other supported ones; with CI=true those
// of the libraries: the compute service is a program, and has its Node; and what tests our own scripts, or runs whole suites of
// tests, says little of a Node.
// All tests are run in parts, one more at a time than there are processors, as much of what they do is to wait for a broker; a
// selection in one part.
// The last line on stdout is the sum: `N passed, N failed`, and `, N skipped` when there are any.
import { availableParallelism } from 'node:os';
import { build } from './lib/build.mjs';
import { ensureInstalled } from './lib/install.mjs';
import { inLanes } from './lib/lanes.mjs';
import { compiledPath, runMocha } from './lib/mocha.mjs';
import { nodeBinary } from './lib/nodes.mjs';

const OTHER_NODES = [22, 24];
const ALL_TESTS = 'build/test/**/*.test.js';
const UNIT_TESTS = 'build/test/unit/';
/** About half of them. */
const COMPUTE_TESTS = 'build/test/unit/compute/';
const TOOL_TESTS = ['tooling', 'driver-testkit'].map((name) => `${UNIT_TESTS}${name}/`);
/** Beside each other the parts are slower, each at its own moments. */
const PATIENCE = 4;
/** Each of these has its own brokers, which its tests share. */
const SUITE_TESTS = ['build/test/conformance/'];
const BROKER_TESTS = ['faults', 'interop', 'integration'].map((name) => `build/test/${name}/`);

const ci = process.env.CI === 'true';
const args = process.argv.slice(2);
const onOtherNodes = ci || args.includes('--nodes');
const options = args.filter((arg) => arg.startsWith('-') && arg !== '--nodes');
const selected = args.filter((arg) => !arg.startsWith('-')).map(compiledPath);
const isWhole = selected.length === 0 && options.length === 0;

const total = { passed: 0, failed: 0, skipped: 0 };

function add(counts) {
  for (const key of Object.keys(total)) total[key] += counts[key];
}

const lanes = isWhole ? availableParallelism() + 1 : 1;

const within = (folder) => `${folder}**/*.test.js`;

/** What is run on this Node; the longest part first. */
function ownParts() {
  const files = selected.length === 0 ? [ALL_TESTS] : selected;
  if (!isWhole) return [{ label: 'selected tests', files, options }];
  const others = [UNIT_TESTS, ...SUITE_TESTS, ...BROKER_TESTS].map((folder) => `--ignore=${within(folder)}`);
  return [
    { label: 'process tests', files, options: others },
    { label: 'conformance of drivers', files: SUITE_TESTS.map(within), options },
    { label: 'broker tests', files: BROKER_TESTS.map(within), options },
    ...unitParts('', {}),
  ];
}

/** In two parts, so that the last ones keep all processors at work. */
function unitParts(where, parts) {
  const others = [...options, `--ignore=${within(COMPUTE_TESTS)}`];
  return [
    { ...parts, label: `unit tests of compute${where}`, files: [within(COMPUTE_TESTS)], options },
    { ...parts, label: `unit tests of libraries${where}`, files: [within(UNIT_TESTS)], options: others },
  ];
}

function partsOnOtherNodes() {
  const files = selected.filter((file) => file.startsWith(UNIT_TESTS));
  const ownMajor = Number(process.versions.node.split('.')[0]);
  const majors = onOtherNodes ? OTHER_NODES.filter((major) => major !== ownMajor) : [];
  const ignored = TOOL_TESTS.map((folder) => `--ignore=${within(folder)}`);
  return majors.flatMap((major) => {
    const parts = unitParts(` on Node ${major}`, { major });
    if (selected.length === 0 && args.includes('--nodes')) return parts;
    if (selected.length === 0)
      return parts.slice(1).map((part) => ({ ...part, options: [...part.options, ...ignored] }));
    return files.length === 0 ? [] : [{ label: `unit tests on Node ${major}`, major, files, options }];
  });
}

async function runPart({ label, major, files, options: given }) {
  try {
    const node = major === undefined ? process.execPath : await nodeBinary(major);
    console.log(`Begun: ${label}`);
    const started = performance.now();
    add(await runMocha({ label, node, files, options: given, patience: lanes > 1 ? PATIENCE : 1 }));
    console.log(`Done: ${label}, in ${Math.round((performance.now() - started) / 1000)} s`);
  } catch (error) {
    console.log(`${label}: ${error.message}\n(counted as one failure)`);
    add({ passed: 0, failed: 1, skipped: 0 });
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
  await inLanes(lanes, [...ownParts(), ...partsOnOtherNodes()], runPart);
}

await main();
const none = total.passed + total.failed === 0;
if (none) console.log('No test was run.');
if (ci && total.skipped > 0) console.log('Skipped tests are failures when CI=true.');
const skipped = total.skipped > 0 ? `, ${total.skipped} skipped` : '';
console.log(`${total.passed} passed, ${total.failed} failed${skipped}`);
process.exitCode = total.failed > 0 || none || (ci && total.skipped > 0) ? 1 : 0;
