import { createTransport, Target, type Transport } from '@ebbgate/core';
import { createAmqp10Driver } from '@ebbgate/driver-amqp';
import { NotificationListener, Notifier } from '@ebbgate/notify';
import { RpcClient, RpcServer } from '@ebbgate/rpc';
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import { eventually, within } from '../support/rigs/deadline.js';
import type { OsloPeer } from '../support/rigs/python-oslo.js';
import { LIMIT_MS, Live, pythonCall } from './live.js';

describe('one topic over AMQP 1.0, over 0-9-1 and by Python', function () {
  this.timeout(60_000);
  let live: Live;
  let python: OsloPeer;
  let modern: Transport;
  const servers: (RpcServer | NotificationListener)[] = [];

  before(async () => {
    live = await Live.start();
    python = await live.python();
    modern = createTransport(live.url.replace('rabbit:', 'amqp10:'), {
      drivers: [createAmqp10Driver()],
      logger: live.log,
    });
  });

  after(async () => {
    await Promise.all(servers.map((server) => server.stop()));
    await Promise.all(servers.map((server) => server.wait({ timeoutMs: LIMIT_MS })));
    await modern.close();
    await live.close();
  });

  const endpoint = (name: string, seen: string[] = []) => ({
    who: () => name,
    value: (_context: unknown, { value }: { value: unknown }) => value,
    note: (_context: unknown, { text }: { text: string }) => void seen.push(`${name} ${text}`),
    fail: () => {
      throw new RangeError('out of reach');
    },
  });

  async function serve(topic: string, server: string, seen: string[] = []): Promise<void> {
    const one = new RpcServer(modern, { topic, server }, [endpoint(server, seen)]);
    servers.push(one);
    await one.start();
  }

  it('a call from each is answered by each of the others (AMQP-02, RPC-05)', async () => {
    await serve('by-10', 'ten');
    await live.serve({ topic: 'by-091', server: 'nine' }, new Target());
    await python.send({ command: 'start_server', topic: 'by-python', server: 'py' });
    const value = { text: 'café 日本 😀', list: [1, null, true] };
    const overTen = (topic: string) => new RpcClient(modern, { topic }, { timeoutMs: LIMIT_MS });
    expect(await overTen('by-091').call({}, 'value', { value })).to.deep.equal(value);
    expect(await overTen('by-python').call({}, 'echo', { value })).to.deep.equal({ value });
    expect(await overTen('by-10').call({}, 'value', { value })).to.deep.equal(value);
    expect(await live.client({ topic: 'by-10' }).call({}, 'value', { value })).to.deep.equal(value);
    const args = { value };
    expect(await pythonCall(python, { topic: 'by-10', method: 'value', args })).to.deep.equal(value);
    expect(await pythonCall(python, { topic: 'by-10', server: 'ten', method: 'who', args: {} })).to.equal(
      'ten',
    );
  });

  it('servers of either protocol share what comes to a topic, and a fanout reaches all (AMQP-07, CORE-06)', async () => {
    const seen: string[] = [];
    await serve('shared', 'ten', seen);
    const nine = new RpcServer(live.transport, { topic: 'shared', server: 'nine' }, [endpoint('nine', seen)]);
    servers.push(nine);
    await nine.start();
    const client = live.client({ topic: 'shared' });
    const answered = new Set<unknown>();
    await eventually('both have answered', LIMIT_MS, async () => {
      answered.add(await client.call({}, 'who'));
      return answered.size === 2;
    });
    await new RpcClient(modern, { topic: 'shared' })
      .prepare({ fanout: true })
      .cast({}, 'note', { text: 'ten' });
    await client.prepare({ fanout: true }).cast({}, 'note', { text: 'nine' });
    await python.send({ command: 'fanout', topic: 'shared', method: 'note', args: { text: 'py' } });
    await eventually('all fanouts', LIMIT_MS, () => seen.length === 6);
    expect(seen.toSorted()).to.deep.equal([
      'nine nine',
      'nine py',
      'nine ten',
      'ten nine',
      'ten py',
      'ten ten',
    ]);
  });

  it('notifications of each are heard by the others, from one queue and in pools (AMQP-24)', async () => {
    const topics = ['mixed'];
    const listenAt = async (transport: Transport, pool?: string): Promise<string[]> => {
      const seen: string[] = [];
      const endpoint = {
        info: (_context: unknown, { eventType }: { eventType: string }) => void seen.push(eventType),
      };
      const options = pool === undefined ? {} : { pool };
      const listener = new NotificationListener(transport, [{ topic: 'mixed' }], [endpoint], options);
      servers.push(listener);
      await listener.start();
      return seen;
    };
    const pools = [await listenAt(modern, 'ten'), await listenAt(live.transport, 'nine')];
    await new Notifier(modern, { topics }).info({}, 'by.ten', { text: 'café 😀' });
    await new Notifier(live.transport, { topics }).info({}, 'by.nine', 1);
    await python.send({
      ...{
        command: 'notify',
        driver: 'messagingv2',
        priority: 'info',
        event_type: 'by.py',
        payload: 2,
        topics,
      },
    });
    for (const seen of pools) await eventually('all three in each pool', LIMIT_MS, () => seen.length === 3);
    await python.send({ command: 'start_listener', name: 'mixed', topics, priorities: ['info'] });
    const heard: string[] = [];
    for (let n = 0; n < 3; n += 1)
      heard.push((await within('at Python', LIMIT_MS, python.handling('info'))).topic);
    const all = ['by.nine', 'by.py', 'by.ten'];
    expect([heard, ...pools].map((seen) => seen.toSorted())).to.deep.equal([all, all, all]);
  });

  it('an error keeps its identity, and a topic that nobody has ever served is told at once (RPC-16, AMQP-33)', async () => {
    await serve('errors', 'ten');
    const error = await live
      .client({ topic: 'errors' })
      .call({}, 'fail')
      .catch((thrown: unknown) => thrown);
    expect(error).to.be.instanceOf(Error).and.have.property('message').that.contains('out of reach');
    const nobody = await new RpcClient(modern, { topic: 'nobody' })
      .call({}, 'who')
      .catch((thrown: unknown) => thrown);
    expect(nobody).to.have.property('code', 'ERR_UNDELIVERABLE');
  });
});
