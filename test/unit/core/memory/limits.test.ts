import { BackpressureError, bytesBody, Deadline } from '@ebbgate/core';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { turn } from '../../../support/deferred.js';
import { onFakeClock } from '../../../support/fake-clock.js';
import { FANOUT, listenTo, MemoryBed, send, SERVER, TOPIC } from '../support/memory-bed.js';
import { SOURCE, wireMessage } from '../support/scripted-driver.js';

describe('the limits of an in-memory queue', () => {
  it('refuse one message too many, and name themselves', async () => {
    const transport = new MemoryBed('?max_queue_length=2').transport();
    const { listener } = await listenTo(transport);
    await listener.stop();
    await send(transport);
    await send(transport);
    expect(() => send(transport)).to.throw(BackpressureError, 'max_queue_length');
    await send(transport, SERVER); // another queue
    await transport.close();
  });

  it('refuse bytes beyond the bound, once the queue is no longer short', async () => {
    const transport = new MemoryBed('?max_queue_bytes=1000').transport();
    const { listener } = await listenTo(transport);
    await listener.stop();
    const large = () => ({ ...wireMessage(), body: bytesBody(new Uint8Array(400)) });
    let stored = 0;
    const fill = (): void => {
      for (; stored < 1000; stored += 1) void send(transport, TOPIC, large());
    };
    expect(fill).to.throw(BackpressureError, 'max_queue_bytes');
    expect(stored).to.be.within(2, 40);
    await transport.close();
  });

  it('make room by dropping what nobody may run any more', async () => {
    await onFakeClock(async (clock) => {
      const transport = new MemoryBed('?max_queue_length=2').transport();
      const { listener } = await listenTo(transport);
      await listener.stop();
      await send(transport, TOPIC, wireMessage('old', Deadline.after(100)));
      await send(transport, TOPIC, 'kept');
      await clock.tickAsync(200);
      await send(transport, TOPIC, 'new');
      expect(() => send(transport)).to.throw(BackpressureError);
      const { ids } = await listenTo(transport);
      await turn();
      expect(ids()).to.deep.equal(['kept', 'new']);
      await transport.close();
    });
  });

  it('refuse a fanout as a whole when one server has no room', async () => {
    const transport = new MemoryBed('?max_queue_length=1').transport();
    const quick = await listenTo(transport, 10, { ...SOURCE, server: 'host-2' });
    const slow = await listenTo(transport, 1);
    for (const id of ['a', 'b']) {
      await send(transport, FANOUT, id);
      await turn();
    }
    expect([slow.ids(), quick.ids()]).to.deep.equal([['a'], ['a', 'b']]);
    expect(() => send(transport, FANOUT, 'c')).to.throw(BackpressureError);
    await turn();
    expect(quick.ids()).to.deep.equal(['a', 'b']);
    await transport.close();
  });
});
