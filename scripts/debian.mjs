// node scripts/debian.mjs [NAME …]: installs these Debian packages when they are missing, without names all that tests need.
import { ensurePackages } from './lib/debian.mjs';

/** What the rigs of test/support/rigs ask for one by one, so that one apt-get brings it all. */
const OF_TESTS = [
  'rabbitmq-server',
  'redis-server',
  'openssl',
  'postgresql',
  'nats-server',
  'redis-sentinel',
  'python3-oslo.messaging',
  'python3-qpid-proton',
  'python3-nova',
  'python3-openstackclient',
  'chromium',
  'systemd',
];

const names = process.argv.slice(2);
await ensurePackages(names.length > 0 ? names : OF_TESTS).catch((error) => {
  console.error(error.message);
  process.exitCode = 1;
});
