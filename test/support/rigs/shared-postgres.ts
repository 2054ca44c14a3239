import { after } from 'mocha';
import { PostgresCluster } from './postgres.js';

let shared: Promise<PostgresCluster> | undefined;

/**
 * The cluster that all suites of this mocha run share, started by the first who asks. Each makes itself databases.
 * Whoever stops or kills it starts one of its own.
 */
export function sharedPostgres(): Promise<PostgresCluster> {
  shared ??= PostgresCluster.start();
  return shared;
}

// A hook of the root suite, as this module is loaded outside all suites: it runs at the end of the whole run.
after('end the shared PostgreSQL', async function () {
  this.timeout(30_000);
  const cluster = await shared?.catch(() => undefined);
  shared = undefined;
  await cluster?.dispose();
});
