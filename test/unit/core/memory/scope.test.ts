import { MessageServer } from '@ebbgate/core';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { rejectionOf, turn } from '../../../support/deferred.js';
import { GatedHandler } from '../support/gated-handler.js';
import { FANOUT, listenTo, MemoryBed, send, SERVER, TOPIC } from '../support/memory-bed.js';
import { SOURCE } from '../support/scripted-driver.js';

describe('the scope of an in-memory broker', () => {
  it('is the URL: transports with the same one meet, those with another do not (CORE-07)', async () => {
    const bed = new MemoryBed();
    const [server, client, stranger] = [bed.transport(), bed.transport(), new MemoryBed().transport()];
    const { ids } = await listenTo(server);
    await client.connect();
    await stranger.connect();
    await send(client, TOPIC, 'a');
    expect(() => send(stranger, TOPIC, 'b'))
      .to.throw()
      .with.property('code', 'ERR_UNDELIVERABLE');
    await turn();
    expect(ids()).to.deep.equal(['a']);
    await Promise.all([server, client, stranger].map((each) => each.close()));
  });

  it('ends with its last transport, and with it every queue and message (CORE-07)', async () => {
    const bed = new MemoryBed();
    const [one, two] = [bed.transport(), bed.transport()];
    const { listener } = await listenTo(one);
    await two.connect();
    await listener.stop();
    await send(two, TOPIC, 'kept');
    await one.close();
    await send(two, SERVER, 'kept too'); // the broker is there as long as anybody is
    await two.close();
    const three = bed.transport();
    await three.connect();
    for (const destination of [TOPIC, SERVER]) {
      expect(() => send(three, destination))
        .to.throw()
        .with.property('code', 'ERR_UNDELIVERABLE');
    }
    await send(three, FANOUT);
    const { ids } = await listenTo(three);
    await turn();
    expect(ids()).to.deep.equal([]);
    await three.close();
  });

  it('settles what waits on it when its transport is closed while the broker is cut off or stalled (CORE-07)', async () => {
    for (const fault of ['cut', 'stall'] as const) {
      const bed = new MemoryBed();
      const transport = bed.transport();
      await transport.connect();
      bed.faults[fault]();
      const server = new MessageServer(transport, SOURCE, new GatedHandler());
      const waiting = [
        rejectionOf(Promise.resolve().then(() => send(transport))),
        rejectionOf(server.start()),
        rejectionOf(transport.openReplyQueue(() => {})),
      ];
      await turn();
      const ends = Promise.all([server.stop(), server.wait()]);
      await transport.close();
      const codes = (await Promise.all(waiting)).map(({ code }) => code);
      expect(codes).to.deep.equal(['ERR_TRANSPORT_CLOSED', 'ERR_SERVER_LISTEN', 'ERR_TRANSPORT_CLOSED']);
      await ends;
    }
  });

  it('has deliveries do nothing once their transport is closed', async () => {
    const bed = new MemoryBed();
    const [one, two] = [bed.transport(), bed.transport()];
    const { deliveries } = await listenTo(one);
    await two.connect();
    await send(two, TOPIC, 'a');
    await turn();
    await one.close();
    expect(deliveries[0]?.accept()).to.equal(false);
    deliveries[0]?.release();
    const { ids } = await listenTo(two);
    await turn();
    expect(ids()).to.deep.equal(['a']);
    await two.close();
  });
});
