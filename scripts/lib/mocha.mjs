// Runs the compiled tests once, and brings home the counts that plain-reporter.ts leaves in a file.
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { root, tool } from './run.mjs';

/** After the last test the process has this long to end by itself. */
const LEFT_OPEN_MS = 20_000;

/** The compiled path of a test source or of a folder of them. */
export function compiledPath(argument) {
  const path = argument.replace(/^\.\//, '').replace(/\/$/, '');
  const compiled = (/^test(\/|$)/.test(path) ? `build/${path}` : path).replace(/\.ts$/, '.js');
  return compiled.endsWith('.js') ? compiled : `${compiled}/**/*.test.js`;
}

function readCounts(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    if (error.code === 'ENOENT' || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/**
 * Resolves with `{ passed, failed, skipped }`; whatever ends the run early is counted as one failure. With `patience` the
 * limits of tests are so many times as long as they say.
 */
export async function runMocha({ label, node, files, options, patience = 1 }) {
  const countsFile = join(root, 'build/counts', `${label.replaceAll(/\W/g, '-')}.json`);
  mkdirSync(dirname(countsFile), { recursive: true });
  rmSync(countsFile, { force: true });

  let leftOpen = false;
  let watch;
  const { code } = await tool('mocha', 'mocha', [...options, ...files], {
    node,
    env: { EBBGATE_TEST_COUNTS: countsFile, EBBGATE_TEST_PATIENCE: String(patience) },
    onSpawn: (child) => {
      let since;
      watch = setInterval(() => {
        if (since === undefined && readCounts(countsFile) !== undefined) since = performance.now();
        if (since === undefined || performance.now() - since < LEFT_OPEN_MS) return;
        leftOpen = true;
        child.kill('SIGKILL');
      }, 500);
    },
  }).finally(() => clearInterval(watch));

  const counts = readCounts(countsFile);
  if (counts === undefined) {
    console.log(`The test run ended with exit code ${code} before it was complete (counted as one failure).`);
    return { passed: 0, failed: 1, skipped: 0 };
  }
  if (leftOpen) {
    console.log(
      'The tests left a timer, socket or process open: the run had to be ended (counted as one failure).',
    );
  }
  if (code !== 0 && counts.failed === 0) return { ...counts, failed: 1 };
  return counts;
}
