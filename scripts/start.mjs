// npm start: install and build when needed, then run the main job. Only node: modules, as it runs on a fresh clone.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { build } from './lib/build.mjs';
import { ensureInstalled } from './lib/install.mjs';
import { root } from './lib/run.mjs';

const REPEAT_MS = 300;

await ensureInstalled();
const buildCode = await build(['packages/compute']);
if (buildCode !== 0) {
  console.error('The build failed; nothing was started.');
  process.exit(buildCode);
}

// Ctrl-C reaches the whole process group, and npm sends it once more: two or three SIGINTs for one key, of which the
// second would end a drain at once. So the service has a group of its own, and gets one signal for each burst.
const service = spawn(
  process.execPath,
  [
    '--import',
    new URL('./lib/child-of-start.mjs', import.meta.url).href,
    join(root, 'packages/compute/dist/main.js'),
    'main-job',
    ...process.argv.slice(2),
  ],
  {
    detached: true,
    stdio: ['inherit', 'inherit', 'inherit', 'pipe'],
    env: { ...process.env, EBBGATE_STARTER_FD: '3' },
  },
);

const lastSent = new Map();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR2']) {
  process.on(signal, () => {
    const now = performance.now();
    if (now - (lastSent.get(signal) ?? -Infinity) < REPEAT_MS) return;
    lastSent.set(signal, now);
    service.kill(signal);
  });
}

service.once('error', (error) => {
  console.error(`The service could not be started: ${error.message}`);
  process.exit(1);
});
service.once('exit', (code, signal) => {
  if (signal === null) process.exit(code);
  // Ends as the service did, so that the caller sees the signal too.
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
