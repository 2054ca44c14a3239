import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { type DroppedMessage, Target } from '@ebbgate/core';
import {
  type CallDiagnostic,
  contractClient,
  defineContract,
  implementContract,
  method,
  ValidationError,
} from '@ebbgate/rpc';
import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { z } from 'zod';
import { deferred, rejectionOf } from '../support/deferred.js';
import { AmqpClient } from '../support/rigs/amqp-client.js';
import { eventually } from '../support/rigs/deadline.js';
import { failure, send, source, toTopic } from './bed.js';
import { RabbitBed } from './rabbit-bed.js';

const WAIT_MS = 10_000;
const SECRET = 'content-4711';
const JSON_TYPE = { contentType: 'application/json' };

describe('RPC, with RabbitMQ', function () {
  this.timeout(40_000);
  let bed: RabbitBed;

  beforeEach(async () => {
    bed = await RabbitBed.start();
  });

  afterEach(() => bed.end());

  /** A client that is none of ours. */
  async function stranger(): Promise<AmqpClient> {
    const { port, user, password } = bed.node;
    const other = await AmqpClient.open({ port, user, password, vhost: bed.vhost });
    bed.onEnd(() => other.close());
    await other.ask(1, 'channel.open');
    return other;
  }

  async function ready(queue: string): Promise<number | undefined> {
    return (await bed.node.view.queues(bed.vhost)).find(({ name }) => name === queue)?.messages;
  }

  it('writes no content to the log, whatever goes wrong with a message (RPC-08, RPC-07, AMQP-30)', async () => {
    const where = source();
    const transport = await bed.connected(bed.url);
    const hold = deferred();
    const late = async (): Promise<string> => {
      await hold.promise;
      return SECRET;
    };
    const fail = (): never => {
      throw new Error('refused');
    };
    const server = await bed.serve(transport, where, { late, fail, ping: () => 'pong' });
    const client = bed.client(transport, where);
    const content = { content: SECRET };
    expect(await failure(client.prepare({ timeoutMs: 100 }).call(content, 'late', content))).to.include({
      code: 'ERR_TIMEOUT',
    });
    hold.resolve();
    await failure(client.call(content, 'fail', content));
    await failure(client.call(content, 'unknown', content));
    await client.cast(content, 'unknown', content);
    const other = await stranger();
    const toServer = { exchange: where.exchange, routingKey: where.topic };
    const bodies = [
      `not JSON, ${SECRET}`,
      JSON.stringify(content),
      JSON.stringify({ method: 'm', args: SECRET }),
    ];
    for (const body of bodies) other.publish(1, toServer, body, JSON_TYPE);
    other.publish(1, toServer, SECRET, { contentType: 'text/plain' });
    const reply = (await bed.node.view.queues(bed.vhost)).find(({ name }) => name.startsWith('reply_'));
    for (const body of bodies)
      other.publish(1, { exchange: '', routingKey: reply?.name ?? '' }, body, JSON_TYPE);
    await eventually('all to be refused', WAIT_MS, () => server.counts.malformed === bodies.length + 1);
    expect(await client.call({}, 'ping')).to.equal('pong'); // and the replies before it
    expect(bed.log.lines.length).to.be.above(3);
    expect(bed.log.ordinaryText()).not.to.contain(SECRET);
  });

  it('applies a version cap to calls, casts, fanouts and the question, before anything is sent (RPC-11)', async () => {
    const where = source();
    const transport = await bed.connected(bed.url);
    const { listener } = await bed.listen(transport, where);
    await listener.close();
    const capped = bed.client(transport, where, { versionCap: '1.10' });
    for (const version of ['1.11', '2.0', '0.9']) {
      const asked = capped.prepare({ version });
      expect(asked.canSendVersion(), version).to.equal(false);
      for (const refused of [
        failure(asked.call({}, 'm')),
        failure(asked.cast({}, 'm')),
        failure(asked.prepare({ fanout: true }).cast({}, 'm')),
      ])
        expect(await refused).to.include({ code: 'ERR_VERSION_CAP', version, versionCap: '1.10' });
    }
    expect(await ready(where.topic)).to.equal(0);
    expect(capped.prepare({ version: '1.9' }).canSendVersion()).to.equal(true); // as numbers, not as text
    await capped.prepare({ version: '1.9' }).cast({}, 'm');
    expect(await ready(where.topic)).to.equal(1);
  });

  it('settles, logs once, counts and tells of casts that no endpoint takes (RPC-12, RPC-09, AMQP-29)', async () => {
    const where = source();
    const transport = await bed.connected(bed.url);
    const server = await bed.serve(transport, where, { m: () => 1 }, { slots: 1, prefetch: 1 });
    const dropped: DroppedMessage[] = [];
    transport.events.on('dropped', (one) => void dropped.push(one));
    const client = bed.client(transport, where).prepare({ namespace: 'n', version: '1.7' });
    for (let n = 0; n < 5; n += 1) await client.cast({}, 'm');
    await eventually('all', WAIT_MS, () => dropped.length === 5);
    for (const one of dropped) expect(one).to.include({ reason: 'undispatchable', topic: where.topic });
    const lines = bed.log.at('warn').filter(({ message }) => message.startsWith('A request was refused'));
    expect(lines.map(({ fields }) => fields)).to.deep.equal([
      { method: 'm', namespace: 'n', version: '1.7', topic: where.topic },
    ]);
    expect(server.counts.undispatchable).to.equal(5);
    expect(await bed.client(transport, where).call({}, 'm')).to.equal(1); // its one slot is free
    expect(await ready(where.topic)).to.equal(0);
  });

  it('matches arguments by name, and tells the caller of those that are unknown or missing (RPC-13)', async () => {
    const where = source();
    const contract = defineContract({
      version: '1.0',
      methods: {
        add: method({
          since: '1.0',
          kind: 'call',
          args: z.object({ a: z.number(), b: z.number() }),
          result: z.number(),
        }),
      },
    });
    const transport = await bed.connected(bed.url);
    await bed.serve(transport, where, implementContract(contract, { add: (_context, { a, b }) => a - b }));
    const client = bed.client(transport, where);
    expect(await contractClient(client, contract).add({}, { b: 1, a: 3 })).to.equal(2);
    const byHand = client.prepare({ version: '1.0' });
    for (const [args, path] of [
      [{ a: 1 }, 'b'],
      [{ a: 1, b: 2, c: 3 }, 'c'],
    ] as const) {
      const error = await failure(byHand.call({}, 'add', args));
      if (!(error instanceof ValidationError)) throw error;
      expect(JSON.stringify(error.issues)).to.contain(path);
    }
  });

  it('serves several namespaces, none among them, and refuses others and wrong endpoints (RPC-14, RPC-15)', async () => {
    const where = source();
    const transport = await bed.connected(bed.url);
    const target = new Target({ namespace: 'new', version: '1.3', legacyNamespaces: [null, 'old'] });
    await bed.serve(transport, where, { target, m: () => 'ok' });
    const client = bed.client(transport, where).prepare({ version: '1.2' });
    for (const namespace of ['new', 'old', null])
      expect(await client.prepare({ namespace }).call({}, 'm')).to.equal('ok');
    const refused = await failure(client.prepare({ namespace: 'other' }).call({}, 'm'));
    expect(refused).to.include({ code: 'ERR_UNSUPPORTED_VERSION', method: 'm', version: '1.2' });
    class Wrong {
      target = 'none';
    }
    const serving = await rejectionOf(bed.serve(transport, where, new Wrong()));
    expect(serving).to.be.instanceOf(TypeError).with.property('message').that.contains('Wrong');
  });

  it('hands user, password and virtual host to the broker as they are, decoded once (CORE-08, SEC-04)', async () => {
    const [user, password, vhost] = ['us@er:%41/ä', 'p/a:s@s%2F ?#,ö', '/v%2F h,ä'];
    await bed.node.view.addVhost(vhost);
    await bed.node.addUser(user, password, vhost);
    const authority = `${encodeURIComponent(user)}:${encodeURIComponent(password)}@127.0.0.1`;
    const url = `rabbit://${authority}:${String(bed.node.port)}/${encodeURIComponent(vhost)}`;
    const where = source();
    const transport = await bed.connected(url);
    const heard = await bed.listen(transport, where);
    await send(transport, toTopic(where), 'x');
    await eventually('the message', WAIT_MS, () => heard.texts.length === 1);
    const connections = await bed.node.view.connections(vhost);
    expect(connections.map((one) => [one.user, one.vhost])).to.deep.equal([
      [user, vhost],
      [user, vhost],
    ]);
    expect(bed.log.ordinaryText()).not.to.contain(password);
    await transport.close();
    await bed.node.view.deleteVhost(vhost);
  });

  it('tells of each call with its own topic, method and outcome, many at the same time (CORE-12)', async () => {
    const transport = await bed.connected(bed.url);
    const places = Array.from({ length: 4 }, () => source());
    const fail = (): never => {
      throw new Error('no');
    };
    for (const where of places) await bed.serve(transport, where, { good: () => 1, fail });
    const told: CallDiagnostic[] = [];
    const topics = new Set(places.map(({ topic }) => topic));
    const note = (message: unknown): void => {
      const one = message as CallDiagnostic; // by the contract of the channel
      if (one.topic !== undefined && topics.has(one.topic)) told.push(one);
    };
    subscribe('ebbgate.rpc.client', note);
    try {
      const calls = places.flatMap((where, index) =>
        ['good', 'fail', 'none'].map((name) => {
          const client = bed.client(transport, where);
          return client.call({}, index % 2 === 0 ? name : 'good').catch(() => undefined);
        }),
      );
      await Promise.all(calls);
    } finally {
      unsubscribe('ebbgate.rpc.client', note);
    }
    const seen = told.map(({ topic, method: name, code, outcome }) => [topic, name, outcome, code].join());
    const expected = places.flatMap(({ topic }, index) =>
      index % 2 === 0
        ? [`${topic},good,ok,`, `${topic},fail,error,ERR_REMOTE`, `${topic},none,error,ERR_NO_SUCH_METHOD`]
        : Array<string>(3).fill(`${topic},good,ok,`),
    );
    expect(seen.toSorted()).to.deep.equal(expected.toSorted());
  });

  it('holds no slot for a reply that waits for its queue, and drops it with one warning (AMQP-25, AMQP-36)', async () => {
    const where = source();
    const serving = await bed.connected(bed.direct, { kombu_missing_consumer_retry_timeout: 1 });
    const dropped: DroppedMessage[] = [];
    serving.events.on('dropped', (one) => void dropped.push(one));
    const server = await bed.serve(serving, where, { m: () => 'result' }, { slots: 1, prefetch: 1 });
    const other = await stranger();
    const inner = { method: 'm', args: {}, _msg_id: 'a'.repeat(32), _reply_q: 'reply_gone', _unique_id: 'u' };
    const body = JSON.stringify({ 'oslo.version': '2.0', 'oslo.message': JSON.stringify(inner) });
    other.publish(1, { exchange: where.exchange, routingKey: where.topic }, body, JSON_TYPE);
    await eventually('it to run', WAIT_MS, () => server.counts.run === 1);
    const client = bed.client(await bed.connected(bed.url), where);
    while (dropped.length === 0) expect(await client.call({}, 'm')).to.equal('result'); // by the one slot
    expect(server.counts.run).to.be.above(5);
    expect(dropped.map(({ reason }) => reason)).to.deep.equal(['reply-undeliverable']);
    const warnings = bed.log.at('warn').filter((line) => JSON.stringify(line).includes('reply_gone'));
    expect(warnings).to.have.length(1);
  });
});
