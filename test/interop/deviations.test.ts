import { setTimeout as pause } from 'node:timers/promises';
import { createTransport } from '@ebbgate/core';
import { createRabbitDriver } from '@ebbgate/driver-amqp';
import { RpcClient, RpcServer } from '@ebbgate/rpc';
import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { CapturedLog } from '../support/captured-log.js';
import { deferred, rejectionOf } from '../support/deferred.js';
import { enveloped } from '../support/recorded.js';
import { eventually, within } from '../support/rigs/deadline.js';
import { sharedRabbit } from '../support/rigs/shared-rabbit.js';
import { innerOf, textIn } from './replay/capture.js';
import { asRecorded } from './replay/client.js';
import { OurSide } from './replay/our-side.js';

const LIMIT_MS = 5_000;
const PROPERTIES = { contentType: 'application/json' };
const CALL = { _msg_id: 'a'.repeat(32), _reply_q: 'reply_x', _timeout: null };

describe('deviations on purpose that no recording meets', function () {
  this.timeout(20_000);
  let side: OurSide;

  beforeEach(async () => {
    side = await OurSide.start();
  });

  afterEach(() => side.close());

  async function serve(endpoint: object, slots = 64): Promise<RpcServer> {
    const server = new RpcServer(side.transport, { topic: 'compute', server: 'one' }, [endpoint], { slots });
    await server.start();
    return server;
  }

  function deliver(tag: number, inner: object, more: object = {}): void {
    const consume = side.peer.received('basic.consume')[0];
    const properties = { ...PROPERTIES, ...more };
    consume?.connection.deliver(consume.channel, 'amq.ctag-compute', tag, {
      properties,
      body: enveloped(inner),
    });
  }

  async function failureOf(index: number): Promise<Record<string, unknown>> {
    await within('the reply', LIMIT_MS, side.peer.next('basic.publish'));
    const event = side.peer.received('basic.publish')[index];
    return JSON.parse(textIn(event && innerOf(asRecorded(event)), 'failure')) as Record<string, unknown>; // an object, as the wire has it
  }

  it('deletes the reply queue and the fanout queue on an orderly end (W4, AMQP-37)', async () => {
    const server = await serve({});
    const client = new RpcClient(side.transport, { topic: 'compute' }, { timeoutMs: 30 });
    expect(await rejectionOf(client.call({}, 'm'))).to.include({ code: 'ERR_TIMEOUT' });
    await server.stop();
    await server.wait();
    await side.transport.close();
    const deleted = side.peer.received('queue.delete').map(({ args }) => String(args['queue']));
    expect(deleted).to.have.lengthOf(2);
    expect(deleted[0]).to.match(/^compute_fanout_[0-9a-f]{32}$/);
    expect(deleted[1]).to.match(/^reply_[0-9a-f]{32}$/);
  });

  it('encodes only the names that RabbitMQ would not hold, or take for others (W6, CORE-06)', async () => {
    await new RpcClient(side.transport, { topic: 'plain-name.1_ä' }).cast({}, 'm');
    await new RpcClient(side.transport, { topic: 'a.*' }).cast({}, 'm');
    const keys = side.peer.received('basic.publish').map(({ args }) => String(args['routingKey']));
    expect(keys[0]).to.equal('plain-name.1_ä');
    expect(keys[1]).to.match(/^%ebbgate:a__:[0-9a-f]{64}$/);
  });

  it('verifies the chain and the host name of every TLS connection (W7, SEC-03)', async () => {
    const rabbit = await sharedRabbit();
    const vhost = new URL(await rabbit.vhost()).pathname.slice(1);
    const attempt = async (host: string, options: object): Promise<string> => {
      const url = rabbit.url(vhost, { scheme: 'rabbits', host, port: rabbit.tlsPort });
      const log = new CapturedLog();
      const transport = createTransport(url, {
        drivers: [createRabbitDriver(options)],
        logger: log,
        sendTimeoutMs: 1_500,
      });
      try {
        await transport.connect();
        return 'connected';
      } catch {
        return log.ordinaryText();
      } finally {
        await transport.close();
      }
    };
    const known = { ssl_ca_file: rabbit.tls.ca };
    const [good, unknownChain, otherName] = await Promise.all([
      attempt('localhost', known),
      attempt('localhost', {}),
      attempt('127.1', known), // the same address by a name that the certificate does not have,
    ]);
    expect(good).to.equal('connected');
    expect(unknownChain).to.match(/certificate/);
    expect(otherName).to.match(/altnames/i);
  });

  it('refuses a version of null by that name, and a missing one means 1.0 (W9, RPC-12)', async () => {
    const server = await serve({ m: () => 'ran' });
    deliver(1, { method: 'm', args: {}, ...CALL, version: null });
    const failure = await failureOf(0);
    expect(failure).to.include({ class: 'UnsupportedVersion', module: 'oslo_messaging.rpc.dispatcher' });
    expect(failure['message']).to.equal('Endpoint does not support RPC version null. Attempted method: m');
    deliver(2, { method: 'm', args: {}, ...CALL });
    await within('the reply', LIMIT_MS, side.peer.next('basic.publish'));
    const reply = side.peer.received('basic.publish')[1];
    expect(reply ? innerOf(asRecorded(reply)) : {}).to.include({ result: 'ran', failure: null });
    await server.stop();
    await server.wait();
  });

  it('names plain errors as Python does, and others by their class under ebbgate (W10, RPC-16)', async () => {
    class OutOfStock extends Error {}
    const thrown = [new TypeError('t'), new RangeError('r'), new Error('e'), new OutOfStock('o')];
    const server = await serve({
      m: (_context: unknown, { n }: { n?: number }) => {
        throw thrown[n ?? 0] ?? new Error('no such');
      },
    });
    const names: unknown[] = [];
    for (const n of thrown.keys()) {
      deliver(n + 1, { method: 'm', args: { n }, ...CALL });
      const { module, class: name } = await failureOf(n);
      names.push(`${String(module)}.${String(name)}`);
    }
    expect(names).to.deep.equal([
      'builtins.TypeError',
      'builtins.ValueError',
      'builtins.RuntimeError',
      'ebbgate.OutOfStock',
    ]);
    await server.stop();
    await server.wait();
  });

  it('never runs a request whose time has passed while it waited for a slot (W27, RPC-02)', async () => {
    const gate = deferred();
    const seen: unknown[] = [];
    const server = await serve(
      {
        m: async (_context: unknown, { n }: { n?: unknown }) => {
          seen.push(n);
          await gate.promise;
        },
      },
      1,
    );
    const dropped = new Promise((resolve) => side.transport.events.on('dropped', resolve));
    deliver(1, { method: 'm', args: { n: 1 } });
    deliver(2, { method: 'm', args: { n: 2 }, ...CALL }, { expiration: '20' });
    deliver(3, { method: 'm', args: { n: 3 } });
    await pause(40); // the time of the second passes: this is what it is about
    gate.resolve();
    expect(await within('the drop', LIMIT_MS, dropped)).to.include({ reason: 'expired' });
    await server.stop();
    await server.wait();
    expect(seen).to.deep.equal([1, 3]);
  });

  it('has no consumers while all its slots are taken for long, and has them again when one is free (W33, AMQP-10)', async () => {
    const gate = deferred();
    const options = { slots: 1, prefetch: 2, stallMs: 50, maxHeldMs: 100 };
    const server = new RpcServer(
      side.transport,
      { topic: 'compute', server: 'one' },
      [{ m: () => gate.promise }],
      options,
    );
    await server.start();
    deliver(1, { method: 'm', args: {} });
    deliver(2, { method: 'm', args: {} });
    for (let queues = 0; queues < 3; queues += 1)
      await within('a cancel', LIMIT_MS, side.peer.next('basic.cancel'));
    const back = await within('what waited to go back', LIMIT_MS, side.peer.next('basic.reject'));
    expect(back.args).to.deep.equal({ deliveryTag: 2, requeue: true });
    expect(side.peer.received('basic.consume')).to.have.lengthOf(3);
    expect(side.peer.received('queue.delete')).to.deep.equal([]);
    gate.resolve();
    await eventually('the consumers', LIMIT_MS, () => side.peer.received('basic.consume').length === 6);
    await server.stop();
    await server.wait();
  });

  it('sends dates with milliseconds and their zone (W32)', async () => {
    await new RpcClient(side.transport, { topic: 't' }).cast({}, 'm', { at: new Date(1_706_933_106_007) });
    const [event] = side.peer.received('basic.publish');
    const { args } = event ? innerOf(asRecorded(event)) : {};
    expect(args).to.deep.equal({ at: '2024-02-03T04:05:06.007Z' });
  });
});
