import type { ServerSource, Transport } from '@ebbgate/core';
import { NotificationListener, Notifier } from '@ebbgate/notify';
import { expect } from 'chai';
import { after, afterEach, before, beforeEach, describe, it } from 'mocha';
import { eventually } from '../support/rigs/deadline.js';
import { RedisCluster } from '../support/rigs/redis-cluster.js';
import type { RedisProcess } from '../support/rigs/redis-process.js';
import { RedisView } from '../support/rigs/redis-view.js';
import { source } from './bed.js';
import { isWhole, RedisDriverBed } from './redis-bed.js';
import { Traffic } from './traffic.js';

const WAIT_MS = 30_000;
const CALL_MS = 4_000;
/** More than an ioredis left to itself asks again, by all that is under way. */
const MANY = 60;

describe('a cluster of Redis', function () {
  this.timeout(120_000);
  let cluster: RedisCluster;
  let bed: RedisDriverBed;

  before(async () => {
    cluster = await RedisCluster.start({ replicas: true });
  });

  after(() => cluster.dispose());

  beforeEach(() => {
    bed = new RedisDriverBed();
  });

  afterEach(async () => {
    await bed.end();
  });

  const url = (): string => `redis+cluster://${cluster.hosts.join(',')}/`;

  async function traffic(
    where: ServerSource,
  ): Promise<{ going: Traffic; all: readonly [Transport, Transport] }> {
    const ran = new Map<string, number>();
    const all = [await bed.connected(url()), await bed.connected(url())] as const;
    await bed.serve(all[0], where, Traffic.endpoint(ran), { duplicateWindow: 100_000 });
    const going = new Traffic(bed.client(all[1], where, { timeoutMs: CALL_MS }), ran);
    bed.onEnd(() => going.stop());
    await going.goesOn('calls', WAIT_MS);
    return { going, all };
  }

  /** A key of the topic, and the node that has it. */
  async function placeOf(where: ServerSource): Promise<{ key: string; node: RedisProcess }> {
    for (const node of cluster.masters.filter(({ running }) => running)) {
      const key = (await new RedisView(node).keys()).find((one) => one.includes(where.topic));
      if (key !== undefined) return { key, node: await cluster.masterOf(key) };
    }
    throw new Error('No node has a key of the topic');
  }

  it('has the keys of one destination in one slot, and those of many on all masters (AMQP-03)', async () => {
    const transport = await bed.connected(url());
    const slots = new Set<number>();
    for (let n = 0; n < 12; n += 1) {
      const where = source();
      await bed.serve(transport, where, { ping: () => 'pong' });
      expect(await bed.client(transport, where).call({}, 'ping')).to.equal('pong');
      const { node } = await placeOf(where);
      const own = (await new RedisView(node).keys()).filter((key) => key.includes(where.topic));
      const ofOne = new Set(await Promise.all(own.map((key) => cluster.slotOf(key))));
      expect(ofOne.size).to.equal(1);
      slots.add([...ofOne][0] ?? -1);
    }
    expect(slots.size).to.be.above(6);
  });

  it('has all notifications in one slot, so that a pool hears topics of several exchanges (CORE-06)', async () => {
    const transport = await bed.connected(url());
    const [one, two] = [source(), source()];
    const seen: unknown[] = [];
    const endpoint = {
      info: (_context: unknown, { payload }: { payload: unknown }) => void seen.push(payload),
    };
    const listener = new NotificationListener(transport, [one, two], [endpoint], { pool: one.server });
    await listener.start();
    for (const { exchange, topic } of [one, two])
      await new Notifier(transport, { exchange, topics: [topic] }).info({}, 'e', topic);
    await eventually('both', WAIT_MS, () => seen.length === 2);
    expect(seen).to.have.members([one.topic, two.topic]);
    await listener.stop();
    await listener.wait();
  });

  it('moves a slot under calls and casts (ASK, MOVED): all settle, nothing is lost or runs twice (REDIS-10, AMQP-02, AMQP-03, AMQP-35)', async () => {
    const where = source();
    const { going, all } = await traffic(where);
    const { key, node } = await placeOf(where);
    const to = cluster.masters.find((one) => one !== node && one.running) ?? node;
    await cluster.moveSlot(key, to, () =>
      eventually('commands that are sent on (ASK)', WAIT_MS, async () =>
        (await node.info('errorstats')).has('errorstat_ASK'),
      ),
    );
    await going.goesOn('calls in the new place', WAIT_MS);
    await cluster.moveSlot(key, node);
    await going.goesOn('calls in the old place again', WAIT_MS);
    expect((await to.info('errorstats')).has('errorstat_MOVED')).to.equal(true);
    await bed.whole(...all);
    await going.end(CALL_MS + WAIT_MS);
    await eventually('every confirmed cast to run', WAIT_MS, () => going.missing.length === 0);
    expect([going.wrong, going.twice]).to.deep.equal([[], []]);
  });

  it('moves a slot slowly: what is sent meanwhile waits until it has moved, and no outcome is unknown (TRYAGAIN; REDIS-10, AMQP-02)', async () => {
    const where = source();
    const ran = new Map<string, number>();
    const patient = { command_timeout: 20 };
    const all = [await bed.connected(url(), patient), await bed.connected(url(), patient)] as const;
    await bed.serve(all[0], where, Traffic.endpoint(ran), { duplicateWindow: 100_000 });
    const going = new Traffic(bed.client(all[1], where, { timeoutMs: WAIT_MS }), ran);
    bed.onEnd(() => going.stop());
    await going.goesOn('calls', WAIT_MS);
    const { key, node } = await placeOf(where);
    const to = cluster.masters.find((one) => one !== node && one.running) ?? node;
    const refusals = async (): Promise<number> => {
      const told = await Promise.all([node, to].map((one) => one.info('errorstats')));
      const counts = told.map((one) => /\d+/.exec(one.get('errorstat_TRYAGAIN') ?? '0')?.[0]);
      return counts.reduce((sum, count) => sum + Number(count), 0);
    };
    const before = await refusals();
    await cluster.moveSlot(key, to, () =>
      eventually('many refusals', WAIT_MS, async () => (await refusals()) - before > MANY),
    );
    await going.goesOn('calls in the new place', WAIT_MS);
    await going.end(WAIT_MS);
    await eventually('every cast to run', WAIT_MS, () => going.missing.length === 0);
    expect([going.failed, going.wrong, going.twice]).to.deep.equal([[], [], []]);
    expect(all.every(isWhole)).to.equal(true);
  });

  it('loses a replica, and nobody notices; who connects meanwhile finds the others (AMQP-15, AMQP-34)', async () => {
    const { going, all } = await traffic(source());
    let losses = 0;
    for (const transport of all)
      transport.events.on('connection', ({ state }) => void (losses += state === 'disconnected' ? 1 : 0));
    const [replica] = cluster.replicas;
    await replica?.kill();
    const late = await bed.connected(url());
    const where = source();
    await bed.serve(late, where, { ping: () => 'pong' });
    expect(await bed.client(late, where).call({}, 'ping')).to.equal('pong');
    await going.goesOn('calls', WAIT_MS);
    await replica?.start();
    await going.end(CALL_MS + WAIT_MS);
    expect([losses, going.failed, going.wrong, going.missing]).to.deep.equal([0, [], [], []]);
  });

  it('loses a master, whose replica takes over: all settle, and all goes on (REDIS-10, AMQP-15, AMQP-02, AMQP-35)', async () => {
    const where = source();
    const { going, all } = await traffic(where);
    const { key, node } = await placeOf(where);
    await node.kill();
    await eventually('the replica in its place', WAIT_MS, async () => (await cluster.masterOf(key)) !== node);
    await going.goesOn('calls on the new master', WAIT_MS);
    await bed.whole(...all);
    await node.start();
    await cluster.isOk();
    await going.end(CALL_MS + WAIT_MS);
    expect([going.wrong, going.twice]).to.deep.equal([[], []]);
    // Replication is asynchronous: what the old master confirmed in the last moment may not have reached the new one.
    await eventually(
      'the confirmed casts to run',
      WAIT_MS,
      () => going.missing.length <= going.confirmed.length / 50,
    );
  });
});
