import { rabbitDriver } from '@ebbgate/driver-amqp';
import { driverSuite } from '@ebbgate/driver-testkit';
import { expect } from 'chai';
import { after, describe, it } from 'mocha';
import { eventually } from '../support/rigs/deadline.js';
import { FaultProxy } from '../support/rigs/fault-proxy.js';
import { faultSeed, RandomFaults, seedFor } from '../support/rigs/random-faults.js';
import { sharedRabbit } from '../support/rigs/shared-rabbit.js';
import { rabbitFaults } from './rabbit-faults.js';

/**
 * Most tests take less than 100 ms on a good link, and have two transports with two connections each: every one of the four
 * is struck about each fourth time.
 */
const FAULTS = { firstMs: 40, everyMs: 50, growth: 1.12, lastMs: 120 };
const CLOSED_MS = 5_000;

const rabbit = await sharedRabbit();
const direct = await rabbit.vhost();
const vhost = new URL(direct).pathname.slice(1);
const proxy = await FaultProxy.start({ port: rabbit.port });
/** Short waits, so that a cut link is back soon. */
const options =
  'kombu_reconnect_delay=0.01&connect_timeout=2&max_message_bytes=8388608&rabbit_interval_max=1';
const seed = faultSeed();

/** Of the tests that have run: the faults that struck a connection. */
const struck: number[] = [];
/** What the manifest leaves out; `amqp-091.test.ts` tells what and why. */
const leftOut: string[] = [];

/** Runs one test under faults of its own, and looks for what it has left behind. */
async function underFaults(title: string, run: () => Promise<void>): Promise<void> {
  const faults = new RandomFaults(proxy, { ...FAULTS, seed: seedFor(seed, title) });
  try {
    await run();
  } catch (cause) {
    const text = cause instanceof Error ? cause.message : String(cause);
    const told = `EBBGATE_FAULT_SEED=${String(seed)}, faults: ${faults.done.join('; ')}`;
    throw new Error(`${text}\n(${told})`, { cause });
  } finally {
    struck.push(faults.struck);
    await faults.stop();
  }
  await eventually('the end of every connection', CLOSED_MS, () => proxy.links.length === 0);
}

const unsteadyIt = Object.assign(
  (title: string, run: () => Promise<void>) => it(title, () => underFaults(title, run)),
  { skip: (title: string) => leftOut.push(title) },
);

describe('the RabbitMQ driver, AMQP 0-9-1, on links that fail at random throughout', function () {
  this.timeout(70_000);

  after(() => proxy.close());

  driverSuite({
    describe,
    it: unsteadyIt,
    url: `${proxy.url(direct)}?${options}`,
    drivers: [rabbitDriver],
    faults: rabbitFaults(proxy, rabbit, vhost),
    waitMs: 10_000,
    stress: Number(process.env['STRESS'] ?? 1),
    unsteady: true,
  });

  // A suite of its own, as the tests of a suite run before those of the suites in it.
  describe('in the end', () => {
    it('was a run of faults: most tests had one, and nothing was left out but by the manifest (AMQP-02, AMQP-09)', () => {
      const total = struck.reduce((sum, count) => sum + count, 0);
      const hit = struck.filter((count) => count > 0).length;
      process.stderr.write(
        `${String(total)} faults struck ${String(hit)} of ${String(struck.length)} tests, EBBGATE_FAULT_SEED=${String(seed)}\n`,
      );
      expect(struck).to.have.length.above(150);
      expect(hit).to.be.above(struck.length * 0.66);
      expect(total).to.be.above(struck.length * 1.5);
      for (const title of leftOut)
        expect(title).to.match(/\[skipped: the driver states isolatedNames: false\]$/);
    });
  });
});
