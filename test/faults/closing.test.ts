import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { eventually } from '../support/rigs/deadline.js';
import { PeerBed } from './peer-bed.js';

const WAIT_MS = 5_000;
/** Much less than the driver waits for a broker that says nothing. */
const SOON_MS = 1_500;

describe('the RabbitMQ driver, when the connection is lost while it closes', function () {
  this.timeout(20_000);
  let bed: PeerBed;

  beforeEach(async () => {
    bed = await PeerBed.start();
  });

  afterEach(() => bed.end());

  for (const question of ['basic.cancel', 'queue.delete', 'channel.close', 'connection.close']) {
    it(`does not wait for the answer to a ${question} that cannot come any more (AMQP-41, CORE-05)`, async () => {
      await bed.listen(bed.own, bed.where);
      await bed.own.openReplyQueue(() => undefined);
      bed.peer.script(question, ({ connection }) => {
        connection.cut();
      });
      const begun = performance.now();
      await bed.own.close();
      expect(bed.peer.received(question)).to.have.lengthOf.at.least(1);
      expect(performance.now() - begun).to.be.below(SOON_MS);
    });
  }

  it('says that an acknowledgement which was under way when the connection was lost is not confirmed (AMQP-40, AMQP-41)', async () => {
    const { listener, deliveries } = await bed.listen(bed.own, bed.where, false);
    bed.deliver(1);
    await eventually('the message', WAIT_MS, () => deliveries.length > 0);
    await listener.stop();
    void deliveries[0]?.accept();
    await bed.peer.next('basic.ack');
    bed.consumer.connection.cut();
    await eventually('the loss', WAIT_MS, () => bed.own.status().connection !== 'connected');
    const unconfirmed = await listener.close();
    expect(unconfirmed).to.have.length(1);
    expect(unconfirmed[0]).to.contain(bed.where.server);
  });

  it('says nothing of a loss after the broker has confirmed the end of the consumers, and so what was acknowledged before (AMQP-40)', async () => {
    const server = await bed.serve(bed.own, bed.where, { work: () => 'done' });
    bed.deliver(1, '{"method":"work","args":{}}');
    await bed.peer.next('basic.ack');
    await server.stop();
    bed.consumer.connection.cut();
    await eventually('the loss', WAIT_MS, () => bed.own.status().connection !== 'connected');
    expect(await server.wait()).to.deep.equal({ unconfirmed: [] });
  });

  it('says nothing of a loss that a new subscription has made good: what was under way has come again (AMQP-09, AMQP-40)', async () => {
    const server = await bed.serve(bed.own, bed.where, { work: () => 'done' });
    bed.deliver(1, '{"method":"work","args":{}}');
    await bed.peer.next('basic.ack');
    bed.consumer.connection.cut();
    await eventually('the loss', WAIT_MS, () => !bed.isSubscribed());
    await eventually('the return', WAIT_MS, bed.isSubscribed);
    await server.stop();
    expect(await server.wait()).to.deep.equal({ unconfirmed: [] });
  });

  it('says nothing of a loss before anything was settled (AMQP-40)', async () => {
    const { listener } = await bed.listen(bed.own, bed.where, false);
    await listener.stop();
    bed.consumer.connection.cut();
    await eventually('the loss', WAIT_MS, () => bed.own.status().connection !== 'connected');
    expect(await listener.close()).to.deep.equal([]);
  });

  it('still closes the connection in order that has not been lost (AMQP-40, CORE-05)', async () => {
    const { listener } = await bed.listen(bed.own, bed.where);
    bed.deliver(1);
    await bed.peer.next('basic.ack');
    await listener.stop();
    const lost = bed.consumer.connection;
    bed.peer.script('connection.open', () => {}); // it does not come back
    lost.cut();
    await eventually('the loss', WAIT_MS, () => bed.own.status().connection !== 'connected');
    await bed.own.close();
    const publishing = bed.peer.connections.find((each) => each !== lost);
    expect(bed.peer.received('connection.close').map(({ connection }) => connection)).to.include(publishing);
  });
});
