import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { deferred } from '../support/deferred.js';
import { eventually } from '../support/rigs/deadline.js';
import type { Amqp10Peer, Outcome } from '../support/rigs/amqp10-peer.js';
import { FaultProxy } from '../support/rigs/fault-proxy.js';
import { Amqp10Bed } from './amqp10-bed.js';
import { failure, send, source, toFanout, toServer, toTopic } from './bed.js';

const WAIT_MS = 10_000;
const PLAIN = 'address_form=plain';

describe('AMQP 1.0, with a peer of any manners', function () {
  this.timeout(30_000);
  let bed: Amqp10Bed;

  beforeEach(() => {
    bed = new Amqp10Bed();
  });

  afterEach(() => bed.end());

  const losses: readonly (readonly [string, (peer: Amqp10Peer, topic: string) => void])[] = [
    ['a forced detach of one link', (peer, topic) => void peer.detachForced(topic)],
    ['the end of its session', (peer, topic) => peer.endSessions(topic)],
    ['a forced close of the connection', (peer) => peer.closeForced()],
  ];
  for (const [what, lose] of losses)
    it(`a listener has fresh links with fresh credit after ${what} (AMQP-42, AMQP-09)`, async () => {
      const peer = await bed.peer();
      const [sender, receiver] = [await bed.connected(peer.url(PLAIN)), await bed.connected(peer.url(PLAIN))];
      const where = source();
      const told: boolean[] = [];
      receiver.events.on('listener', ({ subscribed }) => told.push(subscribed));
      const heard = await bed.listen(receiver, where, true, 5);
      for (let round = 1; round <= 3; round += 1) {
        lose(peer, where.topic);
        await eventually('the loss', WAIT_MS, () => told.filter((each) => !each).length >= round);
        await eventually('the return', WAIT_MS, () => receiver.status().listeners[0]?.subscribed);
        for (let n = 0; n < 12; n += 1) await send(sender, toTopic(where), `${String(round)}-${String(n)}`);
        await send(sender, toFanout(where), `${String(round)}-all`);
        await eventually('the messages', WAIT_MS, () => heard.texts.length === round * 13);
      }
      expect(new Set(heard.texts)).to.have.property('size', 39);
    });

  it('stop() takes the credit back and waits for it: what is sent then waits at the peer (AMQP-43, AMQP-38)', async () => {
    const peer = await bed.peer();
    const transport = await bed.connected(peer.url(PLAIN));
    const where = source();
    const heard = await bed.listen(transport, where, false, 4);
    await eventually('the credit', WAIT_MS, () =>
      peer.consumers(where.topic).every(({ credit }) => credit === 4),
    );
    await send(transport, toTopic(where), 'held');
    await eventually('a delivery', WAIT_MS, () => heard.deliveries.length === 1);
    await heard.listener.stop();
    const after = peer.consumers(where.topic);
    expect(after.map(({ credit }) => credit)).to.deep.equal([0, 0, 0]);
    await send(transport, toTopic(where), 'later');
    await send(transport, toServer(where), 'for it alone');
    expect(heard.texts).to.deep.equal(['held']);
    // What was not begun goes back when the listener is closed, and the links are detached.
    expect(await heard.listener.close()).to.deep.equal([]);
    expect(peer.consumers(where.topic)).to.deep.equal([]);
    expect(peer.depth(`queue/${where.exchange}/${where.topic}`)).to.equal(2);
    expect(await heard.deliveries[0]?.accept()).to.equal(false);
  });

  it('never has more deliveries than its credit, whatever comes on three links at once (AMQP-39, AMQP-01)', async () => {
    const peer = await bed.peer();
    const [sender, receiver] = [await bed.connected(peer.url(PLAIN)), await bed.connected(peer.url(PLAIN))];
    const where = source();
    const heard = await bed.listen(receiver, where, false, 3);
    const kinds = [toTopic(where), toServer(where), toFanout(where)];
    await Promise.all(
      Array.from({ length: 30 }, (_none, n) => send(sender, kinds[n % 3] ?? toTopic(where), String(n))),
    );
    let held = 0;
    for (let taken = 0; taken < 30; taken += 1) {
      const delivery = await eventually('the next', WAIT_MS, () => heard.deliveries[taken]);
      held = Math.max(held, heard.deliveries.length - taken);
      await delivery.accept();
    }
    expect(held).to.equal(3);
    expect(heard.texts.map(Number).toSorted((a, b) => a - b)).to.deep.equal(
      Array.from({ length: 30 }, (_none, n) => n),
    );
  });

  it('sends nothing without credit: what waits fails by its deadline as not sent, or goes when credit comes (AMQP-44, AMQP-31)', async () => {
    const peer = await bed.peer({ plays: 'plain', credit: 0 });
    const transport = await bed.connected(peer.url(PLAIN));
    const where = source();
    const late = await failure(send(transport, toTopic(where), 'late', { timeoutMs: 300 }));
    expect(late).to.include({ code: 'ERR_DELIVERY', outcome: 'not-sent' });
    const patient = ['1', '2', '3'].map((text) => send(transport, toTopic(where), text));
    peer.grant(2);
    await Promise.all(patient.slice(0, 2));
    expect(peer.received).to.have.length(2);
    peer.grant(1);
    await Promise.all(patient);
    expect(peer.received).to.have.length(3);
  });

  const outcomes: readonly (readonly [
    Outcome,
    { readonly code?: string; readonly outcome?: string; readonly times: number },
  ])[] = [
    ['accept', { times: 1 }],
    ['release', { times: 2 }],
    ['modify', { times: 2 }],
    ['reject', { code: 'ERR_DELIVERY', outcome: 'not-sent', times: 1 }],
    ['modify-undeliverable', { code: 'ERR_UNDELIVERABLE', outcome: 'not-sent', times: 1 }],
    ['settle', { code: 'ERR_DELIVERY', outcome: 'unknown', times: 1 }],
    ['hold', { code: 'ERR_DELIVERY', outcome: 'unknown', times: 1 }],
  ];
  for (const [outcome, { times, ...told }] of outcomes)
    it(`a message that the peer answers with ${outcome} is told as such, and sent ${String(times)} times (AMQP-45, AMQP-02)`, async () => {
      const peer = await bed.peer();
      const transport = await bed.connected(peer.url(PLAIN));
      peer.outcomes.push(outcome);
      const sent = send(transport, toTopic(source()), 'one', { timeoutMs: outcome === 'hold' ? 300 : 5_000 });
      if (told.code === undefined) await sent;
      else {
        const error = await failure(sent);
        expect(error).to.include(told);
        if (outcome === 'reject') expect(error.message).to.contain('amqp:precondition-failed: too red');
      }
      expect(peer.received).to.have.length(times);
    });

  it('gives up what is released again and again, after as many attempts as the sender allows (AMQP-45, AMQP-19)', async () => {
    const peer = await bed.peer();
    const transport = await bed.connected(peer.url(PLAIN));
    peer.outcomes.push(...Array.from({ length: 9 }, () => 'release' as const));
    const error = await failure(send(transport, toTopic(source()), 'one', { retry: 2 }));
    expect(error).to.include({ code: 'ERR_DELIVERY', outcome: 'not-sent' });
    expect(peer.received).to.have.length(3);
  });

  it('a wrong address hurts nobody else: not the sends to others, not who listens (AMQP-46, AMQP-33)', async () => {
    const peer = await bed.peer();
    const transport = await bed.connected(peer.url(PLAIN));
    const where = source();
    const wrong = source();
    const told: unknown[] = [];
    transport.events.on('connection', (state) => told.push(state));
    transport.events.on('listener', (status) => told.push(status));
    peer.missing.add(`queue/${wrong.exchange}/${wrong.topic}`);
    const heard = await bed.listen(transport, where);
    told.length = 0;
    const sends = Array.from({ length: 20 }, async (_none, n) => {
      await send(transport, toTopic(where), String(n));
      const error = await failure(send(transport, toTopic(wrong), 'lost'));
      expect(error.code).to.equal('ERR_UNDELIVERABLE');
    });
    await Promise.all(sends);
    await eventually('all', WAIT_MS, () => heard.texts.length === 20);
    expect(told).to.deep.equal([]);
  });

  it('a server that the broker has no node for is told which one, and the reason (AMQP-23, AMQP-20)', async () => {
    const peer = await bed.peer();
    const transport = await bed.connected(peer.url(PLAIN), {}, { sendTimeoutMs: 400 });
    const where = source();
    peer.missing.add(`queue/${where.exchange}/${where.topic}`);
    const told: string[] = [];
    transport.events.on('error', (error) => told.push(error.message));
    await failure(transport.listen(where, { credit: 1 }, () => undefined));
    expect(told[0]).to.contain('amqp:not-found').and.to.contain('make that node at the broker');
  });

  it('where nobody declares its queues, the start of a server fails, and what is missing is told (AMQP-20, AMQP-23)', async () => {
    const peer = await bed.peer({ plays: 'rabbitmq-4' }); // and nothing behind it speaks AMQP 0-9-1
    const transport = await bed.connected(peer.url(), {}, { sendTimeoutMs: 400 });
    const told: string[] = [];
    transport.events.on('error', ({ message }) => told.push(message));
    await failure(transport.listen(source(), { credit: 1 }, () => undefined));
    expect(told[0]).to.contain('Cannot declare the queues over AMQP 0-9-1 at 127.0.0.1');
  });

  it('is disconnected the moment the connection is lost, and what is sent in the gap arrives after it (AMQP-47, AMQP-42)', async () => {
    const peer = await bed.peer();
    const proxy = await FaultProxy.start({ port: peer.port });
    bed.onEnd(() => proxy.close());
    const transport = await bed.connected(proxy.url(peer.url(PLAIN)));
    const where = source();
    const heard = await bed.listen(transport, where);
    const lost = deferred();
    transport.events.on('connection', ({ state }) => {
      if (state === 'disconnected') lost.resolve();
    });
    await proxy.setDoorman('refuse');
    proxy.cut('rst');
    await lost.promise;
    expect(transport.status().connection).not.to.equal('connected');
    expect(transport.status().listeners[0]?.subscribed).to.equal(false);
    const patient = send(transport, toTopic(where), 'patient', { timeoutMs: WAIT_MS });
    const hasty = await failure(send(transport, toTopic(where), 'hasty', { retry: 0 }));
    expect(hasty).to.include({ code: 'ERR_DELIVERY', outcome: 'not-sent' });
    await proxy.setDoorman('forward');
    await patient;
    await eventually('the message', WAIT_MS, () => heard.texts.length === 1);
    expect(heard.texts).to.deep.equal(['patient']);
  });

  it('notices a peer that has fallen silent, and connects again (AMQP-14, AMQP-42)', async () => {
    const peer = await bed.peer();
    const proxy = await FaultProxy.start({ port: peer.port });
    bed.onEnd(() => proxy.close());
    const transport = await bed.connected(proxy.url(peer.url(PLAIN)), { heartbeat_timeout_threshold: 1 });
    const heard = await bed.listen(transport, source());
    const lost = deferred();
    transport.events.on('connection', ({ state }) => {
      if (state === 'disconnected') lost.resolve();
    });
    proxy.blackHole('both');
    await lost.promise;
    await proxy.heal();
    await eventually('the return', WAIT_MS, () => transport.status().listeners[0]?.subscribed);
    expect(heard.texts).to.deep.equal([]);
  });

  it('never has more under way than there is room for in the client, whatever credit it is given (AMQP-44, AMQP-01)', async () => {
    const peer = await bed.peer({ plays: 'plain', credit: 100_000 });
    const transport = await bed.connected(peer.url(PLAIN));
    const where = source();
    peer.outcomes.push(...Array.from({ length: 2_048 }, () => 'hold' as const));
    const sends = Array.from({ length: 2_500 }, (_none, n) =>
      send(transport, toTopic(where), String(n), { timeoutMs: 20_000 }).then(
        () => 'sent',
        (error: unknown) => (error as { outcome: string }).outcome, // one of ours
      ),
    );
    await eventually('all that there is room for', WAIT_MS, () => peer.received.length === 2_048);
    await send(transport, toServer(where), 'on another link'); // and nothing more on that one meanwhile
    expect(peer.received).to.have.length(2_049);
    await transport.close();
    const told = await Promise.all(sends);
    expect(told.filter((each) => each === 'unknown')).to.have.length(2_048);
    expect(told.filter((each) => each === 'not-sent')).to.have.length(452);
  });

  it('replies at a node that the broker names: another one after each reconnect (AMQP-35, AMQP-42)', async () => {
    const peer = await bed.peer();
    const where = source();
    await bed.serve(await bed.connected(peer.url(PLAIN)), where, {
      echo: (_context: unknown, args: object) => args,
    });
    const transport = await bed.connected(peer.url(`${PLAIN}&reply_node=dynamic`));
    const client = bed.client(transport, where);
    for (let round = 0; round < 3; round += 1) {
      const answer = await eventually('an answer', WAIT_MS, () =>
        client.call({}, 'echo', { round }).catch((error: unknown) => {
          expect(error).to.include({ code: 'ERR_DELIVERY', outcome: 'not-sent' }); // no node yet
          return undefined;
        }),
      );
      expect(answer).to.deep.equal({ round });
      const lost = deferred();
      transport.events.on('connection', () => {
        lost.resolve();
      });
      peer.closeForced();
      await lost.promise;
    }
    const nodes = peer.attached.filter((address) => address.startsWith('dynamic-'));
    expect(new Set(nodes).size).to.be.at.least(3);
  });

  it('logs in as nobody where nobody asks, and names the virtual host (AMQP-18, AMQP-48)', async () => {
    const peer = await bed.peer();
    const url = peer.url(`${PLAIN}&sasl_mechanism=ANONYMOUS`).replace('/?', '/tenant?');
    const transport = await bed.connected(url);
    expect(transport.status().connection).to.equal('connected');
    expect(peer.hostNames).to.deep.equal(['tenant', 'tenant']);
  });

  it('refuses to guess the addresses of a broker that is no RabbitMQ, and says what to set (AMQP-48)', async () => {
    const peer = await bed.peer();
    const transport = bed.transport(peer.url(), {}, { sendTimeoutMs: 400 });
    const error = await failure(transport.connect());
    expect(error.message).to.contain('address_form=plain');
    expect(peer.received).to.deep.equal([]);
  });
});
