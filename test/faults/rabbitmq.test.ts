import { AuthenticationError, BackpressureError, ConfigurationError, ServerListenError } from '@ebbgate/core';
import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { rejectionOf } from '../support/deferred.js';
import { AmqpClient } from '../support/rigs/amqp-client.js';
import { eventually } from '../support/rigs/deadline.js';
import { failure, send, source, toTopic } from './bed.js';
import { RabbitBed } from './rabbit-bed.js';

const WAIT_MS = 10_000;

describe('refusals and limits, with RabbitMQ', function () {
  this.timeout(40_000);
  let bed: RabbitBed;

  beforeEach(async () => {
    bed = await RabbitBed.start();
  });

  afterEach(() => bed.end());

  it('has stored what a cast resolved for, and tells at once what nobody can take (AMQP-03, AMQP-33)', async () => {
    const transport = await bed.connected(bed.url);
    const where = source();
    const { listener } = await bed.listen(transport, where);
    await listener.close();
    await bed.client(transport, where).cast({}, 'x');
    const queues = await bed.node.view.queues(bed.vhost);
    expect(queues.find(({ name }) => name === where.topic)?.messages).to.equal(1);
    const nobody = bed.client(transport, source());
    const begun = performance.now();
    for (const outcome of [
      rejectionOf(nobody.call({}, 'x')),
      rejectionOf(nobody.prepare({ server: 's' }).cast({}, 'x')),
    ])
      expect((await outcome).code).to.equal('ERR_UNDELIVERABLE');
    expect(performance.now() - begun).to.be.below(2_000);
    await nobody.prepare({ fanout: true }).cast({}, 'x');
  });

  it('keeps a conflict to its own operation, names all of it, and changes nothing (AMQP-21, AMQP-04, AMQP-22)', async () => {
    const taken = source();
    const others = Array.from({ length: 10 }, () => source());
    const first = await bed.connected(bed.url, { amqp_durable_queues: true });
    for (const each of [taken, ...others]) await bed.listen(first, each);
    await first.close();
    const before = await bed.objects();
    const transport = await bed.connected(bed.url, { amqp_durable_queues: false });
    let errors = 0;
    transport.events.on('error', () => void (errors += 1));
    const starting = await rejectionOf(bed.serve(transport, taken, {}));
    expect(starting).to.be.instanceOf(ServerListenError);
    for (const part of [
      `exchange "${taken.exchange}"`,
      '"durable"',
      "wanted 'false'",
      "present 'true'",
      'nothing was changed',
    ])
      expect(starting.message).to.contain(part);
    expect(starting.cause).to.be.instanceOf(ConfigurationError);
    expect(errors).to.equal(0);
    const fine = Array.from({ length: 10 }, () => source());
    const outcomes = await Promise.allSettled([
      ...fine.slice(0, 5).map((where) => send(transport, toTopic(where), 'x', { mandatory: false })),
      send(transport, toTopic(taken), 'x'),
      ...fine.slice(5).map((where) => send(transport, toTopic(where), 'x', { mandatory: false })),
    ]);
    expect(outcomes.map(({ status }) => status).join()).to.equal(
      [...Array<string>(5).fill('fulfilled'), 'rejected', ...Array<string>(5).fill('fulfilled')].join(),
    );
    expect(await bed.objects()).to.include.members(before.filter((name) => !name.includes('fanout')));
    expect(transport.status().connection).to.equal('connected');
  });

  it('names a conflict of queues too (AMQP-21)', async () => {
    const where = source();
    const first = await bed.connected(bed.url, { amqp_durable_queues: true });
    await (await bed.listen(first, where)).listener.close();
    const transport = await bed.connected(bed.url, { rabbit_quorum_queue: true });
    const { message } = await rejectionOf(bed.serve(transport, where, {}));
    for (const part of [
      `queue "${where.topic}"`,
      '"x-queue-type"',
      'quorum',
      'present',
      'nothing was changed',
    ])
      expect(message).to.contain(part);
  });

  it('tells refused credentials, virtual hosts and permissions at once, without a fast loop (AMQP-18)', async () => {
    await bed.node.addUser('limited', 'pw', bed.vhost, { configure: '^$' });
    const port = bed.proxy.port;
    for (const bad of [
      bed.node.url(bed.vhost, { port, password: 'wrong' }),
      bed.node.url('no-such-vhost', { port }),
    ]) {
      const accepted = bed.proxy.accepted;
      const transport = bed.transport(bad, { rabbit_interval_max: 30 });
      const begun = performance.now();
      expect(await rejectionOf(transport.connect())).to.be.instanceOf(AuthenticationError);
      expect(await rejectionOf(send(transport, toTopic(source()), 'x'))).to.be.instanceOf(
        AuthenticationError,
      );
      expect(performance.now() - begun).to.be.below(3_000); // RabbitMQ itself waits a second before it refuses
      expect(bed.proxy.accepted - accepted).to.equal(2);
    }
    const limited = await bed.connected(bed.node.url(bed.vhost, { port, user: 'limited', password: 'pw' }));
    const outcomes = [
      (await rejectionOf(bed.serve(limited, source(), {}))).cause,
      await rejectionOf(send(limited, toTopic(source()), 'x')),
      await rejectionOf(bed.client(limited, source()).call({}, 'x')),
    ];
    for (const error of outcomes) expect(error).to.be.instanceOf(AuthenticationError);
    expect(limited.status().connection).to.equal('connected');
  });

  it('runs a request that always fails once, and others meanwhile: none goes back to its queue (AMQP-28, AMQP-10)', async () => {
    const where = source();
    let runs = 0;
    const bad = (): never => {
      runs += 1;
      throw new Error('always');
    };
    const serving = await bed.connected(bed.url);
    await bed.serve(serving, where, { bad, ping: () => 'pong' }, { slots: 1, prefetch: 5 });
    const client = bed.client(await bed.connected(bed.direct), where);
    await client.cast({}, 'bad');
    expect((await rejectionOf(client.call({}, 'bad'))).code).to.equal('ERR_REMOTE');
    expect(await client.call({}, 'ping')).to.equal('pong');
    bed.proxy.cut();
    await eventually('the loss', WAIT_MS, () => serving.status().connection !== 'connected');
    await eventually('the return', WAIT_MS, () => serving.status().listeners[0]?.subscribed === true);
    expect(await client.call({}, 'ping')).to.equal('pong');
    const queue = (await bed.node.view.queues(bed.vhost)).find(({ name }) => name === where.topic);
    expect([runs, queue?.messages]).to.deep.equal([2, 0]);
  });

  it('drops a message whose properties cannot be read, and is not brought down by it again and again (AMQP-28, AMQP-30)', async () => {
    const where = source();
    const transport = await bed.connected(bed.url);
    const server = await bed.serve(transport, where, { ping: () => 'pong' });
    const states: string[] = [];
    transport.events.on('connection', ({ state }) => void states.push(state));
    const { port, user, password } = bed.node;
    const other = await AmqpClient.open({ port, user, password, vhost: bed.vhost });
    bed.onEnd(() => other.close());
    await other.ask(1, 'channel.open');
    const properties = { contentType: 'application/json', headers: { size: 7n } };
    other.publish(1, { exchange: where.exchange, routingKey: where.topic }, '{}', properties);
    await eventually('its end', WAIT_MS, () => server.counts.malformed === 1);
    expect(await bed.client(transport, where).call({}, 'ping')).to.equal('pong');
    const queues = await bed.node.view.queues(bed.vhost);
    expect(queues.find(({ name }) => name === where.topic)?.messages).to.equal(0);
    expect([states, server.counts.malformed]).to.deep.equal([[], 1]);
  });

  it('shows that the broker is blocked, and lets sends fail by their deadline and within the bound (AMQP-31)', async () => {
    const where = source();
    const transport = await bed.connected(bed.url, {}, { maxPendingSends: 3 });
    const consuming = await bed.connected(bed.direct);
    const heard = await bed.listen(consuming, where);
    const states: string[] = [];
    transport.events.on('connection', ({ state }) => void states.push(state));
    await send(transport, toTopic(where), 'before');
    await bed.node.memoryAlarm(true);
    try {
      await send(transport, toTopic(where), 'meets the alarm', { timeoutMs: 500 }).catch(() => undefined);
      await eventually('blocked', WAIT_MS, () => transport.status().connection === 'blocked');
      expect(states).to.include('blocked');
      const waiting = Array.from({ length: 3 }, () =>
        failure(send(transport, toTopic(where), 'x', { timeoutMs: 150 })),
      );
      expect(await rejectionOf(send(transport, toTopic(where), 'x'))).to.be.instanceOf(BackpressureError);
      for (const error of await Promise.all(waiting)) {
        expect([error.code, error.outcome]).to.deep.equal(['ERR_DELIVERY', 'not-sent']);
        expect(error.message).to.contain('resource alarm');
      }
    } finally {
      await bed.node.memoryAlarm(false);
    }
    await eventually('unblocked', WAIT_MS, () => transport.status().connection === 'connected');
    await send(transport, toTopic(where), 'after');
    await eventually('what was sent', WAIT_MS, () => heard.texts.includes('after'));
    expect(heard.texts).not.to.include('x');
  });

  it('keeps two connections and few channels, whatever the load (AMQP-34)', async () => {
    const transport = await bed.connected(bed.url);
    const where = source();
    await bed.serve(
      transport,
      where,
      { echo: (_context: unknown, { n }: { n: number }) => n },
      { slots: 100, prefetch: 100 },
    );
    const client = bed.client(transport, where);
    await client.call({}, 'echo', { n: 0 });
    await client.prepare({ fanout: true }).cast({}, 'echo', { n: 0 });
    const count = async (): Promise<number[]> => [
      (await bed.node.view.connections(bed.vhost)).length,
      (await bed.node.view.channels(bed.vhost)).length,
    ];
    const before = await count();
    expect(before).to.deep.equal([2, 6]); // sends, fanouts, two for declarations; the server, replies
    for (let round = 0; round < 3; round += 1)
      await Promise.all(Array.from({ length: 200 }, (_none, n) => client.call({}, 'echo', { n })));
    const busy = Promise.all(Array.from({ length: 300 }, (_none, n) => client.call({}, 'echo', { n })));
    expect(await count()).to.deep.equal(before);
    await busy;
    expect(await count()).to.deep.equal(before);
  });
});
