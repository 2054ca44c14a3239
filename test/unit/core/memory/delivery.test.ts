import { Deadline, MessageUndeliverableError, type Transport } from '@ebbgate/core';
import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { rejectionOf, turn } from '../../../support/deferred.js';
import { onFakeClock } from '../../../support/fake-clock.js';
import { FANOUT, listenTo, MemoryBed, send, SERVER, TOPIC } from '../support/memory-bed.js';
import { SOURCE, wireMessage } from '../support/scripted-driver.js';

describe('the in-memory broker', () => {
  let bed: MemoryBed;
  let transport: Transport;

  beforeEach(() => {
    bed = new MemoryBed();
    transport = bed.transport();
  });

  afterEach(() => transport.close());

  it('hands out in the order of sending, as far as the credit goes, and more when something is settled', async () => {
    const { deliveries, ids } = await listenTo(transport, 2);
    for (const id of ['a', 'b', 'c', 'd', 'e']) await send(transport, TOPIC, id);
    await turn();
    expect(ids()).to.deep.equal(['a', 'b']);
    deliveries[0]?.reject();
    await turn();
    expect(ids()).to.deep.equal(['a', 'b', 'c']);
    expect(deliveries[1]?.accept()).to.equal(true);
    void deliveries[2]?.accept();
    await turn();
    expect(ids()).to.deep.equal(['a', 'b', 'c', 'd', 'e']);
  });

  it('takes each settling once: what comes after does nothing', async () => {
    const { deliveries, ids, listener } = await listenTo(transport);
    await send(transport, TOPIC, 'a');
    await turn();
    const [delivery] = deliveries;
    expect(delivery?.accept()).to.equal(true);
    expect(delivery?.accept()).to.equal(false);
    delivery?.release();
    delivery?.reject();
    await listener.close();
    const next = await listenTo(transport);
    await turn();
    expect([...ids(), ...next.ids()]).to.deep.equal(['a']);
  });

  for (const order of [
    [0, 1, 2, 3],
    [3, 2, 1, 0],
    [1, 3, 0, 2],
  ]) {
    it(`puts what is released back in its old place, marked, whatever the order of releasing (${order.join()})`, async () => {
      const first = await listenTo(transport, 4);
      for (const id of ['a', 'b', 'c', 'd', 'e', 'f']) await send(transport, TOPIC, id);
      await turn();
      await first.listener.stop();
      for (const index of order) first.deliveries[index]?.release();
      const second = await listenTo(transport, 10);
      await turn();
      expect(second.ids()).to.deep.equal(['a', 'b', 'c', 'd', 'e', 'f']);
      expect(second.deliveries.map(({ redelivered }) => redelivered)).to.deep.equal([
        true,
        true,
        true,
        true,
        false,
        false,
      ]);
    });
  }

  it('gives back what a lost connection had not settled, in its order, and lets the old delivery do nothing (AMQP-11)', async () => {
    const other = bed.transport();
    const { deliveries } = await listenTo(transport, 3);
    await other.connect();
    for (const id of ['a', 'b', 'c', 'd']) await send(other, TOPIC, id);
    await turn();
    void deliveries[1]?.accept();
    bed.faults.cut();
    expect(deliveries[0]?.accept()).to.equal(false);
    deliveries[2]?.release();
    bed.faults.restore();
    await turn();
    expect(deliveries.slice(3).map(({ message, redelivered }) => [message.id, redelivered])).to.deep.equal([
      ['a', true],
      ['c', true],
      ['d', false],
    ]);
    await other.close();
  });

  it('sends in turn to the servers of a topic, to one server alone, or to all', async () => {
    const one = await listenTo(transport);
    const two = await listenTo(transport, 10, { ...SOURCE, server: 'host-2' });
    for (const id of ['t1', 't2', 't3', 't4']) await send(transport, TOPIC, id);
    await send(transport, { kind: 'server', ...SOURCE, server: 'host-2' }, 's2');
    await send(transport, FANOUT, 'all');
    await turn();
    expect(one.ids()).to.have.members(['t1', 't3', 'all']);
    expect(two.ids()).to.have.members(['t2', 't4', 's2', 'all']);
    expect(one.deliveries.at(-1)?.message).to.not.equal(two.deliveries.at(-1)?.message);
  });

  it('keeps names apart that look alike when joined', async () => {
    const { ids } = await listenTo(transport, 10, { exchange: 'x', topic: 'a', server: 'b.c' });
    await listenTo(transport, 10, { exchange: 'x', topic: 'a.b', server: 'c' });
    await send(transport, { kind: 'server', exchange: 'x', topic: 'a.b', server: 'c' }, 'other');
    await send(transport, { kind: 'server', exchange: 'x', topic: 'a', server: 'b.c' }, 'mine');
    await send(transport, { kind: 'topic', exchange: 'x', topic: 'a.b' }, 'other too');
    await turn();
    expect(ids()).to.deep.equal(['mine']);
  });

  it('tells at once what nobody has ever listened on; a fanout without listeners is none of that (AMQP-33)', async () => {
    await transport.connect();
    for (const destination of [TOPIC, SERVER]) {
      expect(() => send(transport, destination)).to.throw(MessageUndeliverableError, '"compute"');
      await send(transport, destination, 'lost', false);
    }
    await send(transport, FANOUT);
    expect(() => send(transport, { kind: 'reply', address: 'nobody' })).to.throw(MessageUndeliverableError);
    const { listener } = await listenTo(transport);
    await listener.close();
    await send(transport, SERVER, 'kept'); // declared once is there for good
    const { ids } = await listenTo(transport);
    await turn();
    expect(ids()).to.deep.equal(['kept']);
  });

  it('hands out nothing after its deadline', async () => {
    await onFakeClock(async (clock) => {
      const { listener } = await listenTo(transport);
      await listener.close();
      await send(transport, TOPIC, wireMessage('short', Deadline.after(100)));
      await send(transport, TOPIC, wireMessage('long', Deadline.after(1000)));
      await clock.tickAsync(500);
      const { ids } = await listenTo(transport);
      await turn();
      expect(ids()).to.deep.equal(['long']);
    });
  });

  it('forgets a fanout queue with its listener', async () => {
    const { listener } = await listenTo(transport);
    await listener.stop();
    await send(transport, FANOUT, 'waits');
    await listener.close();
    const { ids } = await listenTo(transport);
    await send(transport, FANOUT, 'new');
    await turn();
    expect(ids()).to.deep.equal(['new']);
  });

  it('lets timers have their turn under messages without end', async () => {
    let handled = 0;
    let over = false;
    await transport.listen(SOURCE, { credit: 10 }, (delivery) => {
      void delivery.accept();
      handled += 1;
      if (!over) void send(transport);
    });
    await send(transport);
    await new Promise((resolve) => setTimeout(resolve, 5));
    over = true;
    expect(handled).to.be.greaterThan(10);
  });

  it('brings replies to their address, keeps them while it is cut off, and knows it no more once closed (AMQP-35)', async () => {
    const other = bed.transport();
    const heard: (string | undefined)[] = [];
    const box = await transport.openReplyQueue(({ id }) => heard.push(id));
    await send(other, { kind: 'reply', address: box.address }, 'a');
    await turn();
    bed.faults.cut();
    const late = send(other, { kind: 'reply', address: box.address }, 'b');
    bed.faults.restore();
    await late;
    await turn();
    expect(heard).to.deep.equal(['a', 'b']);
    await box.close();
    const lost = Promise.resolve().then(() => send(other, { kind: 'reply', address: box.address }));
    expect(await rejectionOf(lost)).to.be.instanceOf(MessageUndeliverableError);
    await other.close();
  });

  it('closes the reply address with its transport (CORE-07)', async () => {
    const other = bed.transport();
    await other.connect();
    const { address } = await transport.openReplyQueue(() => {});
    await transport.close();
    expect(() => send(other, { kind: 'reply', address })).to.throw(MessageUndeliverableError);
    await other.close();
  });

  it('is not resumed into listening by a resume() after stop()', async () => {
    const { ids, listener } = await listenTo(transport);
    await listener.pause();
    await listener.stop();
    await listener.resume();
    await send(transport);
    await turn();
    expect(ids()).to.deep.equal([]);
    expect(transport.status().listeners[0]?.subscribed).to.equal(false);
  });
});
