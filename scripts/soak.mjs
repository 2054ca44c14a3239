// npm run soak -- --driver memory|rabbit|redis|amqp10 [--minutes N] [--seed N]: clients, servers, notifiers and listeners under
// constant load while brokers, links and processes fail; docs/reliability.md.
import { build } from './lib/build.mjs';
import { ensureInstalled } from './lib/install.mjs';
import { root, run } from './lib/run.mjs';

await ensureInstalled();
const buildCode = await build();
if (buildCode !== 0) process.exit(buildCode);
const args = ['--expose-gc', 'build/test/soak/main.js', ...process.argv.slice(2)];
process.exitCode = (await run(process.execPath, args, { cwd: root })).code;
