import { type Delivery, MessageServer, type MessageServerOptions, type Transport } from '@ebbgate/core';
import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { turn } from '../../support/deferred.js';
import { GatedHandler } from './support/gated-handler.js';
import { FANOUT, listenTo, MemoryBed, send, SERVER, TOPIC } from './support/memory-bed.js';
import { SOURCE, standOf } from './support/scripted-driver.js';

describe('a server that shuts down, on the in-memory driver', () => {
  let bed: MemoryBed;
  let client: Transport;
  let host: Transport;
  let handler: GatedHandler;

  beforeEach(async () => {
    bed = new MemoryBed();
    client = bed.transport();
    host = bed.transport();
    handler = new GatedHandler();
    await client.connect();
  });

  afterEach(async () => {
    handler.endAll();
    await Promise.all([client.close(), host.close()]);
  });

  function newServer(options: MessageServerOptions = {}): MessageServer<string> {
    return new MessageServer(host, SOURCE, handler, options);
  }

  it('makes its dispatcher, consumer, listener and queues when it is started, nothing before (GS-10)', async () => {
    const server = newServer();
    expect([host.state, server.state, ...host.status().listeners]).to.deep.equal(['idle', 'idle']);
    expect(() => send(client, SERVER))
      .to.throw()
      .with.property('code', 'ERR_UNDELIVERABLE');
    await server.start();
    expect(host.status().listeners).to.deep.equal([{ source: SOURCE, subscribed: true }]);
    await send(client, SERVER, 'a');
    await turn();
    expect([server.state, server.running, ...handler.begun]).to.deep.equal(['listening', 1, 'a']);
  });

  it('binds its queues so that topic, server and fanout reach it (GS-11)', async () => {
    await newServer().start();
    await send(client, TOPIC, 'by topic');
    await send(client, SERVER, 'by server');
    await send(client, FANOUT, 'by fanout');
    await turn();
    expect(handler.begun).to.have.members(['by topic', 'by server', 'by fanout']);
  });

  it('takes no new message once stop() was called (GS-12)', async () => {
    const server = newServer();
    await server.start();
    await send(client, TOPIC, 'before');
    await turn();
    const stop = server.stop();
    await send(client, TOPIC, 'during');
    await stop;
    for (const destination of [TOPIC, SERVER, FANOUT]) await send(client, destination, 'after');
    await turn();
    expect(handler.begun).to.deep.equal(['before']);
    handler.end();
    await server.wait();
    expect(handler.begun).to.deep.equal(['before']);
  });

  it('still hands what was taken to the dispatcher after stop() (GS-13)', async () => {
    const server = newServer({ slots: 1, prefetch: 3 });
    await server.start();
    for (const id of ['a', 'b', 'c', 'd', 'e', 'f']) await send(client, TOPIC, id);
    await turn();
    expect([server.running, server.waiting]).to.deep.equal([1, 3]);
    await server.stop();
    for (const id of ['a', 'b', 'c', 'd']) {
      handler.end(id);
      await turn();
    }
    await server.wait();
    expect(handler.begun).to.deep.equal(['a', 'b', 'c', 'd']);
  });

  it('has no consumer at the broker once stop() has resolved (GS-14)', async () => {
    const server = newServer();
    await server.start();
    await server.stop();
    expect(host.status().listeners).to.deep.equal([{ source: SOURCE, subscribed: false }]);
    const sibling = await listenTo(client);
    await send(client, SERVER, 'a');
    await turn();
    expect(sibling.ids()).to.deep.equal(['a']);
  });

  it('deletes neither queue nor exchange by stop(), and by wait() only its own fanout queue (GS-15, AMQP-37)', async () => {
    const server = newServer();
    await server.start();
    await server.stop();
    for (const destination of [TOPIC, SERVER]) await send(client, destination);
    await server.wait();
    for (const destination of [TOPIC, SERVER]) await send(client, destination);
    await send(client, FANOUT, 'for nobody');
    const again = newServer();
    await again.start();
    await turn();
    expect(again.running).to.equal(4);
    expect(handler.begun).to.not.include('for nobody');
  });

  it('leaves what is sent after stop() in its queue, whole and untaken, for the next start (GS-16)', async () => {
    const server = newServer();
    await server.start();
    await server.stop();
    const sent = Array.from({ length: 100 }, (_, index) => `message ${String(index)}`);
    for (const id of sent) await send(client, SERVER, id);
    await turn();
    expect([server.counts.run, server.counts.released, server.waiting]).to.deep.equal([0, 0, 0]);
    await server.wait();
    const { deliveries, ids } = await listenTo(client, 100);
    await turn();
    expect(ids()).to.deep.equal(sent);
    expect(deliveries.filter(({ redelivered }: Delivery) => redelivered)).to.deep.equal([]);
  });

  it('resolves wait() when the method of every message taken was called and has ended (GS-17)', async () => {
    const server = newServer({ slots: 2 });
    await server.start();
    for (const id of ['a', 'b', 'c']) await send(client, TOPIC, id);
    await turn();
    await server.stop();
    const wait = standOf(server.wait());
    for (const [id, state] of [
      ['a', 'pending'],
      ['b', 'pending'],
      ['c', 'resolved'],
    ] as const) {
      handler.end(id, new Error('an outcome like any other'));
      await turn();
      expect([id, wait.is]).to.deep.equal([id, state]);
    }
    expect(handler.ended).to.deep.equal(['a', 'b', 'c']);
  });

  it('is not needed by a process with clients only, which sends while servers come and go (GS-18)', async () => {
    for (let round = 0; round < 3; round += 1) {
      const server = newServer();
      await server.start();
      await turn();
      await server.stop();
      handler.endAll();
      await server.wait();
      await send(client, SERVER, `round ${String(round)}`);
    }
    expect(handler.ended).to.deep.equal(['round 0', 'round 1']);
    expect(client.status()).to.deep.equal({ connection: 'connected', listeners: [] });
  });

  it('gives what it had fetched to its sibling at once with fetched: release (AMQP-39)', async () => {
    const server = newServer({ slots: 1, fetched: 'release' });
    await server.start();
    for (const id of ['a', 'b', 'c']) await send(client, TOPIC, id);
    await turn();
    const sibling = await listenTo(client, 10, { ...SOURCE, server: 'host-2' });
    await server.stop();
    await turn();
    expect(sibling.ids()).to.deep.equal(['b', 'c']);
    handler.end('a');
    await server.wait();
    expect(handler.begun).to.deep.equal(['a']);
  });

  it('runs nothing after wait() has given up what it had fetched, which is kept for others (AMQP-39)', async () => {
    const server = newServer({ slots: 1 });
    await server.start();
    for (const id of ['a', 'b', 'c']) await send(client, TOPIC, id);
    await turn();
    await server.stop();
    await server.wait({ timeoutMs: 1 }).catch(() => {});
    const sibling = await listenTo(client, 10, { ...SOURCE, server: 'host-2' });
    handler.end('a');
    await server.wait();
    await turn();
    expect([handler.begun.join(), sibling.ids().join()]).to.deep.equal(['a', 'b,c']);
  });
});
