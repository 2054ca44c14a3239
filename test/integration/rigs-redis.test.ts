import { existsSync } from 'node:fs';
import { expect } from 'chai';
import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { after, afterEach, before, describe, it } from 'mocha';
import { rejectionOf } from '../support/deferred.js';
import { TestProcess } from '../support/processes.js';
import { eventually, within } from '../support/rigs/deadline.js';
import { RedisCluster } from '../support/rigs/redis-cluster.js';
import { monitorRedis } from '../support/rigs/redis-monitor.js';
import { NOT_SAVED, RedisProcess, SAVED } from '../support/rigs/redis-process.js';
import { RedisSentinel } from '../support/rigs/redis-sentinel.js';

const LIMIT_MS = 10_000;

const undo: (() => unknown)[] = [];

afterEach(async () => {
  for (const one of undo.splice(0).reverse()) await one();
});

function open(options: RedisOptions): Redis {
  const client = new Redis(options);
  client.on('error', () => {}); // it is told of each attempt that failed
  undo.push(() => client.disconnect());
  return client;
}

describe('a private Redis', function () {
  this.timeout(30_000);

  it('keeps over a SIGKILL what it has saved, and without that nothing', async () => {
    for (const [config, kept] of [
      [SAVED, 'v'],
      [NOT_SAVED, null],
    ] as const) {
      const server = await RedisProcess.start({ config });
      undo.push(() => server.dispose());
      await server.ask('SET', 'k', 'v');
      await server.kill();
      expect(server.running).to.equal(false);
      await rejectionOf(server.ask('PING'));
      await server.start();
      expect(await server.ask('GET', 'k')).to.equal(kept);
    }
  });

  it('tells of its commands, those of scripts included, with whatever is in them', async () => {
    const server = await RedisProcess.start();
    undo.push(() => server.dispose());
    const told: (readonly string[])[] = [];
    const monitor = await monitorRedis(server.port, (command) => told.push(command));
    undo.push(() => monitor.close());
    const text = 'a "quoted\\" line\nänd \x01 more';
    await server.ask('EVAL', "return redis.call('SET', KEYS[1], ARGV[1])", 1, 'k', text);
    await eventually('both', LIMIT_MS, () => told.length === 2);
    expect(told[1]).to.deep.equal(['SET', 'k', text]);
    expect(told[0]?.slice(2)).to.deep.equal(['1', 'k', text]);
  });

  it('answers nothing while it is paused, and all of it then', async () => {
    const server = await RedisProcess.start();
    undo.push(() => server.dispose());
    const client = open({ port: server.port });
    await client.ping();
    server.pause();
    const silent = client.incr('n');
    expect(
      await Promise.race([silent, within('an answer', 200, new Promise(() => {})).catch(() => 'none')]),
    ).to.equal('none');
    server.resume();
    expect(await silent).to.equal(1);
    server.pause();
    await server.stop(); // which goes on first
    expect(await server.log()).to.contain('User requested shutdown');
  });

  it('ends with the process that started it, however that ends, and leaves no folder', async () => {
    const script = `
      import { RedisProcess } from '${new URL('../support/rigs/redis-process.js', import.meta.url).href}';
      const server = await RedisProcess.start();
      server.pause();
      console.log(JSON.stringify(server.whereabouts));
      setInterval(() => undefined, 60_000);
    `;
    const child = new TestProcess('--input-type=module', ['-e', script]);
    await child.line(/^\{/);
    const { pid, folder } = JSON.parse(child.lines[0] ?? '') as { pid: number; folder: string }; // as printed
    expect([existsSync(`/proc/${String(pid)}`), existsSync(folder)]).to.deep.equal([true, true]);
    child.signal('SIGKILL');
    await child.ended;
    await eventually('its end', LIMIT_MS, () => !existsSync(`/proc/${String(pid)}`) && !existsSync(folder));
  });
});

describe('a master, a replica and three Sentinels of our own', function () {
  this.timeout(60_000);
  let set: RedisSentinel;

  before(async () => {
    set = await RedisSentinel.start({ sentinels: 3 });
  });

  after(() => set.dispose());

  const client = (): Redis =>
    open({ name: set.name, sentinels: set.sentinels.map(({ port }) => ({ host: '127.0.0.1', port })) });

  it('tell a client the master, and after an orderly fail-over the new one', async () => {
    const own = client();
    await own.set('k', '1');
    expect(await own.wait(1, LIMIT_MS)).to.equal(1); // a fail-over loses what the replica has not
    const [master, replica] = [await set.find('master'), await set.find('replica')];
    await set.failOver();
    expect([await set.find('master'), await set.find('replica')]).to.deep.equal([replica, master]);
    expect((await rejectionOf(master.ask('SET', 'k', '2'))).message).to.match(/^READONLY/);
    expect(await within('an answer', LIMIT_MS, client().get('k'))).to.equal('1');
  });

  it('replace a master that hangs, which follows the new one when it goes on', async () => {
    const replica = await set.find('replica');
    const lost = await set.pause('master');
    await set.becomesMaster(replica);
    expect(await within('an answer', LIMIT_MS, client().set('k', 'v'))).to.equal('OK');
    lost.resume();
    await set.whole();
    expect(await set.find('replica')).to.equal(lost);
    await eventually('its data', LIMIT_MS, async () => (await lost.ask('GET', 'k')) === 'v');
  });

  it('go on when one Sentinel is away', async () => {
    const one = await set.kill('sentinel');
    await set.failOver();
    expect(await within('an answer', LIMIT_MS, client().set('k', 'v'))).to.equal('OK');
    await one.start();
  });
});

describe('a cluster of our own', function () {
  this.timeout(60_000);
  let cluster: RedisCluster;

  before(async () => {
    cluster = await RedisCluster.start({ replicas: true });
  });

  after(() => cluster.dispose());

  it('has three masters, and moves slots with what is in them (ASK, MOVED)', async () => {
    const client = new Cluster(cluster.masters.map(({ port }) => ({ host: '127.0.0.1', port })));
    client.on('error', () => {}); // it is told of each attempt that failed
    undo.push(() => client.disconnect());
    await client.set('{a}1', 'v');
    await client.xgroup('CREATE', '{a}s', 'g', '0', 'MKSTREAM');
    await client.xadd('{a}s', '*', 'f', 'v');
    const from = await cluster.masterOf('{a}');
    const to = cluster.masters.find((node) => node !== from) ?? from;
    let asked = '';
    await cluster.moveSlot('{a}', to, async () => {
      asked = (await rejectionOf(from.ask('GET', '{a}1'))).message;
      expect(await client.get('{a}1')).to.equal('v'); // by way of ASK
    });
    const slot = await cluster.slotOf('{a}');
    expect(asked).to.equal(`ASK ${String(slot)} 127.0.0.1:${String(to.port)}`);
    expect((await rejectionOf(from.ask('GET', '{a}1'))).message).to.match(/^MOVED /);
    expect(await cluster.masterOf('{a}')).to.equal(to);
    expect(await client.get('{a}1')).to.equal('v');
    expect(await to.ask('XINFO', 'GROUPS', '{a}s')).to.have.length(1);
  });

  it('serves the other slots while a master is away, and puts its replica in its place', async () => {
    const master = await cluster.masterOf('{a}');
    let elsewhere = 'k';
    while ((await cluster.masterOf(elsewhere)) === master) elsewhere += 'k';
    const other = await cluster.masterOf(elsewhere);
    await master.ask('SET', '{a}', 'v');
    await master.ask('WAIT', 1, 5_000);
    await master.kill();
    expect(await other.ask('SET', elsewhere, 'v')).to.equal('OK');
    await eventually(
      'the replica in its place',
      30_000,
      async () => (await cluster.masterOf('{a}')) !== master,
    );
    const next = await cluster.masterOf('{a}');
    expect(cluster.replicas).to.include(next);
    expect(await next.ask('GET', '{a}')).to.equal('v');
    await master.start();
    await cluster.isOk();
  });
});
