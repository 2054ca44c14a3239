import { SerializationError } from '@ebbgate/core';
import { RpcServer } from '@ebbgate/rpc';
import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { deferred, rejectionOf } from '../support/deferred.js';
import { FRAME } from '../support/rigs/amqp-frames.js';
import { contentHeaderBytes } from '../support/rigs/amqp-methods.js';
import type { AmqpEvent } from '../support/rigs/amqp-peer.js';
import { eventually } from '../support/rigs/deadline.js';
import { PeerBed } from './peer-bed.js';

const WAIT_MS = 5_000;

describe('settling and stopping, with a broker that does what a script says', function () {
  this.timeout(15_000);
  let bed: PeerBed;

  beforeEach(async () => {
    bed = await PeerBed.start();
  });

  afterEach(() => bed.end());

  it('settles every delivery exactly once, whatever becomes of it (AMQP-29, AMQP-30)', async () => {
    const handler = {
      good: () => 1,
      bad: () => {
        throw new Error('bad');
      },
    };
    const server = await bed.serve(bed.own, bed.where, handler, { slots: 1, prefetch: 1 });
    const inner = (parts: object): string =>
      JSON.stringify({
        method: 'good',
        args: {},
        version: '1.0',
        _unique_id: String(Math.random()),
        ...parts,
      });
    const oslo = (parts: object): string =>
      JSON.stringify({ 'oslo.version': '2.0', 'oslo.message': inner(parts) });
    const bodies = [
      oslo({}),
      'no JSON',
      '[]',
      '{"oslo.version":"9.0","oslo.message":"{}"}',
      oslo({ method: 'nothing' }),
      oslo({ version: '9.0' }),
      oslo({ namespace: 'x' }),
      oslo({ method: 'bad' }),
      oslo({ method: '_private' }),
      oslo({}),
    ];
    for (const [index, body] of bodies.entries()) bed.deliver(index + 1, body);
    const { connection, channel } = bed.consumer;
    const other = { properties: { contentType: 'text/plain' }, body: 'secret content' };
    connection.deliver(channel, bed.tag, 11, other);
    await eventually('all to be settled', WAIT_MS, () => {
      const covered = new Set<number>();
      for (const { name, args } of bed.peer.events) {
        const tag = Number(args['deliveryTag']);
        if (name === 'basic.reject') covered.add(tag);
        if (name === 'basic.ack')
          for (let at = args['multiple'] === true ? 1 : tag; at <= tag; at += 1) covered.add(at);
      }
      return covered.size === 11;
    });
    const tags = bed.settled;
    expect(new Set(tags).size).to.equal(tags.length);
    const rejected = bed.peer
      .received('basic.reject')
      .map(({ args }) => [args['deliveryTag'], args['requeue']]);
    expect(rejected).to.deep.equal([
      [2, false],
      [3, false],
      [4, false],
      [11, false],
    ]);
    expect(server.counts.malformed).to.equal(4);
    const lines = bed.log.at('warn').filter(({ message }) => message.startsWith('Message rejected'));
    expect(lines).to.have.length(4);
    expect(bed.log.ordinaryText()).not.to.contain('secret content');
    await server.stop();
    await server.wait();
  });

  it('refuses once a message whose properties cannot be read, and takes the next (AMQP-30, AMQP-28, AMQP-05)', async () => {
    const heard = await bed.listen(bed.own, bed.where);
    const states: string[] = [];
    bed.own.events.on('connection', ({ state }) => void states.push(state));
    const { connection, channel } = bed.consumer;
    const properties = { contentType: 'application/json', headers: { size: 7n } };
    connection.deliver(channel, bed.tag, 1, { properties, body: '{}' });
    const half = contentHeaderBytes(2, { contentType: 'application/json', headers: { a: 1 } }).subarray(
      0,
      -3,
    );
    connection.send(channel, 'basic.deliver', { consumerTag: bed.tag, deliveryTag: 2 });
    connection.sendFrame(FRAME.header, channel, half);
    connection.sendFrame(FRAME.body, channel, Buffer.from('{}'));
    bed.deliver(3);
    await eventually('all', WAIT_MS, () => heard.deliveries.length === 3);
    for (const { message } of heard.deliveries.slice(0, 2))
      expect(() => message.body.encode()).to.throw(SerializationError);
    expect(heard.deliveries[2]?.message.body.encode().byteLength).to.equal(2);
    expect([states, bed.peer.connections.length]).to.deep.equal([[], 2]);
  });

  it('never acknowledges many before it has rejected or given back the one among them (AMQP-28, AMQP-29)', async () => {
    const heard = await bed.listen(bed.own, bed.where, false);
    const settle = async (first: number, how: 'reject' | 'release'): Promise<void> => {
      for (let tag = first; tag < first + 3; tag += 1) bed.deliver(tag);
      await eventually('three deliveries', WAIT_MS, () => heard.deliveries.length === 3);
      const [one, ...others] = heard.deliveries.splice(0);
      one?.[how]();
      expect(await Promise.all(others.map(async (each) => each.accept()))).to.deep.equal([true, true]);
      await eventually('the acknowledgement', WAIT_MS, () =>
        bed.settled.includes(`basic.ack ${String(first + 2)}`),
      );
    };
    await settle(1, 'reject');
    await settle(4, 'release');
    expect(bed.settled).to.deep.equal(['basic.reject 1', 'basic.ack 3', 'basic.reject 4', 'basic.ack 6']);
  });

  it('gives back what arrives between stop() and the confirmation, and runs what was fetched (AMQP-38, AMQP-39)', async () => {
    const hold = deferred();
    let runs = 0;
    const server = await bed.serve(
      bed.own,
      bed.where,
      {
        work: () => {
          runs += 1;
          return hold.promise;
        },
      },
      { slots: 1, prefetch: 10 },
    );
    const request = (id: number): string =>
      JSON.stringify({
        'oslo.version': '2.0',
        'oslo.message': JSON.stringify({ method: 'work', args: {}, _unique_id: `u${String(id)}` }),
      });
    bed.deliver(1, request(1));
    bed.deliver(2, request(2));
    await eventually('one to run and one to wait', WAIT_MS, () => runs === 1 && server.waiting === 1);
    const cancels: AmqpEvent[] = [];
    bed.peer.script('basic.cancel', (event) => {
      if (cancels.push(event) === 1) {
        bed.deliver(3, request(3));
        for (const each of cancels) each.connection.answer(each);
      } else event.connection.answer(event);
    });
    await server.stop();
    expect(bed.settled).to.deep.equal(['basic.ack 1', 'basic.reject 3']);
    expect(bed.peer.received('basic.reject')[0]?.args['requeue']).to.equal(true);
    hold.resolve();
    await server.wait();
    expect(runs).to.equal(2);
    expect(bed.settled).to.deep.equal(['basic.ack 1', 'basic.reject 3', 'basic.ack 2']);
  });

  it('returns what has no slot at once when asked to, and at the deadline of wait() (AMQP-39)', async () => {
    for (const fetched of ['release', 'run'] as const) {
      const hold = deferred();
      const server = await bed.serve(
        bed.own,
        bed.where,
        { work: () => hold.promise },
        { slots: 1, prefetch: 10, fetched },
      );
      const request = JSON.stringify({
        'oslo.version': '2.0',
        'oslo.message': '{"method":"work","args":{}}',
      });
      bed.deliver(1, request);
      bed.deliver(2, request);
      await eventually(
        'one to run and one to wait',
        WAIT_MS,
        () => server.running === 1 && server.waiting === 1,
      );
      const before = bed.peer.received('basic.reject').length;
      await server.stop();
      if (fetched === 'run') await rejectionOf(server.wait({ timeoutMs: 50 }));
      await eventually('the return', WAIT_MS, () => bed.peer.received('basic.reject').length === before + 1);
      expect(bed.peer.received('basic.reject').at(-1)?.args).to.deep.equal({ deliveryTag: 2, requeue: true });
      hold.resolve();
      await server.wait();
    }
  });

  it('ends in order: acknowledgements and replies, then the channel, then the connection (AMQP-40, AMQP-37)', async () => {
    const server = await bed.serve(bed.own, bed.where, { work: () => 'done' });
    const request = { method: 'work', args: {}, _unique_id: 'u', _msg_id: 'm', _reply_q: 'reply_x' };
    bed.deliver(1, JSON.stringify({ 'oslo.version': '2.0', 'oslo.message': JSON.stringify(request) }));
    await bed.peer.next('basic.publish');
    const { channel, connection } = bed.consumer;
    await server.stop();
    const report = await server.wait();
    await bed.own.close();
    expect(report.unconfirmed).to.deep.equal([]);
    const names = bed.peer.events
      .filter(
        (event) => event.connection === connection && (event.channel === channel || event.channel === 0),
      )
      .map(({ name }) => name)
      .filter((name) => /basic\.(ack|cancel)|\.(delete|close)$/.test(name));
    expect(names).to.deep.equal([
      'basic.ack',
      'basic.cancel',
      'basic.cancel',
      'basic.cancel',
      'queue.delete',
      'channel.close',
      'connection.close',
    ]);
    const [deleted] = bed.peer.received('queue.delete');
    expect(String(deleted?.args['queue'])).to.match(new RegExp(`^${bed.where.topic}_fanout_`));
  });

  it('does not end before the broker has said that it has processed all of it (AMQP-40)', async () => {
    const server = await bed.serve(bed.own, bed.where, { work: () => 'done' });
    bed.deliver(1);
    await bed.peer.next('basic.reject'); // it is no request
    await server.stop();
    const held = deferred<AmqpEvent>();
    bed.peer.scriptOnce('channel.close', (event) => {
      held.resolve(event);
    });
    let ended = false;
    const ending = server.wait().then((report) => {
      ended = true;
      return report;
    });
    const event = await held.promise;
    await bed.client(bed.own, bed.where).cast({}, 'something else meanwhile');
    expect(ended).to.equal(false);
    event.connection.answer(event);
    expect((await ending).unconfirmed).to.deep.equal([]);
  });

  it('stops, waits and closes in bounded time with a broker that answers nothing, and says so (AMQP-41)', async () => {
    const server = await bed.serve(bed.own, bed.where, { work: () => 'done' });
    for (const name of ['basic.cancel', 'queue.delete', 'channel.close', 'connection.close'])
      bed.peer.script(name, () => {});
    const begun = performance.now();
    await server.stop();
    const report = await server.wait();
    expect(report.unconfirmed).to.have.length(1);
    expect(report.unconfirmed[0]).to.contain(bed.where.server);
    await bed.own.close();
    expect(performance.now() - begun).to.be.below(12_000);
    await Promise.all(bed.peer.connections.map(({ closed }) => closed));
  });

  it('tells at construction what can never work (AMQP-36)', () => {
    for (const options of [{ slots: 0 }, { prefetch: 0 }, { slots: NaN }])
      expect(() => new RpcServer(bed.own, bed.where, [{}], options)).to.throw(/must be/);
    for (const rabbit of [
      { rabbit_qos_prefetch_count: -1 },
      { connect_timeout: 0 },
      { max_message_bytes: 0 },
      { rabbit_interval_max: 0 },
    ])
      expect(() => bed.transport(bed.peer.url(), rabbit)).to.throw(/must be/);
  });
});
