import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { rejectionOf } from '../support/deferred.js';
import { AmqpClient } from '../support/rigs/amqp-client.js';
import { FieldReader, writeFields } from '../support/rigs/amqp-fields.js';
import { AmqpPeer, FRAME } from '../support/rigs/amqp-peer.js';
import { within } from '../support/rigs/deadline.js';

const LIMIT_MS = 3_000;

describe('the scripted AMQP peer', () => {
  let peer: AmqpPeer;
  const clients: AmqpClient[] = [];

  beforeEach(async () => {
    peer = await AmqpPeer.start({ heartbeat: 3, frameMax: 4096 });
  });

  afterEach(async () => {
    for (const client of clients.splice(0)) await client.close();
    await peer.close();
  });

  async function open(): Promise<AmqpClient> {
    const login = { port: peer.port, user: 'guest', password: 'secret', vhost: 'v' };
    const client = await within('the handshake', LIMIT_MS, AmqpClient.open(login));
    clients.push(client);
    return client;
  }

  async function channel(): Promise<AmqpClient> {
    const client = await open();
    await client.ask(1, 'channel.open');
    return client;
  }

  it('writes and reads each type of value', () => {
    const table = {
      text: 'ä',
      yes: true,
      no: false,
      number: 1_800_000,
      big: 2 ** 40,
      half: 0.5,
      nothing: null,
      list: [1, 'two', { three: 3 }],
      bytes: Buffer.from([0, 255]),
      when: new Date(1_700_000_000_000),
      inner: { a: { b: 'c' } },
    };
    const bits = Array.from({ length: 10 }, (_none, index) => ['bit', index % 3 === 0] as const);
    const bytes = writeFields([['table', table], ...bits, ['shortstr', 'end'], ['longlong', 5]]);
    const reader = new FieldReader(bytes);
    const read = reader.read('table');
    // By way of entries, as what is read has no prototype.
    expect(JSON.parse(JSON.stringify(read))).to.deep.equal(JSON.parse(JSON.stringify(table)));
    expect(bits.map(() => reader.read('bit'))).to.deep.equal(bits.map(([, value]) => value));
    expect([reader.read('shortstr'), reader.read('longlong')]).to.deep.equal(['end', 5]);
  });

  it('lets a client in, and notes what it said', async () => {
    await open();
    const { args } = await peer.next('connection.start-ok');
    expect(args['response']).to.equal('\0guest\0secret');
    expect(peer.received('connection.open')[0]?.args['virtualHost']).to.equal('v');
    expect(peer.events.map(({ name }) => name)).to.deep.equal([
      'header',
      'connection.start-ok',
      'connection.tune-ok',
      'connection.open',
    ]);
  });

  it('answers declarations, bindings, consumers and confirms as if all were well', async () => {
    const client = await channel();
    await client.ask(1, 'exchange.declare', { exchange: 'e', type: 'direct', durable: true });
    const queue = await client.ask(1, 'queue.declare', { arguments: { 'x-expires': 600_000 } });
    await client.ask(1, 'queue.bind', { queue: queue['queue'], exchange: 'e', routingKey: 'r' });
    await client.ask(1, 'basic.qos', { prefetchCount: 10 });
    expect(await client.ask(1, 'basic.consume', { queue: 'q', consumerTag: 'c' })).to.deep.equal({
      consumerTag: 'c',
    });
    await client.ask(1, 'confirm.select');
    client.publish(1, { exchange: 'e', routingKey: 'r', mandatory: true }, 'one', { deliveryMode: 2 });
    client.publish(1, { exchange: 'e', routingKey: 'r' }, '', { headers: { h: 1 } });
    expect((await client.next('basic.ack')).args).to.deep.equal({ deliveryTag: 1, multiple: false });
    expect((await client.next('basic.ack')).args).to.deep.equal({ deliveryTag: 2, multiple: false });
    await client.ask(1, 'basic.cancel', { consumerTag: 'c' });
    const [first, second] = peer.received('basic.publish');
    expect(first?.body?.toString()).to.equal('one');
    expect(first?.properties).to.deep.equal({ deliveryMode: 2 });
    expect(first?.args).to.deep.include({ exchange: 'e', routingKey: 'r', mandatory: true });
    expect(second?.body?.length).to.equal(0);
    expect((await peer.next('exchange.declare')).args).to.deep.include({ durable: true, autoDelete: false });
    expect((await peer.next('queue.declare')).args['arguments']).to.have.property('x-expires', 600_000);
  });

  it('refuses a login', async () => {
    peer.script('connection.start-ok', (_event, connection) =>
      connection.closeConnection(403, 'ACCESS_REFUSED'),
    );
    expect((await rejectionOf(open())).message).to.equal('403 ACCESS_REFUSED');
  });

  it('delays an answer until the script gives it, and never gives one', async () => {
    const client = await channel();
    peer.scriptOnce('queue.declare', () => {});
    client.send(1, 'queue.declare', { queue: 'q' });
    const silent = await peer.next('queue.declare');
    await client.ask(1, 'basic.qos', {}); // answered after it: so the other was not
    silent.connection.answer(silent);
    expect((await client.next('queue.declare-ok')).args['queue']).to.equal('q');
    expect((await client.ask(1, 'queue.declare', { queue: 'r' }))['queue']).to.equal('r');
  });

  it('closes channels and connections with any code, and cancels, blocks, returns and nacks', async () => {
    const client = await channel();
    const { connection } = await peer.next('channel.open');
    connection.send(0, 'connection.blocked', { reason: 'low on memory' });
    connection.send(0, 'connection.unblocked');
    connection.send(1, 'basic.cancel', { consumerTag: 'c' });
    connection.send(1, 'basic.nack', { deliveryTag: 4, multiple: true });
    const returned = { replyCode: 312, replyText: 'NO_ROUTE', routingKey: 'r' };
    connection.send(1, 'basic.return', returned, { body: 'b' });
    expect((await client.next('connection.blocked')).args['reason']).to.equal('low on memory');
    await client.next('connection.unblocked');
    expect((await client.next('basic.cancel')).args['consumerTag']).to.equal('c');
    expect((await client.next('basic.nack')).args).to.deep.include({ deliveryTag: 4, multiple: true });
    expect((await client.next('basic.return')).args['replyCode']).to.equal(312);
    connection.closeChannel(1, 406, 'PRECONDITION_FAILED');
    expect((await rejectionOf(client.next('nothing'))).message).to.equal('406 PRECONDITION_FAILED');
    client.send(1, 'channel.close-ok');
    await peer.next('channel.close-ok');
  });

  it('delivers messages, in frames of the size agreed on', async () => {
    const client = await channel();
    const { connection } = await peer.next('channel.open');
    const body = 'x'.repeat(10_000);
    connection.deliver(1, 'c', 1, { body, properties: { messageId: 'm' }, redelivered: true });
    expect((await client.next('basic.deliver')).args).to.deep.include({ deliveryTag: 1, redelivered: true });
    expect(client.frameSizes().filter((size) => size > 1000)).to.deep.equal([4088, 4088, 1824]);
  });

  it('sends heartbeats of the agreed time until told to stop', async () => {
    const quick = await AmqpPeer.start({ heartbeat: 1 });
    try {
      const login = { port: quick.port, user: 'u', password: 'p', vhost: '/', heartbeat: 1 };
      const client = await AmqpClient.open(login);
      await within('a heartbeat', LIMIT_MS, client.nextHeartbeat());
      quick.connections[0]?.stopHeartbeats();
      await client.close();
    } finally {
      await quick.close();
    }
  });

  it('sends frames that lie, garbage, and ends by FIN or RST', async () => {
    const client = await open();
    const { connection } = await peer.next('connection.open');
    connection.sendFrame(FRAME.body, 9, Buffer.from('short'), { size: 0x7fffffff });
    connection.cut('fin');
    await within('the end', LIMIT_MS, client.closed);
    expect(client.rest.readUInt32BE(3)).to.equal(0x7fffffff);
    const other = await open();
    const second = await peer.next('connection.open');
    second.connection.sendRaw('garbage');
    second.connection.cut('rst');
    await within('the end', LIMIT_MS, other.closed);
    expect(peer.connections).to.have.length(2);
  });

  it('reports what a client sends that is no AMQP, and what a script throws', async () => {
    const broken = await AmqpPeer.start();
    broken.script('connection.start-ok', () => {
      throw new Error('the script is wrong');
    });
    const opening = rejectionOf(AmqpClient.open({ port: broken.port, user: 'u', password: 'p', vhost: '/' }));
    expect((await rejectionOf(broken.next('connection.open'))).message).to.equal('the script is wrong');
    expect((await rejectionOf(broken.close())).message).to.equal('the script is wrong');
    expect((await opening).message).to.match(/closed/);
  });
});
