import { join } from 'node:path';
import type { DriverFactory } from '@ebbgate/core';
import { type BrokerFaults, driverSuite } from '@ebbgate/driver-testkit';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { expect } from 'chai';
import { after, describe, it } from 'mocha';
import { FaultProxy } from '../support/rigs/fault-proxy.js';
import { NatsServer } from '../support/rigs/nats.js';
import { linkFaults } from './link-faults.js';
import { ManifestIt } from './manifest-it.js';

/** Short waits, so that what was lost with a connection is back soon. */
const OPTIONS = 'ack_wait=2.5';

const example = join(process.cwd(), 'build/examples/driver-nats/driver.js');
const { natsDriver } = (await import(example)) as { readonly natsDriver: DriverFactory }; // as it is written there

const server = await NatsServer.start();
const proxy = await FaultProxy.start({ port: server.port });
const operator = await connect({ servers: `127.0.0.1:${server.port}` });
const manager = await jetstreamManager(operator);

const faults: BrokerFaults = {
  ...linkFaults(proxy),
  cancelConsumers: async () => {
    for (const { config } of await manager.streams.list().next())
      for (const { name } of await manager.consumers.list(config.name).next())
        await manager.consumers.delete(config.name, name);
  },
};

const manifest = new ManifestIt();

describe('the NATS driver of the examples', function () {
  this.timeout(30_000);

  after(async () => {
    await operator.close();
    await proxy.close();
    await server.dispose();
  });

  it('leaves out only what NATS cannot do before 2.11, the end of a message at its deadline, and notifications', () => {
    expect(manifest.leftOut).to.not.be.empty;
    for (const title of manifest.leftOut)
      expect(title).to.match(/\[skipped: the driver states (?:expiry|notifications): false\]$/);
  });

  driverSuite({
    describe,
    it: manifest.it,
    url: `${proxy.url(server.url)}?${OPTIONS}`,
    drivers: [natsDriver],
    faults,
    waitMs: 12_000,
    stress: Number(process.env['STRESS'] ?? 1),
  });
});
