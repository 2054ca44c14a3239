import { silentLogger } from '@ebbgate/core';
import { rabbitDriver } from '@ebbgate/driver-amqp';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { Cloud } from '#compute/main-job/cloud.js';
import { eventually } from '../support/rigs/deadline.js';
import { sharedRabbit } from '../support/rigs/shared-rabbit.js';
import { RollingHosts } from '../support/rolling-hosts.js';

const HOSTS = Array.from({ length: 60 }, (_, index) => `compute-${String(index + 1).padStart(2, '0')}`);
const rabbit = await sharedRabbit();

describe('many compute hosts in one process, on RabbitMQ', function () {
  this.timeout(90_000);

  it('sixty hosts share the two connections of one transport, and lose nothing when all are restarted, ten at a time, under load (GS-1, GS-3, GS-6, AMQP-32)', async () => {
    const url = await rabbit.vhost();
    const vhost = new URL(url).pathname.slice(1);
    const cloud = new Cloud({
      transport: url,
      drivers: [rabbitDriver],
      hosts: HOSTS,
      sharedTransport: true,
      bootMs: 0,
      migrationMs: 20,
      opsServer: true,
      tasksMs: 30_000,
      closingMs: 5_000,
      maxConcurrentLiveMigrations: 4,
      logger: silentLogger,
    });
    const run = new RollingHosts(cloud, { guests: 20, users: 4, seed: 1 });
    const connections = async (): Promise<number> => (await rabbit.view.connections(vhost)).length;
    await cloud.start();
    try {
      expect(await connections()).to.equal(2); // one publishes, the other consumes
      await run.boot();
      await run.roll(10);
      expect(await run.problems()).to.deep.equal([]);
      expect([...cloud.hosts.values()].map(({ runs }) => runs)).to.deep.equal(HOSTS.map(() => 2));
      expect(run.counts.completed).to.be.above(0);
      expect(await connections()).to.equal(2);
    } finally {
      await cloud.stop();
    }
    await eventually('the end of the connections', 10_000, async () => (await connections()) === 0);
  });
});
