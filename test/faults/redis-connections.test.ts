import { inspect } from 'node:util';
import type { Transport } from '@ebbgate/core';
import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { eventually } from '../support/rigs/deadline.js';
import type { RespCommand } from '../support/rigs/resp-peer.js';
import { failure, send, source, toFanout, toServer, toTopic } from './bed.js';
import { RedisBed, SHORT_LEASE } from './redis-bed.js';

const WAIT_MS = 20_000;
const IDLE_MS = 4_000;
/** As users have them: what is short elsewhere here makes traffic. */
const DEFAULTS = {
  command_timeout: undefined,
  connect_timeout: undefined,
  heartbeat: undefined,
  retry_interval: undefined,
  retry_interval_max: undefined,
};

describe('connections to Redis', function () {
  this.timeout(60_000);
  let bed: RedisBed;

  beforeEach(async () => {
    bed = await RedisBed.start();
  });

  afterEach(() => bed.end());

  it('of a paused listener that are lost are there again when resume() has resolved (REDIS-09, AMQP-07, AMQP-08)', async () => {
    const where = source();
    const peer = await bed.peer();
    const transport = await bed.connected(peer.url());
    const { listener, texts } = await bed.listen(transport, where);
    await listener.pause();
    const held: RespCommand[] = [];
    const end = peer.script('PING', (command) => void held.push(command));
    peer.connections.at(-1)?.cut(); // its reader's, the youngest
    await eventually('another connection', WAIT_MS, () => held.length === 1);
    const resumed = listener.resume().then(() => transport.status().listeners[0]?.subscribed);
    end();
    held[0]?.pass();
    expect(await resumed).to.equal(true);
    await send(transport, toTopic(where), 'x');
    await eventually('the message', WAIT_MS, () => texts.length === 1);
  });

  it('come back one by one when an operator ends them (CLIENT KILL), whatever they are for, and all is served (REDIS-11, REDIS-09, AMQP-05)', async () => {
    const where = source();
    const transport = await bed.connected(bed.direct);
    const ran: string[] = [];
    const note = (_context: unknown, { text }: { text: string }): string => {
      ran.push(text);
      return text;
    };
    await bed.serve(transport, where, { note });
    const client = bed.client(transport, where);
    await client.call({}, 'note', { text: 'first' });
    const roles = await bed.view.clients();
    expect(roles).to.have.length.above(2); // commands, a reader of requests, a reader of replies
    for (const [index, { name, cmd }] of roles.entries()) {
      // Those that have come back are the youngest: each round ends the oldest that is left.
      const oldest = (await bed.view.clients()).toSorted((a, b) => a.id - b.id)[0];
      if (!oldest) throw new Error('There is none');
      await bed.view.killClient(oldest.id);
      await eventually(`another in place of ${name} (${cmd})`, WAIT_MS, async () => {
        const now = await bed.view.clients();
        return now.length === roles.length && !now.some(({ id }) => id === oldest.id);
      });
      await bed.whole(transport);
      const text = `after ${String(index)}`;
      expect(await client.call({}, 'note', { text })).to.equal(text);
      await client.prepare({ fanout: true }).cast({}, 'note', { text: `fanout ${text}` });
      await client.prepare({ server: where.server }).cast({}, 'note', { text: `server ${text}` });
      await eventually(
        'all of it',
        WAIT_MS,
        () => ran.includes(`fanout ${text}`) && ran.includes(`server ${text}`),
      );
    }
    expect((await bed.view.clients()).length).to.equal(roles.length);
  });

  it('are few and as many under any load (AMQP-34, REDIS-07)', async () => {
    const where = source();
    const transport = await bed.connected(bed.url);
    const echo = (_context: unknown, { n }: { n: number }): number => n;
    await bed.serve(transport, where, { echo }, { slots: 100, prefetch: 100 });
    const client = bed.client(transport, where);
    await client.call({}, 'echo', { n: 0 });
    await client.prepare({ fanout: true }).cast({}, 'echo', { n: 0 });
    const count = async (): Promise<number> => (await bed.view.clients()).length;
    const before = await count();
    expect(before).to.be.below(6);
    const busy = Promise.all(Array.from({ length: 500 }, (_none, n) => client.call({}, 'echo', { n })));
    expect(await count()).to.equal(before);
    await busy;
    expect(await count()).to.equal(before);
    const second = await bed.connected(bed.url);
    await bed.serve(second, source(), { echo });
    expect(await count()).to.be.below(2 * before + 1);
  });

  it('carry next to nothing while nothing is sent: fewer than two commands a second for a server and a caller (REDIS-06)', async () => {
    const where = source();
    const transport = await bed.connected(bed.url, DEFAULTS);
    await bed.serve(transport, where, { ping: () => 'pong' });
    expect(await bed.client(transport, where).call({}, 'ping')).to.equal('pong');
    await bed.view.resetCalls();
    const begun = performance.now();
    await eventually('some idle seconds', WAIT_MS, () => performance.now() - begun >= IDLE_MS);
    const calls = await bed.view.calls();
    const ours = [...calls].filter(([name]) => !['info', 'config|resetstat'].includes(name));
    const sum = ours.reduce((total, [, count]) => total + count, 0);
    const seconds = (performance.now() - begun) / 1000;
    expect(sum / seconds, inspect(ours)).to.be.below(2);
    expect((await bed.view.clients()).some(({ blocked }) => blocked)).to.equal(true);
  });

  it('and keys leave nothing behind after an end, and the memory is what it was (AMQP-37, AMQP-40, REDIS-04, CORE-05)', async () => {
    const where = source();
    const used = async (): Promise<number> => {
      await bed.server.ask('MEMORY', 'PURGE');
      return Number((await bed.server.info('memory')).get('used_memory_dataset'));
    };
    const round = async (calls: number): Promise<void> => {
      const transport = await bed.connected(bed.url);
      const server = await bed.serve(transport, where, { echo: (_c: unknown, { x }: { x: string }) => x });
      const client = bed.client(transport, where);
      const x = 'x'.repeat(5_000);
      for (let done = 0; done < calls; done += 100)
        await Promise.all(Array.from({ length: 100 }, () => client.call({}, 'echo', { x })));
      await server.stop();
      expect((await server.wait()).unconfirmed).to.deep.equal([]);
      await transport.close();
      await eventually('no connection', WAIT_MS, async () => (await bed.view.clients()).length === 0);
    };
    await round(100);
    const [keys, before] = [await bed.view.keys(), await used()];
    await round(2_000); // twenty megabytes went through it
    expect(await bed.view.keys()).to.deep.equal(keys);
    expect(await bed.view.allEntries()).to.equal(0);
    expect(await bed.view.pending()).to.equal(0);
    expect((await used()) - before).to.be.below(500_000);
  });

  it("mean the same by the same names, however hostile, in two processes' drivers, and nothing else (AMQP-03, REDIS-12)", async () => {
    const names = [
      ...[
        '*',
        '{',
        '}',
        '{}',
        '}{',
        '{a}',
        'a{b}c',
        ':',
        '::',
        'a:b',
        '[x]',
        '?',
        '\\',
        '"',
        "'",
        ' ',
        '\n',
        '\r\n',
      ],
      ...[
        '\0',
        '__proto__',
        'constructor',
        'ü',
        '語',
        '🂡',
        '\ud800',
        '%',
        '%2F',
        '/',
        '../..',
        'x'.repeat(600),
      ],
    ];
    const [one, other] = [await bed.connected(bed.url), await bed.connected(bed.direct)];
    const exchange = source().exchange;
    const servers = await Promise.all(
      names.map(async (name) => {
        const where = { exchange, topic: `t${name}`, server: name };
        return { name, where, heard: await bed.listen(one, where) };
      }),
    );
    for (const [n, { where }] of servers.entries()) {
      await send(other, toTopic(where), `topic ${String(n)}`);
      await send(other, toServer(where), `server ${String(n)}`);
      await send(other, toFanout(where), `fanout ${String(n)}`);
    }
    for (const [n, { name, heard }] of servers.entries()) {
      await eventually(`all for ${JSON.stringify(name)}`, WAIT_MS, () => heard.texts.length >= 3);
      expect(heard.texts.sort(), JSON.stringify(name)).to.deep.equal(
        ['fanout', 'server', 'topic'].map((kind) => `${kind} ${String(n)}`),
      );
    }
  });

  it('never give a password away: not in the log, nor in errors, nor when inspected (SEC-04)', async () => {
    const secret = 'pw-hunter2';
    await bed.server.ask('ACL', 'SETUSER', 'keeper', 'on', `>${secret}`, '~*', '&*', '+@all');
    try {
      const login = (url: string): string => url.replace('//', `//keeper:${secret}@`);
      const transport = await bed.connected(login(bed.url));
      const where = source();
      await bed.serve(transport, where, { ping: () => 'pong' });
      const client = bed.client(transport, where);
      expect(await client.call({}, 'ping')).to.equal('pong');
      const errors: unknown[] = [];
      transport.events.on('error', (error) => void errors.push(error));
      transport.events.on('connection', ({ cause }) => void errors.push(cause));
      await bed.proxy.setDoorman('refuse');
      bed.proxy.cut();
      await eventually('the loss', WAIT_MS, () => transport.status().connection !== 'connected');
      errors.push(await failure(send(transport, toTopic(where), 'x', { timeoutMs: 200 })));
      errors.push(await failure(client.prepare({ timeoutMs: 200 }).call({}, 'ping')));
      await bed.server.ask('ACL', 'SETUSER', 'keeper', 'resetpass', '>another');
      await bed.proxy.setDoorman('forward');
      await eventually('the refusal', WAIT_MS, async () => {
        const error = await failure(send(transport, toTopic(where), 'x', { timeoutMs: 500 }));
        errors.push(error);
        return error.code === 'ERR_AUTHENTICATION';
      });
      const everything = inspect([errors, transport, bed.log.lines], { depth: 30, showHidden: true });
      expect(errors).to.have.length.above(3);
      expect(everything).not.to.contain(secret);
      expect(bed.log.lines.map((line) => inspect(line, { depth: 30 })).join()).not.to.contain(secret);
    } finally {
      await bed.server.ask('ACL', 'DELUSER', 'keeper');
    }
  });

  it('that are lost and made a hundred times keep nothing: not here, not in Redis, and nothing warns of a leak (CORE-10, AMQP-34)', async () => {
    const warnings: Error[] = [];
    const onWarning = (warning: Error): void => void warnings.push(warning);
    process.on('warning', onWarning);
    bed.onEnd(() => process.off('warning', onWarning));
    const all = await Promise.all(
      Array.from({ length: 5 }, async () => {
        const where = source();
        const transport = await bed.connected(bed.url, SHORT_LEASE);
        await bed.serve(transport, where, { ping: () => 'pong' });
        return { transport, client: bed.client(transport, where) };
      }),
    );
    const lost = new Set<Transport>();
    for (const { transport } of all)
      transport.events.on('connection', ({ state }) => {
        if (state === 'disconnected') lost.add(transport);
      });
    const kept = async (): Promise<Record<string, number>> => {
      const counts: Record<string, number> = {};
      for (const each of process.getActiveResourcesInfo())
        if (/TCP|Timeout/.test(each)) counts[each] = (counts[each] ?? 0) + 1;
      counts['listeners'] = process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0);
      counts['clients'] = (await bed.view.clients()).length;
      counts['keys'] = (await bed.view.keys()).length;
      counts['consumers'] = await bed.view.consumers();
      return counts;
    };
    const cut = async (times: number): Promise<void> => {
      lost.clear();
      if (times % 3 === 0) await bed.proxy.setDoorman('refuse');
      bed.proxy.cut(times % 2 === 0 ? 'rst' : 'fin');
      await eventually('the losses', WAIT_MS, () => lost.size === all.length);
      await bed.proxy.setDoorman('forward');
      await bed.whole(...all.map(({ transport }) => transport));
      for (const { client } of all) expect(await client.call({}, 'ping')).to.equal('pong');
    };
    for (let times = 0; times < 3; times += 1) await cut(times); // warm-up
    const before = await kept();
    for (let times = 0; times < 10; times += 1) await cut(times);
    let now = await kept();
    await eventually('all as before', WAIT_MS, async () => {
      now = await kept();
      return Object.entries(before).every(([what, count]) => (now[what] ?? 0) <= count);
    }).catch(() => undefined);
    for (const [what, count] of Object.entries(before)) expect(now[what] ?? 0, what).to.be.at.most(count);
    expect(warnings).to.deep.equal([]);
  });
});
