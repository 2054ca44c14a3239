import { amqp10Driver } from '@ebbgate/driver-amqp';
import { driverSuite } from '@ebbgate/driver-testkit';
import { expect } from 'chai';
import { after, describe, it } from 'mocha';
import { Amqp10Peer } from '../support/rigs/amqp10-peer.js';
import { FaultProxy } from '../support/rigs/fault-proxy.js';
import { UnsteadyRun } from './unsteady-run.js';
import { linkFaults } from './link-faults.js';

/**
 * Most tests take less than 50 ms on a good link, and have two transports with two connections each: every one of the four is
 * struck about each fourth time.
 */
const FAULTS = { firstMs: 20, everyMs: 40, growth: 1.12, lastMs: 120 };

/** Short waits, so that a cut link is back soon. */
const OPTIONS =
  'address_form=plain&kombu_reconnect_delay=0.01&connect_timeout=2&max_message_bytes=8388608&rabbit_interval_max=1';

const peer = await Amqp10Peer.start({ plays: 'plain', keepsFanouts: true });
const proxy = await FaultProxy.start({ port: peer.port });
const unsteady = new UnsteadyRun(proxy, FAULTS);

describe('the AMQP 1.0 driver, on links that fail at random throughout', function () {
  this.timeout(70_000);

  after(async () => {
    await proxy.close();
    await peer.close();
  });

  driverSuite({
    describe,
    it: unsteady.it,
    url: proxy.url(peer.url(OPTIONS)),
    drivers: [amqp10Driver],
    faults: {
      ...linkFaults(proxy),
      cancelConsumers: () => void peer.detachForced(''),
    },
    waitMs: 20_000,
    stress: Number(process.env['STRESS'] ?? 1),
    unsteady: true,
  });

  // A suite of its own, as the tests of a suite run before those of the suites in it.
  describe('in the end', () => {
    it('was a run of faults: most tests had one, and nothing was left out but by the manifest (AMQP-02, AMQP-42)', () => {
      const { total, hit, tests } = unsteady.sum();
      expect(tests).to.be.above(150);
      expect(hit).to.be.above(tests * 0.5);
      expect(total).to.be.above(tests * 1.5);
      for (const title of unsteady.leftOut)
        expect(title).to.match(
          /\[skipped: the driver states (?:undeliverable|expiry|notifications): false\]$/,
        );
    });
  });
});
