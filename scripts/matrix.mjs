// npm run matrix [-- options]: every flow, stopped at each of its steps, in memory and on a simulated clock; --write makes the
//   table of docs/operations/drain-matrix.md.
//   Options: --flow NAME, --party NAME, --way TERM|KILL, --step N, --seed N, --no-ops-server, --json FILE, --write
// npm run matrix -- --processes [options]: each service a process on RabbitMQ, or with --transport amqp10 or redis by AMQP 1.0
//   or on Redis; besides: --representative, --lanes N
import { build } from './lib/build.mjs';
import { ensureInstalled } from './lib/install.mjs';
import { root, run } from './lib/run.mjs';

const args = process.argv.slice(2);
const kind = args.some((arg) => /^--(processes|transport)\b/.test(arg)) ? 'process' : 'memory';
await ensureInstalled();
const buildCode = await build();
if (buildCode !== 0) process.exit(buildCode);
process.exitCode = (
  await run(process.execPath, [`build/test/matrix/${kind}/main.js`, ...args], { cwd: root })
).code;
