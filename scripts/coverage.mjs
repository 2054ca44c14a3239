// npm run coverage: the unit tests under c8, with a floor. Maps back to the TypeScript sources.
import { build } from './lib/build.mjs';
import { ensureInstalled } from './lib/install.mjs';
import { tool, toolPath } from './lib/run.mjs';

const LINES_FLOOR = 90;

await ensureInstalled();
const buildCode = await build();
if (buildCode !== 0) process.exit(buildCode);
const { code } = await tool('c8', 'c8', [
  '--all',
  '--src=packages',
  '--include=packages/*/dist/**/*.js',
  '--include=packages/*/src/**/*.ts',
  '--exclude=packages/*/*/main.*',
  '--exclude-after-remap',
  '--reporter=text',
  '--reporter=lcov',
  '--check-coverage',
  `--lines=${LINES_FLOOR}`,
  process.execPath,
  toolPath('mocha', 'mocha'),
  'build/test/unit/**/*.test.js',
]);
process.exitCode = code;
