import { BackpressureError, bytesBody, type Transport } from '@ebbgate/core';
import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { type AmqpEvent, AmqpPeer } from '../support/rigs/amqp-peer.js';
import { eventually } from '../support/rigs/deadline.js';
import { Bed, failure, send, source, toFanout, toTopic } from './bed.js';

const FRAMES_IN_AMQPLIB = 1024;
const MIB = 1024 ** 2;

describe('sending, to a broker that does what a script says', function () {
  this.timeout(15_000);

  let peer: AmqpPeer;
  let bed: Bed;
  let transport: Transport;
  const where = source();

  beforeEach(async () => {
    peer = await AmqpPeer.start();
    bed = new Bed();
    transport = await bed.connected(peer.url(), {}, { maxPendingSends: 5, maxPendingBytes: 1000 });
  });

  afterEach(async () => {
    await bed.end();
    await peer.close();
  });

  /** Leaves every publish without an answer. */
  const silence = (): void => void peer.script('basic.publish', () => {});

  it('lets no more messages wait than the limit, then fails at once with an error of its own (AMQP-01)', async () => {
    silence();
    const waiting = Array.from({ length: 5 }, () => send(transport, toTopic(where), 'x', { timeoutMs: 300 }));
    const error = await failure(send(transport, toTopic(where), 'one too many'));
    expect(error).to.be.instanceOf(BackpressureError);
    expect(error.message).to.contain('maxPendingSends');
    expect(transport.pendingSends).to.equal(5);
    await Promise.allSettled(waiting);
    expect(transport.pendingSends).to.equal(0);
  });

  it('lets no more bytes wait than the limit (AMQP-01)', async () => {
    silence();
    const waiting = send(transport, toTopic(where), 'x'.repeat(900), { timeoutMs: 200 });
    const error = await failure(send(transport, toTopic(where), 'x'.repeat(200)));
    expect([error.code, error.message.includes('maxPendingBytes')]).to.deep.equal(['ERR_BACKPRESSURE', true]);
    await failure(waiting);
  });

  it('fails fast without a broker when nothing may wait (AMQP-01)', async () => {
    const impatient = bed.transport(peer.url(), {}, { maxPendingSends: 0 });
    expect(await failure(send(impatient, toTopic(where), 'x'))).to.be.instanceOf(BackpressureError);
    await impatient.connect();
    await send(impatient, toTopic(where), 'x');
    expect(peer.received('basic.publish')).to.have.length(1);
    peer.script('header', () => {});
    for (const connection of peer.connections) connection.cut();
    await eventually('the loss', 2_000, () => impatient.status().connection !== 'connected');
    expect(await failure(send(impatient, toTopic(where), 'x'))).to.be.instanceOf(BackpressureError);
  });

  it('keeps nothing of messages whose deadline has passed, however long no confirm comes (AMQP-01)', async () => {
    silence();
    const roomy = await bed.connected(peer.url());
    const body = bytesBody(Buffer.alloc(MIB));
    const message = { id: 'x', body, deadline: undefined, expirationMs: undefined };
    const isGivenUp = (): boolean => peer.received('confirm.select').length > 1;
    // At most 8 MiB a round are written, less on a busy machine.
    for (let round = 0; round < 40 && !isGivenUp(); round += 1) {
      const sends = Array.from({ length: 8 }, () =>
        failure(send(roomy, toTopic(where), message, { timeoutMs: 60 })),
      );
      await Promise.all(sends);
    }
    // A channel with more than 32 MiB unconfirmed is given up, and another takes its place.
    expect(isGivenUp()).to.equal(true);
    expect(bed.log.ordinaryText()).to.match(/left \d+ messages unconfirmed/);
    peer.script('basic.publish', (event) => {
      event.connection.answer(event);
    });
    await send(roomy, toTopic(where), 'after all', { timeoutMs: 10_000 });
  });

  it('hands amqplib no more than its buffer takes while the socket is stuck (AMQP-01)', async () => {
    const roomy = await bed.connected(peer.url());
    await send(roomy, toTopic(where), 'first');
    const { connection } = peer.received('basic.publish')[0] as AmqpEvent; // it was confirmed
    connection.pauseReading();
    const body = bytesBody(Buffer.alloc(16 * 1024));
    const message = { id: 'x', body, deadline: undefined, expirationMs: undefined };
    const outcomes = new Map<string, number>();
    for (let round = 0; round < 20; round += 1) {
      const sends = Array.from({ length: 300 }, () =>
        failure(send(roomy, toTopic(where), message, { timeoutMs: 30 })),
      );
      for (const { outcome } of await Promise.all(sends))
        outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    }
    connection.resumeReading();
    expect(outcomes.get('unknown')).to.be.below(3 * FRAMES_IN_AMQPLIB);
    expect(outcomes.get('not-sent')).to.be.above(20 * 300 - 3 * FRAMES_IN_AMQPLIB - 1);
  });

  it('rejects what the broker refuses by basic.nack, as not sent (AMQP-02, AMQP-03)', async () => {
    peer.script('basic.publish', ({ connection, channel, confirmTag }) => {
      connection.send(channel, 'basic.nack', { deliveryTag: confirmTag ?? 0 });
    });
    expect((await failure(send(transport, toTopic(where), 'x'))).outcome).to.equal('not-sent');
    const cast = await failure(bed.client(transport, where).cast({}, 'method'));
    expect([cast.code, cast.outcome]).to.deep.equal(['ERR_DELIVERY', 'not-sent']);
  });

  it('rejects as unknown what was under way when channel or connection went (AMQP-02)', async () => {
    for (const end of ['channel', 'connection'] as const) {
      peer.scriptOnce('basic.publish', ({ connection, channel }) => {
        if (end === 'channel') connection.closeChannel(channel, 406, 'PRECONDITION_FAILED - no');
        else connection.cut();
      });
      const error = await failure(send(transport, toTopic(where), end));
      expect([error.code, error.outcome]).to.deep.equal(['ERR_DELIVERY', 'unknown']);
      await send(transport, toTopic(where), 'the next one');
    }
  });

  it('tells at the deadline "outcome unknown" of what was written and "not sent" of what was not (AMQP-02)', async () => {
    silence();
    const written = await failure(send(transport, toTopic(where), 'x', { timeoutMs: 80 }));
    expect([written.code, written.outcome]).to.deep.equal(['ERR_DELIVERY', 'unknown']);
    peer.script('header', () => {});
    for (const connection of peer.connections) connection.cut();
    await eventually('the loss', 2_000, () => transport.status().connection !== 'connected');
    const kept = await failure(send(transport, toTopic(where), 'x', { timeoutMs: 80 }));
    expect([kept.code, kept.outcome]).to.deep.equal(['ERR_DELIVERY', 'not-sent']);
  });

  it('resolves a cast when the broker has confirmed it, and not before (AMQP-03)', async () => {
    silence();
    let settled = false;
    const cast = bed.client(transport, where).cast({}, 'method');
    void cast.finally(() => (settled = true));
    const event = await peer.next('basic.publish');
    await send(transport, toTopic(where), 'x', { timeoutMs: 30 }).catch(() => undefined);
    expect(settled).to.equal(false);
    event.connection.answer(event);
    await cast;
  });

  it('keeps a 404 to the sends of its channel: others there are told, those elsewhere go on (AMQP-04)', async () => {
    silence();
    const heard = await bed.listen(transport, where);
    const topic = send(transport, toTopic(where), 'on the other channel');
    const pending = await peer.next('basic.publish');
    peer.scriptOnce('basic.publish', ({ connection, channel, args }) => {
      connection.closeChannel(
        channel,
        404,
        `NOT_FOUND - no exchange '${String(args['exchange'])}' in vhost '/'`,
      );
      peer.script('basic.publish', (event) => {
        event.connection.answer(event);
      });
    });
    await send(transport, toFanout(where), 'again, with the exchange declared anew');
    const declared = peer
      .received('exchange.declare')
      .filter(({ args }) => args['exchange'] === `${where.topic}_fanout`);
    expect(declared.length).to.equal(3); // by the listener, and twice by the sender
    pending.connection.answer(pending);
    await topic;
    expect(transport.status().listeners[0]?.subscribed).to.equal(true);
    expect([heard.texts, peer.connections.length]).to.deep.equal([[], 2]);
  });

  it('gives up a message that ends every channel, and does so slowly (AMQP-04, AMQP-19)', async () => {
    peer.script('basic.publish', ({ connection, channel, args }) => {
      connection.closeChannel(
        channel,
        404,
        `NOT_FOUND - no exchange '${String(args['exchange'])}' in vhost '/'`,
      );
    });
    const error = await failure(send(transport, toTopic(where), 'x'));
    expect([error.code, error.outcome]).to.deep.equal(['ERR_DELIVERY', 'not-sent']);
    expect(peer.received('basic.publish').length).to.be.within(2, 5);
  });

  it('opens a new channel for the sends after one that was closed between them (AMQP-09)', async () => {
    await send(transport, toTopic(where), 'x');
    const [first] = peer.received('basic.publish');
    first?.connection.closeChannel(first.channel, 541, 'INTERNAL_ERROR');
    await peer.next('channel.close-ok');
    await send(transport, toTopic(where), 'y');
    expect(peer.received('confirm.select')).to.have.length(2);
    expect(bed.log.ordinaryText()).to.contain('INTERNAL_ERROR');
  });

  it('names a failure by one of our classes whatever amqplib said, with that as the cause (AMQP-20)', async () => {
    type Answer = (event: AmqpEvent) => void;
    const channel =
      (code: number, text: string): Answer =>
      (event) => {
        event.connection.closeChannel(event.channel, code, text);
      };
    const kinds: readonly (readonly [on: string, answer: Answer, code: string, sign: string])[] = [
      ['exchange.declare', channel(541, 'INTERNAL_ERROR'), 'ERR_DELIVERY', 'INTERNAL_ERROR'],
      ['exchange.declare', channel(403, 'ACCESS_REFUSED'), 'ERR_AUTHENTICATION', 'ACCESS_REFUSED'],
      ['basic.publish', channel(406, 'PRECONDITION_FAILED'), 'ERR_DELIVERY', 'PRECONDITION_FAILED'],
      [
        'basic.publish',
        ({ connection }) => connection.closeConnection(541, 'GOODBYE'),
        'ERR_DELIVERY',
        'GOODBYE',
      ],
      ['basic.publish', ({ connection }) => connection.cut('rst'), 'ERR_DELIVERY', 'ECONNRESET'],
      ['basic.publish', ({ connection }) => connection.sendRaw('nonsense'), 'ERR_DELIVERY', 'exceeds'],
    ];
    for (const [on, answer, code, sign] of kinds) {
      peer.scriptOnce(on, answer);
      const error = await failure(send(transport, toTopic(source()), 'x'));
      expect(error.code, sign).to.equal(code);
      expect(error.message).to.contain(sign);
      expect(error.cause).to.be.instanceOf(Error).with.property('message').that.contains(sign);
      expect(error.cause).not.to.have.property('classId'); // amqplib's own error stays inside
    }
  });

  it('tells at once when the credentials are refused at a reconnect, and does not come back fast (AMQP-18)', async () => {
    const slow = await bed.connected(peer.url(), { rabbit_interval_max: 30 });
    peer.script('connection.start-ok', ({ connection }) => {
      connection.closeConnection(403, 'ACCESS_REFUSED');
    });
    const before = peer.connections.length;
    for (const connection of peer.connections) connection.cut();
    await eventually('the loss', 2_000, () => slow.status().connection !== 'connected');
    const begun = performance.now();
    const outcomes = await Promise.all([
      failure(send(slow, toTopic(where), 'x')),
      failure(bed.client(slow, where).cast({}, 'x')),
    ]);
    outcomes.push(await failure(send(slow, toTopic(where), 'y')));
    for (const { code } of outcomes) expect(code).to.equal('ERR_AUTHENTICATION');
    expect(performance.now() - begun).to.be.below(1_500);
    expect(peer.connections.length - before).to.be.within(1, 8); // those of the other transport, too
  });
});
