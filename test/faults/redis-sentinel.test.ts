import type { Transport } from '@ebbgate/core';
import type { RedisOptions } from '@ebbgate/driver-redis';
import { expect } from 'chai';
import { after, afterEach, before, beforeEach, describe, it } from 'mocha';
import { eventually } from '../support/rigs/deadline.js';
import { RedisSentinel } from '../support/rigs/redis-sentinel.js';
import { failure, send, source, toTopic } from './bed.js';
import { isWhole, RedisDriverBed } from './redis-bed.js';
import { Traffic } from './traffic.js';

const WAIT_MS = 30_000;
const CALL_MS = 4_000;

describe('Redis with Sentinel', function () {
  this.timeout(120_000);
  let set: RedisSentinel;
  let bed: RedisDriverBed;

  before(async () => {
    set = await RedisSentinel.start({ sentinels: 3 });
  });

  after(() => set.dispose());

  beforeEach(() => {
    bed = new RedisDriverBed();
  });

  afterEach(() => bed.end());

  const url = (): string => `redis+sentinel://${set.hosts.join(',')}/${set.name}`;

  async function traffic(
    options: RedisOptions = {},
  ): Promise<{ going: Traffic; all: readonly [Transport, Transport] }> {
    const where = source();
    const ran = new Map<string, number>();
    const all = [await bed.connected(url(), options), await bed.connected(url(), options)] as const;
    await bed.serve(all[0], where, Traffic.endpoint(ran), { duplicateWindow: 100_000 });
    const going = new Traffic(bed.client(all[1], where, { timeoutMs: CALL_MS }), ran);
    bed.onEnd(() => going.stop());
    await going.goesOn('calls', WAIT_MS);
    return { going, all };
  }

  it('follows the master through an orderly fail-over under calls and casts: all settle, none runs twice, what was confirmed runs (REDIS-10, AMQP-15, AMQP-02, AMQP-03, AMQP-35)', async () => {
    const { going, all } = await traffic();
    for (let times = 0; times < 2; times += 1) {
      const confirmed = going.confirmed.length;
      await set.failOver();
      await bed.whole(...all);
      await going.goesOn('calls on the new master', WAIT_MS);
      expect(going.confirmed.length).to.be.above(confirmed);
    }
    await going.end(CALL_MS + WAIT_MS);
    expect(going.wrong.map(String)).to.deep.equal([]);
    expect(going.twice).to.deep.equal([]);
    // Replication is asynchronous: what the old master confirmed in the last moment may not have reached the new one.
    await eventually(
      'the confirmed casts to run',
      WAIT_MS,
      () => going.missing.length <= going.confirmed.length / 50,
    );
  });

  it('comes through the death and the hang of a master (REDIS-10, REDIS-08, AMQP-14, AMQP-02)', async () => {
    const { going, all } = await traffic();
    for (const how of ['kill', 'pause'] as const) {
      const replica = await set.find('replica');
      const lost = await set[how]('master');
      await set.becomesMaster(replica);
      await going.goesOn(`calls on the new master after ${how}`, WAIT_MS);
      await bed.whole(...all);
      if (how === 'kill') await lost.start();
      else lost.resume();
      await set.whole();
      await going.goesOn('calls with the old one as the replica', WAIT_MS);
      expect(all.every(isWhole)).to.equal(true);
    }
    await going.end(CALL_MS + WAIT_MS);
    expect(going.wrong.map(String)).to.deep.equal([]);
    expect(going.twice).to.deep.equal([]);
    await eventually(
      'the confirmed casts to run',
      WAIT_MS,
      () => going.missing.length <= going.confirmed.length / 50,
    );
  });

  it('loses no confirmed cast by the death of a master when sends wait for a replica (wait_replicas; REDIS-10, AMQP-03)', async () => {
    const { going, all } = await traffic({ wait_replicas: 1 });
    for (let times = 0; times < 2; times += 1) {
      const replica = await set.find('replica');
      const lost = await set.kill('master');
      await set.becomesMaster(replica);
      await lost.start();
      await set.whole();
      await bed.whole(...all);
      await going.goesOn('calls on the new master', WAIT_MS);
    }
    await going.end(CALL_MS + WAIT_MS);
    expect(going.wrong.map(String)).to.deep.equal([]);
    await eventually('every confirmed cast to run', WAIT_MS, () => going.missing.length === 0);
  });

  it('confirms no send that only the master has when sends wait for a replica: its outcome is unknown, as it is stored (wait_replicas; AMQP-02, AMQP-03)', async () => {
    const where = source();
    const transport = await bed.connected(url(), { wait_replicas: 1 });
    const heard = await bed.listen(transport, where);
    await send(transport, toTopic(where), 'at both');
    const replica = await set.pause('replica');
    const error = await failure(send(transport, toTopic(where), 'at one')).finally(() => replica.resume());
    expect([error.code, error.outcome]).to.deep.equal(['ERR_DELIVERY', 'unknown']);
    expect(error.message).to.contain('wait_replicas');
    await set.whole();
    await send(transport, toTopic(where), 'at both again');
    await eventually('all of them', WAIT_MS, () => heard.texts.length === 3);
    expect(heard.texts).to.deep.equal(['at both', 'at one', 'at both again']);
  });

  it('connects when the first of the Sentinels hangs: another is asked in time (AMQP-15, AMQP-16, REDIS-08)', async () => {
    const hung = await set.pause('sentinel');
    try {
      const transport = await bed.connected(url(), {
        host_order: 'given',
        connect_timeout: 2,
        command_timeout: 20,
      });
      const where = source();
      await bed.serve(transport, where, { ping: () => 'pong' });
      expect(await bed.client(transport, where).call({}, 'ping')).to.equal('pong');
    } finally {
      hung.resume();
    }
  });

  it('connects with whatever Sentinels are left, and goes on when one dies (AMQP-15, AMQP-16)', async () => {
    const dead = await set.kill('sentinel');
    try {
      const { going } = await traffic();
      await going.end(CALL_MS + WAIT_MS);
      expect([going.failed, going.wrong, going.missing]).to.deep.equal([[], [], []]);
    } finally {
      await dead.start();
    }
  });
});
