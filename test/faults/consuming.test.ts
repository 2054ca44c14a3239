import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { deferred, rejectionOf } from '../support/deferred.js';
import type { AmqpEvent } from '../support/rigs/amqp-peer.js';
import { eventually } from '../support/rigs/deadline.js';
import { source } from './bed.js';
import { PeerBed } from './peer-bed.js';

const WAIT_MS = 5_000;

describe('consuming, with a broker that does what a script says', function () {
  this.timeout(15_000);
  let bed: PeerBed;

  beforeEach(async () => {
    bed = await PeerBed.start();
  });

  afterEach(() => bed.end());

  it('subscribes again when the broker cancels it, with all its declarations, and tells both (AMQP-07, AMQP-08)', async () => {
    await bed.listen(bed.own, bed.where);
    const told: boolean[] = [];
    bed.own.events.on('listener', ({ subscribed }) => void told.push(subscribed));
    const first = bed.consumer;
    first.connection.send(first.channel, 'basic.cancel', { consumerTag: bed.tag, nowait: true });
    await eventually('the loss', WAIT_MS, () => told.length > 0);
    await eventually('the subscription', WAIT_MS, bed.isSubscribed);
    expect(told).to.deep.equal([false, true]);
    for (const [name, count] of [
      ['queue.declare', 6],
      ['queue.bind', 6],
      ['basic.consume', 6],
    ] as const)
      expect(bed.peer.received(name), name).to.have.length(count);
    expect(bed.peer.connections).to.have.length(2);
  });

  it('leaves a subscription that it was told to stop cancelled (AMQP-07, AMQP-38)', async () => {
    const { listener } = await bed.listen(bed.own, bed.where);
    const first = bed.consumer;
    bed.peer.scriptOnce('basic.cancel', (event) => {
      first.connection.send(first.channel, 'basic.cancel', { consumerTag: bed.tag, nowait: true });
      event.connection.answer(event);
    });
    await listener.stop();
    await listener.close();
    expect(bed.peer.received('basic.consume')).to.have.length(3);
  });

  it('does not call itself subscribed before the broker has confirmed it, nor start() done (AMQP-08, AMQP-23)', async () => {
    const last = deferred<AmqpEvent>();
    bed.peer.script('basic.consume', (event) => {
      if (String(event.args['queue']).includes('fanout')) last.resolve(event);
      else event.connection.answer(event);
    });
    let started = false;
    const listening = bed.listen(bed.own, bed.where).then(() => (started = true));
    const event = await last.promise;
    expect([started, bed.isSubscribed()]).to.deep.equal([false, false]);
    event.connection.answer(event);
    await listening;
    expect(bed.isSubscribed()).to.equal(true);
    for (const connection of bed.peer.connections) connection.cut();
    await eventually('the loss', WAIT_MS, () => !bed.isSubscribed());
    await eventually(
      'a second fanout consumer',
      WAIT_MS,
      () => bed.peer.received('basic.consume').length === 6,
    );
    await eventually('the connections', WAIT_MS, () => bed.own.status().connection === 'connected');
    expect(bed.isSubscribed()).to.equal(false);
    const again = bed.peer.received('basic.consume').at(-1);
    again?.connection.answer(again);
    await eventually('the subscription', WAIT_MS, bed.isSubscribed);
  });

  it('after a pause is not subscribed before the broker has confirmed that again (AMQP-08)', async () => {
    const { listener } = await bed.listen(bed.own, bed.where);
    await listener.pause();
    const last = deferred<AmqpEvent>();
    bed.peer.script('basic.consume', (event) => {
      if (String(event.args['queue']).includes('fanout')) last.resolve(event);
      else event.connection.answer(event);
    });
    const resuming = listener.resume();
    const event = await last.promise;
    expect(bed.isSubscribed()).to.equal(false);
    event.connection.answer(event);
    await resuming;
    expect(bed.isSubscribed()).to.equal(true);
  });

  it('is disconnected from the very moment of the loss, and what comes then waits or fails as documented (AMQP-47)', async () => {
    await bed.listen(bed.own, bed.where);
    const seen: unknown[] = [];
    bed.own.events.on('connection', ({ state }) => {
      const { connection, listeners } = bed.own.status();
      if (state === 'disconnected') seen.push(connection, listeners[0]?.subscribed);
    });
    bed.peer.script('header', () => {});
    const consuming = bed.consumer.connection;
    consuming.cut();
    await eventually('the loss', WAIT_MS, () => seen.length > 0);
    expect(seen.slice(0, 2)).to.deep.equal(['disconnected', false]);
    const waiting = rejectionOf(bed.listen(bed.own, source()));
    await bed.own.close();
    expect((await waiting).code).to.equal('ERR_TRANSPORT_CLOSED');
  });

  it('opens a closed channel again for each reason, tells it, and waits longer each time (AMQP-09, AMQP-22)', async () => {
    await bed.listen(bed.own, bed.where);
    const causes: string[] = [];
    bed.own.events.on('listener', ({ cause }) => {
      if (cause) causes.push(cause.message);
    });
    const reasons = [
      [406, 'PRECONDITION_FAILED - delivery acknowledgement timed out'],
      [404, 'NOT_FOUND'],
      [541, 'INTERNAL_ERROR'],
    ] as const;
    const gaps: number[] = [];
    for (const [code, text] of reasons) {
      const { connection, channel } = bed.consumer;
      const begun = performance.now();
      connection.closeChannel(channel, code, text);
      await eventually('the loss', WAIT_MS, () => !bed.isSubscribed());
      await eventually('the subscription', WAIT_MS, bed.isSubscribed);
      gaps.push(performance.now() - begun);
    }
    for (const [index, [code]] of reasons.entries()) expect(causes[index]).to.contain(String(code));
    expect(gaps[2]).to.be.above(195); // 200 to 400 ms, after 50 to 100 the first time
    // Nothing that is not ours alone, and nothing at all before an orderly end.
    for (const name of ['queue.delete', 'exchange.delete', 'queue.purge'])
      expect(bed.peer.received(name)).to.have.length(0);
    expect(bed.peer.connections).to.have.length(2);
  });

  it('settles a delivery on the channel that it came from, or not at all (AMQP-11)', async () => {
    const heard = await bed.listen(bed.own, bed.where, false);
    bed.deliver(1);
    await eventually('the delivery', WAIT_MS, () => heard.deliveries.length === 1);
    const { connection, channel } = bed.consumer;
    connection.closeChannel(channel, 541, 'INTERNAL_ERROR');
    await eventually('the loss', WAIT_MS, () => !bed.isSubscribed());
    await eventually('the subscription', WAIT_MS, bed.isSubscribed);
    bed.deliver(1);
    await eventually('the next delivery', WAIT_MS, () => heard.deliveries.length === 2);
    expect(await heard.deliveries[0]?.accept()).to.equal(false);
    heard.deliveries[0]?.release();
    expect(await heard.deliveries[1]?.accept()).to.equal(true);
    await heard.listener.close();
    expect(bed.settled).to.deep.equal(['basic.ack 1']);
  });

  it('consumes and acknowledges while publishing is stuck, on two connections (AMQP-32)', async () => {
    await bed.end();
    bed = await PeerBed.start({ heartbeat: 2 });
    bed.peer.script('basic.publish', ({ connection }) => {
      connection.pauseReading();
    });
    const heard = await bed.listen(bed.own, bed.where);
    const stuck = bed.client(bed.own, bed.where, { timeoutMs: 1_500 }).cast({}, 'x');
    const publishing = (await bed.peer.next('basic.publish')).connection;
    expect(bed.consumer.connection).not.to.equal(publishing);
    for (let tag = 1; tag <= 20; tag += 1) bed.deliver(tag);
    await eventually(
      'the acknowledgements',
      1_000,
      () => bed.peer.received('basic.ack').at(-1)?.args['deliveryTag'] === 20,
    );
    expect(heard.texts).to.have.length(20);
    await rejectionOf(stuck);
    const beats = (): number =>
      bed.peer.received('heartbeat').filter(({ connection }) => connection === bed.consumer.connection)
        .length;
    await eventually('heartbeats on the other', WAIT_MS, () => beats() > 2);
    publishing.resumeReading();
  });
});
