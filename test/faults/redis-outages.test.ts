import type { Transport } from '@ebbgate/core';
import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { eventually, within } from '../support/rigs/deadline.js';
import { RedisProcess } from '../support/rigs/redis-process.js';
import { failure, send, source, toFanout, toServer, toTopic } from './bed.js';
import { isWhole, RedisBed } from './redis-bed.js';
import { Traffic } from './traffic.js';

const WAIT_MS = 20_000;
const CALL_MS = 3_000;

/** Keeps the event loop from doing anything else. */
function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

describe('outages, with Redis', function () {
  this.timeout(60_000);
  let bed: RedisBed;

  beforeEach(async () => {
    bed = await RedisBed.start();
  });

  afterEach(async () => {
    bed.server.resume();
    if (!bed.server.running) await bed.server.start();
    await bed.end();
  });

  /** A server and a caller with a connection each, between which calls and casts go on. */
  async function traffic(): Promise<{ going: Traffic; all: readonly [Transport, Transport] }> {
    const where = source();
    const ran = new Map<string, number>();
    const all = [await bed.connected(bed.url), await bed.connected(bed.url)] as const;
    await bed.serve(all[0], where, Traffic.endpoint(ran), { duplicateWindow: 100_000 });
    const going = new Traffic(bed.client(all[1], where, { timeoutMs: CALL_MS }), ran);
    bed.onEnd(() => going.stop());
    await going.goesOn('calls', WAIT_MS);
    return { going, all };
  }

  async function expectAllTrue(going: Traffic): Promise<void> {
    await going.end(CALL_MS + WAIT_MS);
    await eventually('every confirmed cast to run', WAIT_MS, () => going.missing.length === 0);
    expect(going.wrong.map(String)).to.deep.equal([]);
    expect(going.twice).to.deep.equal([]);
  }

  it('that end its process (SIGKILL) settle every call, and lose or double no confirmed cast (AMQP-02, AMQP-03, AMQP-35, REDIS-09, REDIS-11)', async () => {
    const { going, all } = await traffic();
    for (let times = 0; times < 2; times += 1) {
      await bed.server.kill();
      await eventually('the losses', WAIT_MS, () => !all.some(isWhole));
      await bed.server.start();
      await bed.whole(...all);
      await going.goesOn('calls after the restart', WAIT_MS);
    }
    await expectAllTrue(going);
  });

  it('after which nothing is left of what was there (no persistence) are followed by service all the same (REDIS-05, REDIS-09, AMQP-07)', async () => {
    const forgetful = await RedisProcess.start();
    bed.onEnd(() => forgetful.dispose());
    const where = source();
    const transport = await bed.connected(`redis://127.0.0.1:${String(forgetful.port)}/0`);
    await bed.serve(transport, where, { ping: () => 'pong' });
    const client = bed.client(transport, where);
    expect(await client.call({}, 'ping')).to.equal('pong');
    for (let times = 0; times < 2; times += 1) {
      await bed.lose(transport, () => forgetful.kill());
      await forgetful.start();
      await bed.whole(transport);
      expect(await client.call({}, 'ping')).to.equal('pong');
    }
  });

  it('in short order, of every kind, leave each reader and the replies working, and no connection more (REDIS-09, AMQP-35, AMQP-34)', async () => {
    const { going, all } = await traffic();
    const connections = (await bed.view.clients()).length;
    for (let times = 0; times < 12; times += 1) {
      bed.proxy.cut(times % 2 === 0 ? 'rst' : 'fin');
      if (times % 4 === 3)
        await bed.whole(...all); // the others come while it is still connecting
      else await bed.proxy.nextLink();
    }
    await bed.whole(...all);
    await going.goesOn('calls after all of them', WAIT_MS);
    await eventually(
      'no connection more',
      WAIT_MS,
      async () => (await bed.view.clients()).length <= connections,
    );
    await expectAllTrue(going);
  });

  it('that let nothing through (a black hole) are noticed on every connection, told, and ended by a new one (AMQP-14, REDIS-08, AMQP-47)', async () => {
    const where = source();
    const transport = await bed.connected(bed.url);
    const heard = await bed.listen(transport, where);
    await transport.openReplyQueue(() => undefined);
    const causes: string[] = [];
    transport.events.on('connection', ({ cause }) => void causes.push(String(cause?.message)));
    transport.events.on('listener', ({ cause }) => void causes.push(String(cause?.message)));
    transport.events.on('error', ({ message }) => void causes.push(message));
    const roles = bed.proxy.links.length;
    expect(roles).to.equal(3);
    for (let index = 0; index < roles; index += 1) {
      const link = bed.proxy.links[0]; // the oldest; those that come anew are behind it
      const [accepted, told] = [bed.proxy.accepted, causes.length];
      link?.blackHole();
      await eventually('another connection', WAIT_MS, () => bed.proxy.accepted > accepted);
      await bed.whole(transport);
      expect(causes.slice(told), `connection ${String(index)}`).not.to.deep.equal([]);
      link?.cut('rst');
      await eventually('the dead link to go', WAIT_MS, () => bed.proxy.links.length === roles);
      await send(transport, toTopic(where), `after ${String(index)}`);
      await eventually('the message', WAIT_MS, () => heard.texts.includes(`after ${String(index)}`));
    }
  });

  it('of a store that is frozen (SIGSTOP) bound every command, and end by themselves (REDIS-08, AMQP-02, AMQP-41)', async () => {
    const { going, all } = await traffic();
    bed.server.pause();
    const where = source();
    const errors = await Promise.all([
      failure(send(all[0], toFanout(where), 'x', { timeoutMs: 300 })),
      failure(bed.client(all[0], where, { timeoutMs: 300 }).cast({}, 'x')),
    ]);
    for (const { code } of errors) expect(code).to.equal('ERR_DELIVERY');
    const before = going.failed.length;
    await eventually(
      'calls that fail by their deadline',
      CALL_MS + WAIT_MS,
      () => going.failed.length > before,
    );
    await eventually('the losses to be known', WAIT_MS, () => !all.some(isWhole));
    bed.server.resume();
    await bed.whole(...all);
    await going.goesOn('calls afterwards', WAIT_MS);
    await expectAllTrue(going);
  });

  it('are known at once: nothing counts as subscribed, and sends wait within their deadline (AMQP-08, AMQP-47, AMQP-02)', async () => {
    const where = source();
    const transport = await bed.connected(bed.url);
    const heard = await bed.listen(transport, where);
    const told: string[] = [];
    transport.events.on('connection', ({ state }) => void told.push(state));
    transport.events.on('listener', ({ subscribed }) => void told.push(`subscribed ${String(subscribed)}`));
    await bed.proxy.setDoorman('refuse');
    bed.proxy.cut();
    await eventually('the loss', WAIT_MS, () => transport.status().connection === 'disconnected');
    await eventually('the loss', WAIT_MS, () => transport.status().listeners[0]?.subscribed === false);
    const short = await failure(send(transport, toTopic(where), 'short', { timeoutMs: 100 }));
    expect([short.code, short.outcome]).to.deep.equal(['ERR_DELIVERY', 'not-sent']);
    expect((await failure(send(transport, toTopic(where), 'none', { retry: 0 }))).outcome).to.equal(
      'not-sent',
    );
    const patient = send(transport, toServer(where), 'patient');
    await bed.proxy.setDoorman('forward');
    await patient;
    await eventually('the message', WAIT_MS, () => heard.texts.length > 0);
    expect(heard.texts).to.deep.equal(['patient']);
    await bed.whole(transport);
    for (const sign of ['disconnected', 'connected', 'subscribed false', 'subscribed true'])
      expect(told).to.include(sign);
  });

  it('of our own, a blocked event loop, run nothing again that was running, and are named (AMQP-12, REDIS-02)', async () => {
    const where = source();
    const ran: string[] = [];
    const endpoint = {
      work: (_context: unknown, { ms }: { ms: number }): string => {
        ran.push('work');
        block(ms);
        return 'done';
      },
      ping: () => 'pong',
    };
    const transport = await bed.connected(bed.url);
    await bed.serve(transport, where, endpoint);
    const client = bed.client(transport, where, { timeoutMs: 20_000 });
    expect(await client.call({}, 'work', { ms: 2_500 })).to.equal('done');
    await bed.whole(transport);
    expect(await client.call({}, 'ping')).to.equal('pong');
    expect(ran).to.deep.equal(['work']);
    const line = bed.log.lines.find(({ message }) => message.startsWith('The event loop was blocked'));
    expect(line?.level).to.equal('warn');
    expect(line?.fields['blockedMs']).to.be.within(2_000, 30_000);
  });

  for (const [how, outage] of [
    ['frozen', () => bed.server.pause()],
    ['behind a black hole', () => bed.proxy.blackHole()],
    [
      'gone',
      async () => {
        await bed.proxy.setDoorman('refuse');
        bed.proxy.cut();
      },
    ],
  ] as const)
    it(`do not hold up an end: with a store that is ${how} stop, wait and close come to one and tell what is not confirmed (AMQP-41, AMQP-40)`, async () => {
      const where = source();
      const transport = await bed.connected(bed.url);
      const server = await bed.serve(transport, where, { ping: () => 'pong' });
      expect(await bed.client(transport, where).call({}, 'ping')).to.equal('pong');
      await server.whenIdle(); // its reply is confirmed
      await outage();
      const end = async (): Promise<readonly string[]> => {
        await server.stop();
        const { unconfirmed } = await server.wait();
        await transport.close();
        return unconfirmed;
      };
      const unconfirmed = await within('the end', WAIT_MS, end());
      expect(unconfirmed).to.have.length(1);
      expect(unconfirmed[0]).to.contain(where.server);
      expect(transport.status().connection).to.equal('closed');
    });
});
