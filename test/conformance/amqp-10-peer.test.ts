import { amqp10Driver } from '@ebbgate/driver-amqp';
import { driverSuite } from '@ebbgate/driver-testkit';
import { expect } from 'chai';
import { after, describe, it } from 'mocha';
import { Amqp10Peer } from '../support/rigs/amqp10-peer.js';
import { FaultProxy } from '../support/rigs/fault-proxy.js';
import { linkFaults } from './link-faults.js';
import { ManifestIt } from './manifest-it.js';

/** Short waits, so that a cut link is back soon. */
const OPTIONS =
  'address_form=plain&kombu_reconnect_delay=0.05&kombu_reconnect_splay=0.05&connect_timeout=2&max_message_bytes=8388608&rabbit_interval_max=1';

const peer = await Amqp10Peer.start({ plays: 'plain' });
const proxy = await FaultProxy.start({ port: peer.port });

const manifest = new ManifestIt();

describe('the AMQP 1.0 driver, on a broker with plain names', function () {
  this.timeout(30_000);

  it('leaves out only what AMQP 1.0 does not ask of every broker', () => {
    expect(manifest.leftOut).not.to.be.empty;
    for (const title of manifest.leftOut)
      expect(title).to.match(/\[skipped: the driver states (?:undeliverable|expiry|notifications): false\]$/);
  });

  after(async () => {
    await proxy.close();
    await peer.close();
  });

  driverSuite({
    describe,
    it: manifest.it,
    url: proxy.url(peer.url(OPTIONS)),
    drivers: [amqp10Driver],
    faults: {
      ...linkFaults(proxy),
      cancelConsumers: () => void peer.detachForced(''),
    },
    waitMs: 20_000,
    stress: Number(process.env['STRESS'] ?? 1),
  });
});
