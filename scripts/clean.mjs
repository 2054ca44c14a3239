import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { packageNames } from './lib/build.mjs';
import { root } from './lib/run.mjs';

const folders = ['build', 'coverage', '.nx', ...packageNames().map((name) => `packages/${name}/dist`)];
for (const folder of folders) rmSync(join(root, folder), { recursive: true, force: true });
