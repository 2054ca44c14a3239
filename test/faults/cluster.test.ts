import { expect } from 'chai';
import { after, afterEach, before, beforeEach, describe, it } from 'mocha';
import { type RabbitCluster, rabbitCluster } from '../support/rigs/rabbit-cluster.js';
import { Bed, fresh } from './bed.js';
import { ClusterTraffic } from './cluster-traffic.js';

const NODES = 3;
/** What a test says of its times; docs/reliability.md has them. */
const told: string[] = [];

describe('a cluster of RabbitMQ', function () {
  this.timeout(300_000);
  let cluster: RabbitCluster;
  let vhost: string;
  const bed = new Bed();

  before(async () => {
    cluster = await rabbitCluster(NODES);
  });

  beforeEach(async () => {
    vhost = fresh('vhost');
    await cluster.vhost(vhost);
  });

  afterEach(() => bed.end());

  after(async () => {
    await cluster.dispose();
    process.stderr.write(told.map((line) => `${line}\n`).join(''));
  });

  /** Traffic whose queues have their leaders on the first node, with connections to this one. */
  async function traffic(connectedTo: number): Promise<ClusterTraffic> {
    const made = new ClusterTraffic(bed);
    await made.declare(cluster.url(vhost, 0));
    await made.begin(cluster.url(vhost, connectedTo));
    await cluster.allMembersOnline(vhost);
    made.send();
    await made.goesOn('calls on all nodes');
    return made;
  }

  it('loses a node and is rolled while calls and casts go on: all settle, what was confirmed runs, nothing runs twice (AMQP-02, AMQP-03, AMQP-15, AMQP-35)', async () => {
    const sent = await traffic(0);
    for (const [index, node] of cluster.nodes.entries()) {
      await node.awaitOnlineQuorumPlusOne();
      await (index === 0 ? node.kill() : node.stop());
      const ms = await sent.goesOn('calls without that node');
      told.push(
        `${index === 0 ? 'kill -9 of leader and our node' : 'a node stopped'}: again after ${String(ms)} ms`,
      );
      await node.start();
      await cluster.allMembersOnline(vhost);
      await sent.goesOn('calls on all nodes again');
    }
    await sent.end();
    told.push(`rolled: ${sent.sum}`);
  });

  it('loses the node with the leaders, which is not the one that we are connected to, then that one (AMQP-02, AMQP-03, AMQP-15)', async () => {
    const sent = await traffic(1);
    for (const [index, what] of [
      [0, 'kill -9 of the leader'],
      [1, 'kill -9 of our node'],
    ] as const) {
      const node = cluster.nodes[index];
      await node?.kill();
      told.push(`${what}: again after ${String(await sent.goesOn(what))} ms`);
      await node?.start();
      await cluster.allMembersOnline(vhost);
    }
    await sent.end();
    told.push(`leader, then our node: ${sent.sum}`);
  });

  it('is parted: a minority with the leaders, and with our connections, is left for the others (AMQP-02, AMQP-03, AMQP-15)', async () => {
    const sent = await traffic(0);
    await cluster.part(0);
    told.push(
      `our node and leader parted: again after ${String(await sent.goesOn('calls on the others'))} ms`,
    );
    await cluster.heal();
    await cluster.allMembersOnline(vhost);
    await sent.goesOn('calls after the healing');
    await sent.end();
    expect(await cluster.runningNodes()).to.have.length(NODES);
    told.push(`parted: ${sent.sum}`);
  });
});
