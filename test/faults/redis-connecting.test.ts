import { AuthenticationError, MessageDeliveryError, type Transport } from '@ebbgate/core';
import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { rejectionOf } from '../support/deferred.js';
import { eventually, within } from '../support/rigs/deadline.js';
import { FaultProxy } from '../support/rigs/fault-proxy.js';
import { freePort } from '../support/rigs/free-port.js';
import { RedisProcess } from '../support/rigs/redis-process.js';
import { RespPeer } from '../support/rigs/resp-peer.js';
import { failure, send, source, toTopic } from './bed.js';
import { RedisBed } from './redis-bed.js';

const WAIT_MS = 20_000;
const IN_ORDER = { host_order: 'given', connect_timeout: 0.5, command_timeout: 0.5 } as const;

describe('connecting to Redis', function () {
  this.timeout(40_000);
  let bed: RedisBed;
  const where = source();

  beforeEach(async () => {
    bed = await RedisBed.start();
  });

  afterEach(() => bed.end());

  /** One URL of several hosts, in this order. */
  const url = (...hosts: readonly (RespPeer | FaultProxy | string)[]): string =>
    `redis://${hosts.map((host) => (typeof host === 'string' ? host : `127.0.0.1:${String(host.port)}`)).join(',')}/0`;

  /** A peer of its own, without a server behind it. */
  async function alone(): Promise<RespPeer> {
    const peer = await RespPeer.start();
    bed.onEnd(() => peer.close().catch(() => undefined)); // it may have been sent nonsense back
    return peer;
  }

  async function badHosts(): Promise<(RespPeer | string)[]> {
    const mute = await alone();
    mute.script('*', () => {});
    const nonsense = await alone();
    nonsense.script('*', ({ connection }) => connection.sendRaw('HTTP/1.1 400 Bad Request\r\n\r\n'));
    const cutting = await alone();
    cutting.script('*', ({ connection }) => connection.cut('rst'));
    const loading = await alone();
    loading.script('*', (command) => command.fail('LOADING Redis is loading the dataset in memory'));
    const replica = await alone();
    replica.script('ROLE', (command) => command.answer(['slave', '127.0.0.1', 6379, 'connected', 1]));
    const refused = `127.0.0.1:${String(await freePort())}`;
    return [refused, 'no-such-host.invalid:6379', mute, nonsense, cutting, loading, replica];
  }

  it('goes on to the next host whatever is wrong with one, at first and after a loss (AMQP-15, AMQP-16, REDIS-10)', async () => {
    for (const bad of await badHosts()) {
      const transport = await within(
        `past ${typeof bad === 'string' ? bad : 'a bad peer'}`,
        WAIT_MS,
        bed.connected(url(bad, bed.proxy), IN_ORDER),
      );
      const heard = await bed.listen(transport, source());
      await bed.lose(transport, () => bed.proxy.cut());
      await bed.whole(transport);
      await heard.listener.close();
      await transport.close();
    }
  });

  it('begins at a random host, or in the order of the URL when asked to (AMQP-16)', async () => {
    const both = [await bed.peer(), await bed.peer()];
    for (let times = 0; times < 10; times += 1) await bed.connected(url(...both));
    expect(Math.min(...both.map(({ connections }) => connections.length))).to.be.above(0);
    const last = await bed.peer();
    for (let times = 0; times < 5; times += 1) await bed.connected(url(last, ...both), IN_ORDER);
    expect(last.connections).to.have.length(5);
  });

  it('bounds each attempt, and a send without retries by one round of the hosts (AMQP-15, AMQP-16, AMQP-19)', async () => {
    const mute = await Promise.all([alone(), alone(), alone()]);
    for (const peer of mute) peer.script('*', () => {});
    const transport = bed.transport(url(...mute), IN_ORDER);
    const error = await within(
      'the end of the round',
      WAIT_MS,
      rejectionOf(send(transport, toTopic(where), 'x', { retry: 0, timeoutMs: 60_000 })),
    );
    expect(error).to.be.instanceOf(MessageDeliveryError);
    expect(Math.min(...mute.map(({ connections }) => connections.length))).to.be.above(0);
  });

  it('obeys retry while it connects, for calls and casts, on a first send and on a later one (AMQP-19)', async () => {
    const away = `redis://127.0.0.1:${String(await freePort())}/0`;
    for (const retry of [0, 1]) {
      const client = bed.client(bed.transport(away), where, { retry, timeoutMs: 60_000 });
      const outcomes = [rejectionOf(client.cast({}, 'x')), rejectionOf(client.call({}, 'x'))];
      for (const { code } of await within('both', WAIT_MS, Promise.all(outcomes)))
        expect(code).to.equal('ERR_DELIVERY');
    }
    const transport = await bed.connected(bed.url);
    await bed.proxy.setDoorman('reset');
    bed.proxy.cut();
    await eventually('the loss', WAIT_MS, () => transport.status().connection !== 'connected');
    const later = bed.client(transport, where, { retry: 0, timeoutMs: 60_000 }).cast({}, 'x');
    expect((await within('the cast', WAIT_MS, failure(later))).code).to.equal('ERR_DELIVERY');
  });

  it('comes back ever slower to a store that lets in and cuts at once (AMQP-17)', async () => {
    const peer = await bed.peer();
    const transport = await bed.connected(peer.url());
    const arrivals: number[] = [];
    peer.script('PING', ({ connection }) => {
      arrivals.push(performance.now());
      connection.cut();
    });
    for (const connection of peer.connections) connection.cut();
    await eventually('many connections', WAIT_MS, () => arrivals.length >= 8);
    const span = (from: number, to: number): number => (arrivals[to] ?? NaN) - (arrivals[from] ?? NaN);
    expect(span(4, 7)).to.be.above(1.5 * span(0, 3));
    expect(transport.status().connection).not.to.equal('connected');
  });

  it('gives another host a chance before it tells that one has refused the password (AMQP-15, AMQP-18)', async () => {
    const refusing = await alone();
    refusing.script('AUTH', (command) =>
      command.fail('WRONGPASS invalid username-password pair or user is disabled.'),
    );
    await bed.connected(url(`a:b@127.0.0.1:${String(refusing.port)}`, bed.proxy), IN_ORDER);
    expect(refusing.received('AUTH')).to.have.length.above(0);
    const only = bed.transport(refusing.url('a:b'));
    expect(await within('the refusal', WAIT_MS, rejectionOf(only.connect()))).to.be.instanceOf(
      AuthenticationError,
    );
  });

  it('leaves no attempt behind when it is closed while it connects (AMQP-41, CORE-05)', async () => {
    const mute = await alone();
    mute.script('*', () => {});
    const transport = bed.transport(mute.url());
    const connecting = rejectionOf(transport.connect());
    await eventually('an attempt', WAIT_MS, () => mute.commands.length > 0);
    await within('the close', WAIT_MS, transport.close());
    expect((await connecting).code).to.equal('ERR_TRANSPORT_CLOSED');
    await within('the ends', WAIT_MS, Promise.all(mute.connections.map(({ closed }) => closed)));
  });

  it('a hook or a logger that throws or rejects changes nothing, and is reported (AMQP-06)', async () => {
    let failed = 0;
    const fail = (): never => {
      failed += 1;
      throw new Error('a hook');
    };
    const reject = (() => Promise.resolve().then(fail)) as () => void; // as a caller without types may
    const logger = { debug: fail, info: fail, warn: fail, error: fail };
    const transport = await bed.connected(bed.url, {}, { logger });
    for (const event of ['connection', 'listener', 'error'] as const) {
      transport.events.on(event, fail);
      transport.events.on(event, reject);
    }
    const heard = await bed.listen(transport, where);
    await bed.lose(transport, () => bed.proxy.cut());
    await bed.whole(transport);
    expect(failed).to.be.above(3);
    await send(transport, toTopic(where), 'x');
    await eventually('the message', WAIT_MS, () => heard.texts.length === 1);
    expect(await heard.listener.close()).to.deep.equal([]);
  });

  it('points out settings that defeat delivery, once each, and does without the permission to read them (REDIS-14)', async () => {
    const warned = (): string[] => bed.log.at('warn').map(({ message }) => message);
    for (const [lines, sign] of [
      [['maxmemory 100mb', 'maxmemory-policy allkeys-lru'], /allkeys-lru/],
      [['save ""', 'appendonly no'], /persist|appendonly|disk|restart/i],
    ] as const) {
      const server = await RedisProcess.start({ config: lines });
      bed.onEnd(() => server.dispose());
      const before = warned().length;
      const front = await FaultProxy.start({ port: server.port });
      bed.onEnd(() => front.close());
      const transport = await bed.connected(url(front));
      await bed.listen(transport, where);
      await eventually('the warning', WAIT_MS, () =>
        warned()
          .slice(before)
          .some((line) => sign.test(line)),
      );
      await bed.lose(transport, () => front.cut());
      await bed.whole(transport);
      expect(
        warned()
          .slice(before)
          .filter((line) => sign.test(line)),
      ).to.have.length(1);
    }
    const peer = await bed.peer();
    peer.script('CONFIG GET', (command) =>
      command.fail("NOPERM this user has no permissions to run the 'config|get' command"),
    );
    const before = warned().length;
    const transport: Transport = await bed.connected(peer.url());
    await bed.listen(transport, where);
    expect(warned().slice(before)).to.deep.equal([]);
  });
});
