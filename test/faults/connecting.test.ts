import { AuthenticationError, MessageDeliveryError, MessagingError, type Transport } from '@ebbgate/core';
import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { Backoff } from '#driver-amqp/backoff.js';
import { rejectionOf } from '../support/deferred.js';
import { AmqpPeer } from '../support/rigs/amqp-peer.js';
import { eventually } from '../support/rigs/deadline.js';
import { freePort } from '../support/rigs/free-port.js';
import { Bed, send, source, toTopic } from './bed.js';

const WAIT_MS = 5_000;
const HALF = 0.5;

describe('connecting', function () {
  this.timeout(15_000);
  let bed: Bed;
  const peers: AmqpPeer[] = [];
  const where = source();

  beforeEach(() => {
    bed = new Bed();
  });

  afterEach(async () => {
    await bed.end();
    for (const peer of peers.splice(0)) await peer.close();
  });

  async function start(settings: Parameters<typeof AmqpPeer.start>[0] = {}): Promise<AmqpPeer> {
    const peer = await AmqpPeer.start(settings);
    peers.push(peer);
    return peer;
  }

  /** One URL of several brokers, in this order. */
  const url = (...hosts: readonly (AmqpPeer | string)[]): string =>
    `rabbit://${hosts.map((host) => `guest:guest@${typeof host === 'string' ? host : `127.0.0.1:${String(host.port)}`}`).join(',')}/`;
  const inOrder = { host_order: 'given', connect_timeout: 0.3 } as const;
  const isConnected = (transport: Transport) => () => transport.status().connection === 'connected';

  it('goes on to the next host whatever is wrong with one (AMQP-15)', async () => {
    const good = await start();
    const mute = await start();
    mute.script('header', () => {});
    const forced = await start();
    forced.script('connection.open', ({ connection }) => {
      connection.closeConnection(320, 'CONNECTION_FORCED');
    });
    const nonsense = await start();
    nonsense.script('header', ({ connection }) => {
      connection.sendRaw('HTTP/1.1 400 Bad Request\r\n\r\n');
    });
    const refused = `127.0.0.1:${String(await freePort())}`;
    const bad = [refused, 'no-such-host.invalid:5672', mute, forced, nonsense];
    await bed.connected(url(...bad, good), inOrder);
    expect(good.connections).to.have.length(2);
    const told = bed.log.at('warn').map(({ message }) => message);
    for (const sign of ['ECONNREFUSED', 'no-such-host.invalid', 'connect_timeout', '320', 'exceeds'])
      expect(
        told.filter((message) => message.includes(sign)),
        sign,
      ).to.have.length(2);
  });

  it('goes on to the next host when a connection is lost, for each reason (AMQP-15)', async () => {
    for (const how of ['forced', 'cut'] as const) {
      const first = await start();
      const second = await start();
      const transport = await bed.connected(url(first, second), inOrder);
      for (const connection of first.connections)
        if (how === 'cut') connection.cut();
        else connection.closeConnection(320, 'CONNECTION_FORCED - an operator');
      await eventually('the second host', WAIT_MS, () => second.received('connection.open').length === 2);
      await eventually('the connection', WAIT_MS, isConnected(transport));
      expect(first.connections).to.have.length(2);
    }
  });

  it('bounds each attempt by connect_timeout, and tries each host once a round (AMQP-15, AMQP-16)', async () => {
    const mute = await Promise.all([start(), start(), start()]);
    for (const peer of mute) peer.script('header', () => {});
    const transport = bed.transport(url(...mute), { ...inOrder, connect_timeout: 0.2 });
    const begun = performance.now();
    const error = await rejectionOf(send(transport, toTopic(where), 'x', { retry: 0 }));
    expect(error).to.be.instanceOf(MessageDeliveryError);
    expect(performance.now() - begun).to.be.within(550, 2_500);
    expect(mute.map(({ connections }) => connections.length)).to.deep.equal([2, 2, 2]);
  });

  it('begins at a random host, or in the order of the URL when asked to (AMQP-16)', async () => {
    const both = await Promise.all([start(), start()]);
    for (let index = 0; index < 10; index += 1) await bed.connected(url(...both));
    expect(Math.min(...both.map(({ connections }) => connections.length))).to.be.above(0);
    const last = await start();
    for (let index = 0; index < 5; index += 1) await bed.connected(url(last, ...both), inOrder);
    expect(last.connections).to.have.length(10);
  });

  it('waits twice as long each time, up to a cap, with a random part, until a connection has held (AMQP-17)', () => {
    const settings = {
      reconnectDelayMs: 1_000,
      reconnectSplayMs: 0,
      retryIntervalMs: 1_000,
      retryBackoffMs: 2_000,
      intervalMaxMs: 30_000,
    };
    const most = new Backoff(settings, () => 1);
    const rounds = Array.from({ length: 7 }, () => most.afterFailedRound(false));
    expect(rounds).to.deep.equal([1_000, 3_000, 7_000, 15_000, 30_000, 30_000, 30_000]);
    const losses = Array.from({ length: 7 }, () => most.afterLoss(100));
    expect(losses).to.deep.equal([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
    expect([most.afterLoss(9_000), most.afterFailedRound(false)]).to.deep.equal([30_000, 30_000]);
    expect([most.afterLoss(10_000), most.afterFailedRound(false)]).to.deep.equal([1_000, 1_000]);
    expect(new Backoff(settings, () => 0).afterLoss(0)).to.equal(1_000 * HALF);
    expect(new Backoff(settings, () => 0).afterFailedRound(true)).to.equal(30_000 * HALF);
  });

  it('comes back ever slower to a broker that lets in and cuts at once (AMQP-17)', async () => {
    const peer = await start();
    const arrivals: number[] = [];
    peer.script('connection.open', (event) => {
      event.connection.answer(event);
      event.connection.cut();
      arrivals.push(performance.now());
    });
    bed
      .transport(peer.url())
      .connect()
      .catch(() => undefined);
    await eventually('many connections', 10_000, () => arrivals.length >= 12);
    const span = (from: number, to: number): number => (arrivals[to] ?? NaN) - (arrivals[from] ?? NaN);
    expect(span(8, 11)).to.be.above(2 * span(2, 5));
  });

  it('has a heartbeat by default, and logs when it is switched off (AMQP-13)', async () => {
    const peer = await start({ heartbeat: 120 });
    await bed.connected(peer.url());
    expect((await peer.next('connection.tune-ok')).args['heartbeat']).to.equal(60);
    expect(bed.log.ordinaryText()).not.to.contain('heartbeat_timeout_threshold');
    await bed.connected(peer.url(), { heartbeat_timeout_threshold: 0 });
    await peer.next('connection.tune-ok');
    expect((await peer.next('connection.tune-ok')).args['heartbeat']).to.equal(0);
    expect(bed.log.ordinaryText()).to.contain('heartbeat_timeout_threshold is 0');
  });

  it('leaves no gap of more than half the negotiated interval, on each connection (AMQP-13)', async () => {
    const peer = await start({ heartbeat: 1 });
    const transport = await bed.connected(peer.url());
    const beats = new Map<number, number[]>(
      peer.connections.map(({ number }) => [number, [performance.now()]]),
    );
    const note = (number: number): void => void beats.get(number)?.push(performance.now());
    peer.script('heartbeat', ({ connection }) => {
      note(connection.number);
    });
    peer.script('basic.publish', (event) => {
      event.connection.answer(event);
      note(event.connection.number);
    });
    // A frame at a random moment: a library that looks at every half interval whether anything was sent leaves a gap of nearly a whole one.
    await eventually('some heartbeats', WAIT_MS, async () => {
      if ((beats.get(1)?.length ?? 0) % 3 === 1) await send(transport, toTopic(where), 'x');
      return [...beats.values()].every(({ length }) => length > 8);
    });
    const gaps = [...beats.values()].flatMap((times) =>
      times.slice(1).map((time, index) => time - (times[index] ?? 0)),
    );
    expect(Math.max(...gaps)).to.be.below(500);
  });

  it('offers a frame size that every RabbitMQ takes, and names one that it cannot take (AMQP-27)', async () => {
    for (const [offered, agreed] of [
      [0, 131_072],
      [131_072, 131_072],
      [8_192, 8_192],
    ] as const) {
      const peer = await start({ frameMax: offered });
      await bed.connected(peer.url());
      expect((await peer.next('connection.tune-ok')).args['frameMax']).to.equal(agreed);
    }
    const small = await start({ frameMax: 1_000 });
    const error = await rejectionOf(send(bed.transport(small.url()), toTopic(where), 'x', { retry: 0 }));
    expect(error.message).to.match(/frameMax 1000/);
    const picky = await start();
    picky.script('connection.tune-ok', ({ connection }) => {
      connection.closeConnection(530, 'NOT_ALLOWED - frame_max=131072 > 8192 max size');
    });
    const refusal = await rejectionOf(bed.transport(picky.url()).connect());
    expect(refusal.message).to.contain('frame_max=131072');
  });

  it('tells refused credentials and virtual hosts at once, and does not come back fast (AMQP-18)', async () => {
    for (const [phase, code] of [
      ['connection.start-ok', 403],
      ['connection.open', 530],
    ] as const) {
      const peer = await start();
      peer.script(phase, ({ connection }) => {
        connection.closeConnection(code, 'REFUSED');
      });
      const transport = bed.transport(peer.url(), { rabbit_interval_max: 30 });
      const begun = performance.now();
      const outcomes = [
        await rejectionOf(transport.connect()),
        await rejectionOf(send(transport, toTopic(where), 'x')),
        await rejectionOf(transport.listen(where, { credit: 1 }, () => {})),
        await rejectionOf(bed.client(transport, where).call({}, 'x')),
      ];
      for (const error of outcomes) expect(error).to.be.instanceOf(AuthenticationError);
      expect(performance.now() - begun).to.be.below(1_000);
      expect(peer.connections).to.have.length(2);
    }
  });

  it('gives another host a chance before it tells that one has refused (AMQP-15, AMQP-18)', async () => {
    const refusing = await start();
    refusing.script('connection.start-ok', ({ connection }) => {
      connection.closeConnection(403, 'ACCESS_REFUSED');
    });
    const good = await start();
    const transport = await bed.connected(url(refusing, good), inOrder);
    await send(transport, toTopic(where), 'x');
    expect(good.received('basic.publish')).to.have.length(1);
  });

  it('obeys retry while it connects, for calls and casts, on a first send and on a later one (AMQP-19)', async () => {
    const port = await freePort();
    const away = `rabbit://a:b@127.0.0.1:${String(port)}/`;
    for (const [retry, atLeastMs, atMostMs] of [
      [0, 0, 450],
      [1, 400, 2_000],
    ] as const) {
      const client = bed.client(bed.transport(away), where, { retry, timeoutMs: 60_000 });
      const begun = performance.now();
      const outcomes = await Promise.all([
        rejectionOf(client.cast({}, 'x')),
        rejectionOf(client.call({}, 'x')),
      ]);
      expect(performance.now() - begun, `retry ${String(retry)}`).to.be.within(atLeastMs, atMostMs);
      for (const { code } of outcomes) expect(code).to.equal('ERR_DELIVERY');
    }
    const peer = await start();
    const transport = await bed.connected(peer.url());
    peer.script('header', ({ connection }) => {
      connection.cut();
    });
    for (const connection of peer.connections) connection.cut();
    await eventually('the loss', WAIT_MS, () => transport.status().connection !== 'connected');
    const later = await rejectionOf(
      bed.client(transport, where, { retry: 0, timeoutMs: 60_000 }).cast({}, 'x'),
    );
    expect([later.code, later instanceof MessagingError]).to.deep.equal(['ERR_DELIVERY', true]);
  });

  it('leaves no attempt behind when it is closed while it connects (AMQP-41)', async () => {
    const mute = await start();
    mute.script('header', () => {});
    const transport = bed.transport(mute.url(), { connect_timeout: 60 });
    const connecting = rejectionOf(transport.connect());
    await eventually('two attempts', WAIT_MS, () => mute.received('header').length === 2);
    await transport.close();
    expect((await connecting).code).to.equal('ERR_TRANSPORT_CLOSED');
    await Promise.all(mute.connections.map(({ closed }) => closed));
  });

  it('a hook or a logger that throws changes nothing (AMQP-06)', async () => {
    const peer = await start();
    const fail = (): never => {
      throw new Error('a hook');
    };
    let reported = 0;
    const logger = {
      debug: fail,
      info: fail,
      warn: fail,
      error: (): never => {
        reported += 1;
        return fail();
      },
    };
    const transport = bed.transport(peer.url(), {}, { logger });
    for (const event of ['connection', 'listener', 'error'] as const) transport.events.on(event, fail);
    await transport.listen(where, { credit: 1 }, () => {});
    for (const connection of peer.connections) connection.closeConnection(541, 'INTERNAL_ERROR');
    await eventually(
      'the subscription',
      WAIT_MS,
      () => isConnected(transport)() && transport.status().listeners[0]?.subscribed === true,
    );
    expect(reported).to.be.within(1, 20);
    await send(transport, toTopic(where), 'x');
  });
});
