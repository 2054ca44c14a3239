import { Deadline, MessageServer, type Transport } from '@ebbgate/core';
import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { rejectionOf, turn } from '../../../support/deferred.js';
import { onFakeClock } from '../../../support/fake-clock.js';
import { GatedHandler } from '../support/gated-handler.js';
import { listenTo, MemoryBed, send, TOPIC } from '../support/memory-bed.js';
import { SOURCE, standOf, wireMessage } from '../support/scripted-driver.js';

describe('faults of the in-memory broker', () => {
  let bed: MemoryBed;
  let transport: Transport;

  beforeEach(() => {
    bed = new MemoryBed();
    transport = bed.transport();
  });

  afterEach(() => transport.close());

  it('are told: the connection, and for each listener whether it hears anything (AMQP-08)', async () => {
    const told: string[] = [];
    transport.events.on('connection', ({ state }) => told.push(state));
    transport.events.on('listener', ({ subscribed }) => told.push(subscribed ? 'hears' : 'deaf'));
    await listenTo(transport);
    bed.faults.cut();
    expect(transport.status()).to.deep.equal({
      connection: 'disconnected',
      listeners: [{ source: SOURCE, subscribed: false }],
    });
    bed.faults.restore();
    expect(transport.status().listeners[0]?.subscribed).to.equal(true);
    bed.faults.stall();
    expect(transport.status().connection).to.equal('blocked');
    bed.faults.resume();
    bed.faults.cancelConsumers();
    expect(told).to.deep.equal([
      'connected',
      'hears',
      'disconnected',
      'deaf',
      'connected',
      'hears',
      'blocked',
      'connected',
      'deaf',
      'hears',
    ]);
  });

  for (const [fault, repair] of [
    ['cut', 'restore'],
    ['stall', 'resume'],
  ] as const) {
    it(`make a send wait (${fault}), which goes through when they are over`, async () => {
      const { ids } = await listenTo(transport);
      bed.faults[fault]();
      const stand = standOf(Promise.resolve(send(transport, TOPIC, 'a')));
      await turn();
      expect(stand.is).to.equal('pending');
      bed.faults[repair]();
      await turn();
      expect([stand.is, ...ids()]).to.deep.equal(['resolved', 'a']);
    });

    it(`make a send fail at its deadline (${fault}), as one that was not sent, and leave nothing of it`, async () => {
      await onFakeClock(async (clock) => {
        const { ids } = await listenTo(transport);
        bed.faults[fault]();
        const options = { deadline: Deadline.after(100), mandatory: true, retry: undefined };
        const failed = rejectionOf(Promise.resolve(transport.publish(TOPIC, wireMessage(), options)));
        await clock.tickAsync(120);
        expect(await failed).to.deep.include({ code: 'ERR_DELIVERY', outcome: 'not-sent' });
        bed.faults[repair]();
        await turn();
        expect([transport.pendingSends, ...ids()]).to.deep.equal([0]);
      });
    });

    it(`make start() wait (${fault}) until messages can arrive, and stop() ends it once they are over (AMQP-23)`, async () => {
      await transport.connect();
      bed.faults[fault]();
      const server = new MessageServer(transport, SOURCE, new GatedHandler());
      const start = standOf(server.start());
      await turn();
      expect(start.is).to.equal('pending');
      bed.faults[repair]();
      await turn();
      expect([start.is, server.state]).to.deep.equal(['resolved', 'listening']);
      await server.stop();
      await server.wait();
    });
  }

  it('fail a send at once that wants no retry while cut off', async () => {
    await transport.connect();
    bed.faults.cut();
    const options = { deadline: Deadline.after(10_000), mandatory: true, retry: 0 };
    const sent = Promise.resolve().then(() => transport.publish(TOPIC, wireMessage(), options));
    expect(await rejectionOf(sent)).to.have.property('code', 'ERR_DELIVERY');
  });

  it('do not run a message twice that was accepted, nor lose one that was not (CORE-03)', async () => {
    const handler = new GatedHandler();
    const server = new MessageServer(transport, SOURCE, handler, { slots: 1 });
    await server.start();
    for (const id of ['a', 'b', 'c']) await send(transport, TOPIC, id);
    await turn();
    bed.faults.cut();
    bed.faults.restore();
    await turn();
    for (let left = 3; left > 0; left -= 1) {
      handler.end();
      await turn();
    }
    expect(handler.begun).to.deep.equal(['a', 'b', 'c']);
    expect(server.counts.run).to.equal(3);
  });

  it('let stop() and wait() end while cut off or stalled (AMQP-41)', async () => {
    for (const fault of ['cut', 'stall'] as const) {
      const other = new MemoryBed();
      const cutOff = other.transport();
      const server = new MessageServer(cutOff, SOURCE, new GatedHandler());
      await server.start();
      other.faults[fault]();
      await server.stop();
      expect(await server.wait()).to.deep.equal({ unconfirmed: [] });
      await cutOff.close();
    }
  });
});
