// npm run fuzz -- [TARGET …] [--seconds N] [--seed N]: builds, then searches the targets of test/fuzz for inputs with which
//   something does not hold, each for so long (60 s); exit code 1 when there is one.
// npm run fuzz -- TARGET --input FILE: runs one input again.
import { build } from './lib/build.mjs';
import { ensureInstalled } from './lib/install.mjs';
import { root, run } from './lib/run.mjs';

await ensureInstalled();
const buildCode = await build();
if (buildCode !== 0) process.exit(buildCode);
process.exitCode = (
  await run(process.execPath, ['build/test/fuzz/main.js', ...process.argv.slice(2)], { cwd: root })
).code;
