import { build } from './lib/build.mjs';

process.exitCode = await build(process.argv.slice(2));
