import { after } from 'mocha';
import { RedisProcess, SAVED } from './redis-process.js';

let shared: Promise<RedisProcess> | undefined;

/**
 * The server that the fault tests of this mocha run share, started by the first who asks; what it has answered is saved.
 * Whoever stops, kills or pauses it brings it back, and each test begins by emptying it.
 */
export function savedRedis(): Promise<RedisProcess> {
  shared ??= RedisProcess.start({ config: SAVED });
  return shared;
}

// A hook of the root suite, as this module is loaded outside all suites: it runs at the end of the whole run.
after('end the Redis of the fault tests', async function () {
  this.timeout(30_000);
  const server = await shared?.catch(() => undefined);
  shared = undefined;
  await server?.dispose();
});
