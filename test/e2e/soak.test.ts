import { join } from 'node:path';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { faultSeed, seedFor } from '../support/rigs/random-faults.js';
import { PATIENCE } from '../support/patience.js';
import { runCommand } from '../support/run-command.js';

const ROOT = join(import.meta.dirname, '../../..');
const MAIN = join(ROOT, 'build/test/soak/main.js');
/** Of load, for each driver. */
const MINUTES = Number(process.env['EBBGATE_SOAK_MINUTES'] ?? 0.3);
/** To start, to let the last fault pass, to settle and to end. */
const AROUND_MS = 150_000;
const LIMIT_MS = MINUTES * 60_000 + AROUND_MS;
const LEAST_KINDS = 3;

const seed = faultSeed();

function soak(driver: string): ReturnType<typeof runCommand> {
  const options = ['--driver', driver, '--minutes', String(MINUTES), '--seed', String(seedFor(seed, driver))];
  return runCommand(process.execPath, ['--expose-gc', MAIN, ...options], ROOT, LIMIT_MS * PATIENCE);
}

describe('a system under constant load, while brokers, links and processes fail', function () {
  this.timeout(LIMIT_MS + 10_000);

  for (const driver of ['memory', 'rabbit', 'redis'])
    it(`loses nothing without a report, does nothing twice, leaves nothing unsettled and does not grow, on ${driver} (GS-5, AMQP-02, AMQP-03, RPC-01, RPC-19, CORE-10, CORE-11)`, async () => {
      const { code, stdout, stderr } = await soak(driver);
      const told = `${stdout}\n${stderr}`;
      expect(stdout.trim().split('\n').at(-1), told).to.equal('0 problems');
      expect(code, told).to.equal(0);
      expect(stdout.match(/^fault: /gm)?.length, told).to.be.at.least(LEAST_KINDS);
    });
});
