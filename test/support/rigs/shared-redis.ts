import { after } from 'mocha';
import { NOT_SAVED, RedisProcess } from './redis-process.js';

let shared: Promise<RedisProcess> | undefined;

/**
 * The server that all suites of this mocha run share, started by the first who asks. Each uses keys with a prefix of its own.
 * Whoever stops or kills it starts one of its own.
 */
export function sharedRedis(): Promise<RedisProcess> {
  shared ??= RedisProcess.start({ config: NOT_SAVED });
  return shared;
}

// A hook of the root suite, as this module is loaded outside all suites: it runs at the end of the whole run.
after('end the shared Redis', async function () {
  this.timeout(30_000);
  const server = await shared?.catch(() => undefined);
  shared = undefined;
  await server?.dispose();
});
