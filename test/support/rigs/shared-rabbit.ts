import { join } from 'node:path';
import { after } from 'mocha';
import type { Suite } from 'mocha';
import { RabbitNode } from './rabbitmq.js';

/** Where the logs go of a run that failed: `build/broker-logs`. */
const KEPT_LOGS = join(import.meta.dirname, '../../../broker-logs');

let shared: Promise<RabbitNode> | undefined;

/** A client may log in by its certificate, as the user that its common name says. */
const BY_CERTIFICATE = [
  "{auth_mechanisms, ['PLAIN', 'AMQPLAIN', 'EXTERNAL']}",
  '{ssl_cert_login_from, common_name}',
];

/**
 * The node that all suites of this mocha run share, with a TLS listener, and AMQP 1.0 beside 0-9-1; started by the first who
 * asks. Each suite makes itself a virtual host. Who stops, kills or suspends it brings it back; whoever does more starts one
 * of its own.
 */
export function sharedRabbit(): Promise<RabbitNode> {
  shared ??= RabbitNode.start({
    tls: true,
    plugins: ['rabbitmq_amqp1_0', 'rabbitmq_auth_mechanism_ssl'],
    config: BY_CERTIFICATE,
  });
  return shared;
}

function hasFailures(suite: Suite): boolean {
  return suite.tests.some((test) => test.isFailed()) || suite.suites.some(hasFailures);
}

/** Ends the shared node, if one was started; with its logs kept when tests failed. */
async function endSharedRabbit(root: Suite | undefined): Promise<void> {
  const node = await shared?.catch(() => undefined);
  shared = undefined;
  if (!node) return;
  if (root && hasFailures(root))
    process.stderr.write(`The logs of RabbitMQ are in ${await node.keepLogs(KEPT_LOGS)}\n`);
  await node.dispose();
}

// A hook of the root suite, as this module is loaded outside all suites: it runs at the end of the whole run.
after('end the shared RabbitMQ', async function () {
  this.timeout(30_000);
  await endSharedRabbit(this.test?.parent?.root ? this.test.parent : undefined);
});
