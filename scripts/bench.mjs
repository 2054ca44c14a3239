// npm run bench -- NAME [arguments]: builds, then runs bench/NAME.ts.
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { build } from './lib/build.mjs';
import { ensureInstalled } from './lib/install.mjs';
import { root, run } from './lib/run.mjs';

const [name, ...args] = process.argv.slice(2);
if (name === undefined || !existsSync(join(root, 'bench', `${name}.ts`))) {
  const names = readdirSync(join(root, 'bench')).filter((file) => file.endsWith('.ts'));
  console.error(
    `Usage: npm run bench -- NAME, where NAME is one of: ${names.map((file) => file.slice(0, -3)).join(', ')}`,
  );
  process.exit(2);
}
await ensureInstalled();
const buildCode = await build();
if (buildCode !== 0) process.exit(buildCode);
process.exitCode = (await run(process.execPath, [`build/bench/${name}.js`, ...args])).code;
