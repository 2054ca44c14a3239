// Before `npm ci` on a machine that may have no compiler: see lib/build-tools.mjs.
import { ensureBuildTools } from './lib/build-tools.mjs';

await ensureBuildTools();
