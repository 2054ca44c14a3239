import { createTransport, type Transport } from '@ebbgate/core';
import { createRabbitDriver, type RabbitOptions } from '@ebbgate/driver-amqp';
import { RpcClient, RpcServer, type RpcServerOptions } from '@ebbgate/rpc';
import { expect } from 'chai';
import { afterEach, before, beforeEach, describe, it } from 'mocha';
import { CapturedLog } from '../support/captured-log.js';
import { type Deferred, deferred, rejectionOf } from '../support/deferred.js';
import { eventually, within } from '../support/rigs/deadline.js';
import { FaultProxy } from '../support/rigs/fault-proxy.js';
import type { RabbitNode } from '../support/rigs/rabbitmq.js';
import { sharedRabbit } from '../support/rigs/shared-rabbit.js';
import { readCapture } from './replay/capture.js';

const LIMIT_MS = 10_000;
const TARGET = { topic: 'compute', server: 'server-1' };

describe('recorded cases that need a broker', function () {
  this.timeout(30_000);
  let rabbit: RabbitNode;
  let url: string;
  const log = new CapturedLog();
  const transports: Transport[] = [];
  const servers: RpcServer[] = [];

  before(async () => {
    rabbit = await sharedRabbit();
  });

  beforeEach(async () => {
    url = await rabbit.vhost();
  });

  afterEach(async () => {
    await Promise.all(servers.splice(0).map(end));
    await Promise.all(transports.splice(0).map((transport) => transport.close()));
  });

  async function end(server: RpcServer): Promise<void> {
    await server.stop();
    await server.wait({ timeoutMs: LIMIT_MS });
  }

  function connect(options: RabbitOptions = {}, at = url): Transport {
    const quick = { kombu_reconnect_delay: 0.05, connect_timeout: 2 };
    const transport = createTransport(at, {
      drivers: [createRabbitDriver({ ...quick, ...options })],
      logger: log,
    });
    transports.push(transport);
    return transport;
  }

  async function serve(
    transport: Transport,
    endpoint: object,
    options: RpcServerOptions = {},
  ): Promise<RpcServer> {
    const server = new RpcServer(transport, TARGET, [endpoint], options);
    servers.push(server);
    await server.start();
    return server;
  }

  function vhost(): string {
    return new URL(url).pathname.slice(1);
  }

  async function queueNames(): Promise<string[]> {
    return (await rabbit.view.queues(vhost())).map(({ name }) => name);
  }

  it('call_expired_request: a request that nobody took in time is never run (RPC-02)', async () => {
    const transport = connect();
    await end(await serve(transport, {}));
    const client = new RpcClient(transport, { topic: 'compute' }, { timeoutMs: 300 });
    expect(await rejectionOf(client.call({}, 'record', { n: 1 }))).to.include({ code: 'ERR_TIMEOUT' });
    const seen: unknown[] = [];
    await serve(transport, { record: (_context: unknown, args: object) => seen.push(args) });
    await client.prepare({ timeoutMs: LIMIT_MS }).call({}, 'record', { n: 2 });
    expect(seen).to.deep.equal([{ n: 2 }]);
  });

  for (const name of ['durable_conflict', 'head/head_durable_conflict']) {
    it(`${name}: server and client are told of the conflict, and nothing is declared instead (W23, AMQP-21)`, async () => {
      await serve(connect(), {});
      const outcome = readCapture(name).outcome['call echo']?.[0];
      expect(outcome?.raised?.type ?? 'returned').to.equal(
        name.startsWith('head') ? 'returned' : 'MessageDeliveryFailure',
      );
      const other = connect({ amqp_durable_queues: true });
      const server = new RpcServer(other, { topic: 'other', server: 'server-2' }, [{}]);
      const started = await rejectionOf(server.start());
      expect(started).to.include({ code: 'ERR_SERVER_LISTEN' });
      expect(String(started.cause)).to.match(/durable/);
      const client = new RpcClient(other, { topic: 'compute' }, { timeoutMs: LIMIT_MS });
      const refused = await rejectionOf(client.call({}, 'echo', { value: 1 }));
      expect(refused).to.include({ code: 'ERR_CONFIGURATION' });
      expect(refused.message).to.match(/durable/);
      expect(
        (await rabbit.view.exchanges(vhost())).find((one) => one.name === 'openstack')?.durable,
      ).to.equal(false);
      expect(await queueNames()).to.not.include('other');
    });
  }

  /** A server whose method waits until the test lets it go. */
  async function held(transport: Transport): Promise<{ go: Deferred<void>; running: Promise<void> }> {
    const go = deferred();
    const running = deferred();
    await serve(transport, {
      echo: (_context: unknown, { value }: { value?: unknown }) => value,
      wait_for_go: async (_context: unknown, { n }: { n?: unknown }) => {
        running.resolve();
        await go.promise;
        return n;
      },
    });
    return { go, running: running.promise };
  }

  for (const name of ['reconnect', 'head/reconnect']) {
    it(`${name}: a call outlives the cut of every connection of both sides (AMQP-35, RPC-01)`, async () => {
      const { outcome } = readCapture(name);
      const steps = Object.values(outcome).map(([seen]) => seen?.returned);
      const proxy = await FaultProxy.start({ port: rabbit.port });
      try {
        const { go, running } = await held(connect({}, proxy.url(url)));
        const client = new RpcClient(
          connect({}, proxy.url(url)),
          { topic: 'compute' },
          { timeoutMs: LIMIT_MS },
        );
        const seen = [await client.call({}, 'echo', { value: 1 })];
        const across = client.call({}, 'wait_for_go', { n: 5 });
        await running;
        proxy.cut('rst');
        go.resolve();
        seen.push(await across, await client.call({}, 'echo', { value: 2 }));
        expect(seen).to.deep.equal(steps);
      } finally {
        await Promise.all(transports.splice(0).map((transport) => transport.close()));
        await proxy.close();
      }
    });
  }

  it('reply_queue_deleted: it is declared again by the same name, and the reply arrives (AMQP-25)', async () => {
    const { go, running } = await held(connect());
    const client = new RpcClient(connect(), { topic: 'compute' }, { timeoutMs: LIMIT_MS });
    const call = client.call({}, 'wait_for_go', { n: 5 });
    await running;
    const queue = (await queueNames()).find((one) => one.startsWith('reply_')) ?? 'none';
    await rabbit.view.deleteQueue(vhost(), queue);
    go.resolve();
    const [recorded] = Object.values(readCapture('reply_queue_deleted').outcome);
    expect(await within('the reply', LIMIT_MS, call)).to.equal(recorded?.[0]?.returned);
    expect(await queueNames()).to.include(queue);
  });

  it('requests_between_stop_and_wait: stay at the broker for the next server (W13, AMQP-38)', async () => {
    const { outcome } = readCapture('requests_between_stop_and_wait');
    expect(outcome['the endpoint saw']).to.deep.equal([{ n: 'before stop' }]); // Python has lost three
    const seen: unknown[] = [];
    const endpoint = { record: (_context: unknown, { n }: { n?: unknown }) => seen.push(n) };
    const first = await serve(connect(), endpoint);
    const client = new RpcClient(connect(), { topic: 'compute' });
    await client.call({}, 'record', { n: 'before stop' });
    await first.stop();
    for (const n of [0, 1, 2]) await client.cast({}, 'record', { n });
    await first.wait();
    expect(seen).to.deep.equal(['before stop']);
    await serve(connect(), endpoint);
    await eventually('the three', LIMIT_MS, () => seen.length === 4);
    expect(seen).to.deep.equal(['before stop', 0, 1, 2]);
  });

  it('stop_and_wait: all that was fetched is run and answered (AMQP-39, RPC-05)', async () => {
    const entered = deferred();
    const sleep = async (): Promise<string> => {
      entered.resolve();
      await new Promise((resolve) => setTimeout(resolve, 50));
      return 'slept 1';
    };
    const server = await serve(connect(), { sleep }, { slots: 1 });
    const client = new RpcClient(connect(), { topic: 'compute' }, { timeoutMs: LIMIT_MS });
    const calls = [1, 2, 3].map(() => client.call({}, 'sleep', { seconds: 1 }));
    await entered.promise;
    await eventually('all fetched', LIMIT_MS, () => server.running + server.waiting === 3);
    await server.stop();
    await server.wait();
    const recorded = Object.values(readCapture('stop_and_wait').outcome).flatMap((seen) =>
      Array.isArray(seen) ? [(seen[0] as { returned?: unknown }).returned] : [],
    );
    expect(await Promise.all(calls)).to.deep.equal(recorded);
  });
});
