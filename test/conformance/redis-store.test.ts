import { readFileSync } from 'node:fs';
import { BackpressureError, MessageDeliveryError, type ServerSource } from '@ebbgate/core';
import { RpcClient, RpcServer } from '@ebbgate/rpc';
import { expect } from 'chai';
import { after, afterEach, beforeEach, describe, it } from 'mocha';
import { eventually } from '../support/rigs/deadline.js';
import { FaultProxy } from '../support/rigs/fault-proxy.js';
import { NOT_SAVED, RedisProcess } from '../support/rigs/redis-process.js';
import { commandCounts, queueState, Side } from './redis-bed.js';

const redis = await RedisProcess.start({ config: NOT_SAVED });
const FAST = 'retry_interval=0.02&retry_interval_max=0.2&connect_timeout=1';
let topics = 0;

describe('what the Redis driver does at its store', function () {
  this.timeout(30_000);

  let source: ServerSource;
  let list: string;
  let sides: Side[];
  let proxy: FaultProxy | undefined;

  const side = (query = FAST, through?: FaultProxy): Side => {
    const url = redis.url(query);
    const one = new Side(through ? through.url(url) : url);
    sides.push(one);
    return one;
  };
  const toTopic = () => ({ kind: 'topic' as const, exchange: source.exchange, topic: source.topic });
  const toServer = () => ({ kind: 'server' as const, ...source });

  beforeEach(() => {
    topics += 1;
    source = { exchange: 'x', topic: `topic-${String(topics)}`, server: 'one' };
    list = `ebbgate:{x/topic-${String(topics)}}:topic`;
    sides = [];
  });

  afterEach(async () => {
    await Promise.all(sides.map(({ transport }) => transport.close()));
    await proxy?.close();
    proxy = undefined;
  });

  after(() => redis.dispose());

  it('a server that has ended owns nothing, whatever its last read brought (REDIS-01)', async () => {
    const [sender, receiver] = [side(), side()];
    const ran: unknown[] = [];
    const endpoint = { note: (_: unknown, { n }: { n: number }) => ran.push(n) };
    const server = new RpcServer(receiver.transport, source, [endpoint], { slots: 4 });
    await server.start();
    const client = new RpcClient(sender.transport, { exchange: source.exchange, topic: source.topic });
    const casts = Array.from({ length: 300 }, (_, n) => client.cast({}, 'note', { n }));
    await Promise.race(casts);
    await server.stop();
    await Promise.all(casts);
    await server.wait();
    const { length, pending, consumers } = await queueState(redis, list);
    expect([pending, consumers]).to.deep.equal([0, 0]);
    expect(ran.length + length).to.equal(300);
    const next = side();
    await next.listen(source, 300);
    await next.hasArrived(300 - ran.length);
  });

  it('what a silent process has fetched is given to another when its lease is over, and is its own no more (REDIS-02, REDIS-03, AMQP-11)', async () => {
    proxy = await FaultProxy.start({ port: redis.port });
    const frozen = side(`${FAST}&lease=1&command_timeout=60`, proxy);
    const [sender, heir] = [side(), side(`${FAST}&lease=1`)];
    await frozen.listen(source, 2);
    await sender.send(toTopic(), 'one');
    await sender.send(toTopic(), 'two');
    await frozen.hasArrived(2);
    await heir.listen({ ...source, server: 'heir' });
    proxy.blackHole('both');
    await heir.hasArrived(2);
    expect(heir.texts).to.deep.equal(['one', 'two']);
    expect(heir.arrived.map(({ redelivered }) => redelivered)).to.deep.equal([true, true]);
    expect(await Promise.all(heir.arrived.map(async (delivery) => delivery.accept()))).to.deep.equal([
      true,
      true,
    ]);
    const late = frozen.arrived[0]?.accept();
    await proxy.heal();
    expect(await late).to.equal(false);
    await eventually('the dead consumer is removed', 10_000, async () => {
      const names = JSON.stringify(await redis.ask('zrange', list.replace(/topic$/, 'leases'), 0, -1));
      return !/one\/[0-9a-f]+\/1"/.test(names);
    });
  });

  it('a lease is renewed as long as something is held, however long (REDIS-02)', async () => {
    const [sender, holder, sibling] = [side(), side(`${FAST}&lease=0.3`), side(`${FAST}&lease=0.3`)];
    await holder.listen(source, 1);
    await sender.send(toTopic(), 'held');
    await holder.hasArrived(1);
    await sibling.listen({ ...source, server: 'sibling' });
    const before = (await commandCounts(redis)).get('evalsha') ?? 0;
    await eventually('ten renewals', 10_000, async () => {
      return ((await commandCounts(redis)).get('evalsha') ?? 0) > before + 20;
    });
    expect(sibling.arrived).to.have.length(0);
    expect(await holder.arrived[0]?.accept()).to.equal(true);
  });

  it('what was served is removed (REDIS-04)', async () => {
    const [sender, receiver] = [side(), side()];
    await receiver.listen(source);
    await sender.send(toTopic(), 'served');
    await sender.send(toServer(), 'served');
    await receiver.hasArrived(2);
    for (const delivery of receiver.arrived) expect(await delivery.accept()).to.equal(true);
    for (const key of [list, list.replace(/topic$/, 'server:one')])
      expect(await queueState(redis, key)).to.include({ length: 0, pending: 0 });
  });

  it('a queue that is full refuses its senders, and drops nothing (REDIS-04, AMQP-31)', async () => {
    const [sender, receiver] = [side(`${FAST}&max_length=3`), side()];
    await (await receiver.listen(source)).close();
    const outcomes = await Promise.allSettled(
      ['1', '2', '3', '4', '5'].map((text) => sender.send(toTopic(), text)),
    );
    const refused = outcomes.flatMap((each) => (each.status === 'rejected' ? [each.reason as unknown] : []));
    expect(refused).to.have.length(2);
    for (const error of refused)
      expect(error).to.be.instanceOf(BackpressureError).and.include({ outcome: 'not-sent' });
    await receiver.listen(source);
    await receiver.hasArrived(3);
    expect(receiver.texts).to.deep.equal(['1', '2', '3']);
  });

  it('a queue that is too large refuses its senders (REDIS-04)', async () => {
    const [sender, receiver] = [side(`${FAST}&max_bytes=100000`), side()];
    await (await receiver.listen(source)).close();
    const text = 'x'.repeat(20_000);
    let sent = 0;
    const sendOn = async (): Promise<void> => {
      for (; sent < 50; sent += 1) await sender.send(toTopic(), text);
    };
    const error = await sendOn().catch((reason: unknown) => reason);
    expect(error).to.be.instanceOf(BackpressureError);
    expect(sent).to.be.within(5, 15);
  });

  it('leases and queues that vanish are made again, told once, without a hot loop (REDIS-05, AMQP-22)', async () => {
    const [sender, receiver] = [side(), side(`${FAST}&lease=1`)];
    await receiver.listen(source);
    const before = (await commandCounts(redis)).get('blpop') ?? 0;
    for (let times = 0; times < 3; times += 1) {
      await redis.ask('del', ...((await redis.ask('keys', 'ebbgate:*')) as string[])); // texts
      await eventually('the loss is noticed', 10_000, () => receiver.losses > times);
      await eventually('all is there again', 10_000, () => receiver.subscribed);
    }
    await sender.send(toTopic(), 'after');
    await receiver.hasArrived(1);
    expect(receiver.losses).to.equal(3);
    expect(((await commandCounts(redis)).get('blpop') ?? 0) - before).to.be.below(20);
  });

  it('a reply queue that vanishes is made again under its name (REDIS-05, AMQP-35)', async () => {
    const [sender, receiver] = [side(), side(`${FAST}&heartbeat=0.1`)];
    const seen: string[] = [];
    const queue = await receiver.transport.openReplyQueue((message) => {
      seen.push(Buffer.from(message.body.encode()).toString());
    });
    const to = { kind: 'reply' as const, address: queue.address };
    await sender.send(to, 'before');
    await eventually('the first has arrived', 10_000, () => seen.length === 1);
    const [key, state] = [`ebbgate:{${queue.address}}:declared`, `ebbgate:{${queue.address}}:state`];
    await redis.ask('del', key, state);
    await eventually('it is there again', 10_000, async () => (await redis.ask('exists', key)) === 1);
    await sender.send(to, 'after');
    await eventually('the second has arrived', 10_000, () => seen.length === 2);
    expect(seen).to.deep.equal(['before', 'after']);
    expect(Number(await redis.ask('pttl', key))).to.be.within(1, 300_000);
  });

  it('what was there before the first server is delivered, also what others have written (REDIS-06)', async () => {
    await redis.ask('rpush', list, '\nearly');
    const receiver = side();
    await receiver.listen(source);
    await receiver.hasArrived(1);
    expect(receiver.texts).to.deep.equal(['early']);
  });

  it('an idle server blocks, and asks next to nothing (REDIS-06)', async () => {
    await redis.ask('config', 'resetstat');
    const receiver = side(`${FAST}&heartbeat=0.2`);
    await receiver.listen(source);
    const sum = (counts: ReadonlyMap<string, number>): number =>
      [...counts].reduce((all, [name, calls]) => (/^(?:blpop|eval|ping)/.test(name) ? all + calls : all), 0);
    const before = await commandCounts(redis);
    const sinceMs = performance.now();
    const reads = await eventually('five reads have ended', 10_000, async () => {
      const now = await commandCounts(redis);
      const reads = (now.get('blpop') ?? 0) - (before.get('blpop') ?? 0);
      return reads >= 5 ? { reads, all: sum(now) - sum(before) } : undefined;
    });
    expect(reads.all).to.be.below(3 * reads.reads);
    expect((performance.now() - sinceMs) / reads.reads).to.be.above(150); // each has waited for its time
  });

  it('a stop ends a read that would block for long, leaves none behind, and what was fetched can be begun (REDIS-07, AMQP-38, AMQP-39)', async () => {
    const [sender, receiver] = [side(), side(`${FAST}&heartbeat=15`)];
    const listener = await receiver.listen(source);
    await sender.send(toTopic(), 'fetched');
    await receiver.hasArrived(1);
    const blocked = async (): Promise<number> =>
      Number(/blocked_clients:(\d+)/.exec(String(await redis.ask('info', 'clients')))?.[1]);
    await eventually('it blocks', 10_000, async () => (await blocked()) === 1);
    await listener.stop();
    expect(await blocked()).to.equal(0);
    expect(await receiver.arrived[0]?.accept()).to.equal(true);
    expect(receiver.transport.status().connection).to.equal('connected');
  });

  it('a store that does not answer is given up: sends end as unknown, and all is well when it is back (REDIS-08, AMQP-14)', async () => {
    const sender = side(`${FAST}&command_timeout=0.3`);
    const receiver = side(`${FAST}&command_timeout=0.3&heartbeat=0.3`);
    await receiver.listen(source);
    await sender.transport.connect();
    redis.pause();
    const error = await sender.send(toTopic(), 'perhaps').catch((reason: unknown) => reason);
    expect(error).to.be.instanceOf(MessageDeliveryError).and.include({ outcome: 'unknown' });
    await eventually('the reader has noticed, too', 10_000, () => !receiver.subscribed);
    redis.resume();
    await sender.send(toTopic(), 'after');
    await eventually('it has arrived', 10_000, () => receiver.texts.includes('after'));
  });

  it('a store that becomes a replica counts as lost until one takes writes: what is sent meanwhile waits (REDIS-10)', async () => {
    const [sender, receiver] = [side(), side()];
    await receiver.listen(source);
    await sender.transport.connect();
    await redis.ask('replicaof', '127.0.0.1', '1');
    const sent = sender.send(toTopic(), 'patient');
    await eventually(
      'its connection is lost',
      10_000,
      () => sender.transport.status().connection !== 'connected',
    );
    await redis.ask('replicaof', 'no', 'one');
    await sent;
    await receiver.hasArrived(1);
    expect(receiver.texts).to.deep.equal(['patient']);
  });

  it('nothing goes by publish and subscribe (REDIS-12)', async () => {
    await redis.ask('config', 'resetstat');
    const [sender, receiver] = [side(), side()];
    await receiver.listen(source);
    await sender.send({ kind: 'fanout', exchange: source.exchange, topic: source.topic }, 'all');
    await receiver.hasArrived(1);
    const counts = await commandCounts(redis);
    for (const name of ['publish', 'spublish', 'subscribe', 'psubscribe', 'ssubscribe'])
      expect(counts.has(name), name).to.equal(false);
  });

  it('a request that nobody has fetched in time leaves the store, where no server lives, too (REDIS-13)', async () => {
    const sender = side(`${FAST}&heartbeat=0.1`);
    const receiver = side();
    await (await receiver.listen(source)).close();
    await sender.send(toTopic(), 'short', 50);
    await sender.send(toTopic(), 'for ever');
    expect(await queueState(redis, list)).to.include({ length: 2 });
    await eventually(
      'the expired one is gone',
      10_000,
      async () => (await queueState(redis, list)).length === 1,
    );
    await receiver.listen(source);
    await receiver.hasArrived(1);
    expect(receiver.texts).to.deep.equal(['for ever']);
  });

  it('what is made for one listener or one caller has a life of its own, and ends with it in order (REDIS-13, AMQP-24, AMQP-37)', async () => {
    const receiver = side();
    const before = (await redis.ask('keys', 'ebbgate:*')) as string[]; // texts, as Redis documents it
    const listener = await receiver.listen(source);
    const queue = await receiver.transport.openReplyQueue(() => {});
    const made = ((await redis.ask('keys', 'ebbgate:*')) as string[]).filter((key) => !before.includes(key));
    const own = made.filter((key) => /:fanout:|reply_/.test(key));
    expect(own.map((key) => key.replace(/^.*\}:/, '').replace(/:[0-9a-f]+/, '')).sort()).to.include.members([
      'declared',
      'state',
    ]);
    for (const key of own) expect(Number(await redis.ask('pttl', key))).to.be.within(1, 300_000);
    await listener.close();
    await queue.close();
    for (const key of own) expect(await redis.ask('exists', key)).to.equal(0);
    const left = ((await redis.ask('keys', 'ebbgate:*')) as string[]).filter((key) => !before.includes(key));
    expect(left.map((key) => key.replace(/^.*\}:/, '')).sort()).to.deep.equal(['declared']);
  });

  it('settings that defeat delivery are warned of once; a store that hides them is used (REDIS-14)', async () => {
    const warnings = (one: Side): string[] => one.log.at('warn').map(({ message }) => message);
    await redis.ask('config', 'set', 'maxmemory', '1gb', 'maxmemory-policy', 'allkeys-lru');
    const told = side();
    await told.transport.connect();
    await eventually('the warning', 10_000, () => warnings(told).length > 0);
    await redis.ask('config', 'set', 'maxmemory', '0', 'maxmemory-policy', 'noeviction');
    expect(warnings(told)).to.have.length(1);
    expect(warnings(told)[0]).to.match(/maxmemory-policy is allkeys-lru.*neither appendonly nor save/);
    await redis.ask(
      'acl',
      'setuser',
      'plain',
      'on',
      '>plain',
      '~ebbgate:*',
      '+@all',
      '-config',
      '-role',
      '-script',
    );
    const plain = new Side(redis.url(FAST).replace('//', '//plain:plain@'));
    sides.push(plain);
    await plain.listen(source);
    await plain.send(toTopic(), 'works');
    await plain.hasArrived(1);
    expect(warnings(plain)).to.deep.equal([]);
  });

  it('credentials and permissions that are refused are told at once (AMQP-18)', async () => {
    await redis.ask('acl', 'setuser', 'reader', 'on', '>reader', '~ebbgate:*', '+@read', '+ping', '+time');
    for (const who of ['reader:wrong', 'nobody:x']) {
      const wrong = new Side(redis.url(FAST).replace('//', `//${who}@`));
      sides.push(wrong);
      const error = await wrong.send(toTopic(), 'never').catch((reason: unknown) => reason);
      expect(error).to.include({ code: 'ERR_AUTHENTICATION', outcome: 'not-sent' });
      expect(String(error)).to.not.include('wrong@');
    }
    const reader = new Side(redis.url(FAST).replace('//', '//reader:reader@'));
    sides.push(reader);
    for (const work of [reader.send(toTopic(), 'never'), reader.listen(source)])
      expect(await work.catch((reason: unknown) => reason)).to.include({ code: 'ERR_AUTHENTICATION' });
  });

  it('the permissions of the page for operators are enough for all that a server and a client do', async () => {
    const page = readFileSync('docs/operations/redis.md', 'utf8');
    const [, rules = ''] = /\*\*Permissions\*\*: `([^`]+)`/.exec(page) ?? [];
    await redis.ask('acl', 'setuser', 'least', 'on', '>least', ...rules.split(' '));
    const least = new Side(redis.url(`${FAST}&lease=0.3`).replace('//', '//least:least@'));
    sides.push(least);
    const server = new RpcServer(least.transport, source, [{ ping: () => 'pong' }]);
    await server.start();
    const client = new RpcClient(least.transport, { exchange: source.exchange, topic: source.topic });
    expect(await client.call({}, 'ping')).to.equal('pong');
    await client.prepare({ fanout: true }).cast({}, 'ping');
    await server.stop();
    expect((await server.wait()).unconfirmed).to.deep.equal([]);
    expect(least.errors).to.deep.equal([]);
  });

  it('a store that is out of memory refuses senders, while what it has is served, kept and given back (AMQP-31)', async () => {
    const [sender, receiver] = [side(), side(`${FAST}&lease=0.4`)];
    const listener = await receiver.listen(source, 2);
    for (const text of ['one', 'two', 'three']) await sender.send(toTopic(), text);
    await receiver.hasArrived(2);
    await redis.ask('config', 'set', 'maxmemory', '1mb');
    try {
      const error = await sender.send(toTopic(), 'too much').catch((reason: unknown) => reason);
      expect(error).to.be.instanceOf(BackpressureError).and.include({ outcome: 'not-sent' });
      expect(await receiver.arrived[0]?.accept()).to.equal(true);
      await receiver.hasArrived(3);
      receiver.arrived[1]?.release();
      await receiver.hasArrived(4);
      expect(receiver.arrived[3]?.redelivered).to.equal(true);
      expect(await listener.close()).to.deep.equal([]);
      await receiver.listen(source);
      await receiver.hasArrived(6);
      expect(new Set(receiver.texts.slice(4))).to.deep.equal(new Set(['two', 'three']));
    } finally {
      await redis.ask('config', 'set', 'maxmemory', '0');
    }
  });
});
