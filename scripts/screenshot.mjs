// npm run screenshot: builds, then makes docs/images/operators-page.png of the page for operators.
import { build } from './lib/build.mjs';
import { ensureInstalled } from './lib/install.mjs';
import { run } from './lib/run.mjs';

await ensureInstalled();
const code = await build();
process.exitCode =
  code === 0 ? (await run(process.execPath, ['build/test/support/screenshot.js'])).code : code;
