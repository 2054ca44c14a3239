import { rabbitDriver } from '@ebbgate/driver-amqp';
import { driverSuite } from '@ebbgate/driver-testkit';
import { expect } from 'chai';
import { after, describe, it } from 'mocha';
import { FaultProxy } from '../support/rigs/fault-proxy.js';
import { sharedRabbit } from '../support/rigs/shared-rabbit.js';
import { rabbitFaults } from './rabbit-faults.js';
import { UnsteadyRun } from './unsteady-run.js';

/**
 * Most tests take less than 100 ms on a good link, and have two transports with two connections each: every one of the four
 * is struck about each fourth time.
 */
const FAULTS = { firstMs: 40, everyMs: 50, growth: 1.12, lastMs: 120 };

const rabbit = await sharedRabbit();
const direct = await rabbit.vhost();
const vhost = new URL(direct).pathname.slice(1);
const proxy = await FaultProxy.start({ port: rabbit.port });
/** Short waits, so that a cut link is back soon. */
const options =
  'kombu_reconnect_delay=0.01&connect_timeout=2&max_message_bytes=8388608&rabbit_interval_max=1';
const unsteady = new UnsteadyRun(proxy, FAULTS);

describe('the RabbitMQ driver, AMQP 0-9-1, on links that fail at random throughout', function () {
  this.timeout(70_000);

  after(() => proxy.close());

  driverSuite({
    describe,
    it: unsteady.it,
    url: `${proxy.url(direct)}?${options}`,
    drivers: [rabbitDriver],
    faults: rabbitFaults(proxy, rabbit, vhost),
    waitMs: 20_000,
    stress: Number(process.env['STRESS'] ?? 1),
    unsteady: true,
  });

  // A suite of its own, as the tests of a suite run before those of the suites in it.
  describe('in the end', () => {
    it('was a run of faults: most tests had one, and nothing was left out but by the manifest (AMQP-02, AMQP-09)', () => {
      const { total, hit, tests } = unsteady.sum();
      expect(tests).to.be.above(150);
      expect(hit).to.be.above(tests * 0.66);
      expect(total).to.be.above(tests * 1.5);
      for (const title of unsteady.leftOut)
        expect(title).to.match(/\[skipped: the driver states isolatedNames: false\]$/);
    });
  });
});
