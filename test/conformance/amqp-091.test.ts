import { rabbitDriver } from '@ebbgate/driver-amqp';
import { driverSuite } from '@ebbgate/driver-testkit';
import { expect } from 'chai';
import { after, describe, it } from 'mocha';
import { FaultProxy } from '../support/rigs/fault-proxy.js';
import { sharedRabbit } from '../support/rigs/shared-rabbit.js';
import { rabbitFaults } from './rabbit-faults.js';
import { ManifestIt } from './manifest-it.js';

/** Short waits, so that a cut link is back soon. */
const OPTIONS =
  'kombu_reconnect_delay=0.05&kombu_reconnect_splay=0.05&connect_timeout=2&max_message_bytes=8388608&rabbit_interval_max=1';
const VARIANTS = {
  '': { more: '', without: undefined },
  ', with quorum queues and confirmed acceptance': {
    more: '&rabbit_quorum_queue=true&rabbit_transient_quorum_queue=true&acceptance=confirmed',
    without: 'hostile names', // a queue is named as any other
  },
};

const rabbit = await sharedRabbit();

for (const [variant, { more, without }] of Object.entries(VARIANTS)) {
  const direct = await rabbit.vhost();
  const vhost = new URL(direct).pathname.slice(1);
  const proxy = await FaultProxy.start({ port: rabbit.port });

  const manifest = new ManifestIt();

  describe(`the RabbitMQ driver, AMQP 0-9-1${variant}`, function () {
    this.timeout(30_000);

    it('leaves out only what oslo names cannot keep apart: a queue is <topic>.<server> on every exchange', () => {
      expect(manifest.leftOut).to.have.length(without === undefined ? 13 : 3);
      for (const title of manifest.leftOut)
        expect(title).to.match(/\[skipped: the driver states isolatedNames: false\]$/);
    });

    after(() => proxy.close());

    driverSuite({
      describe: (name, body) => (name === without ? undefined : describe(name, body)),
      it: manifest.it,
      url: `${proxy.url(direct)}?${OPTIONS}${more}`,
      drivers: [rabbitDriver],
      faults: rabbitFaults(proxy, rabbit, vhost),
      waitMs: 20_000,
      stress: Number(process.env['STRESS'] ?? 1),
    });
  });
}
