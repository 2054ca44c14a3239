import { createTransport, type Transport } from '@ebbgate/core';
import { createAmqp10Driver } from '@ebbgate/driver-amqp';
import { RpcClient, RpcServer } from '@ebbgate/rpc';
import { expect } from 'chai';
import { afterEach, describe, it } from 'mocha';
import { CapturedLog } from '../support/captured-log.js';
import { eventually } from '../support/rigs/deadline.js';
import { ProtonBroker, protonCall } from '../support/rigs/proton.js';
import { sharedRabbit } from '../support/rigs/shared-rabbit.js';

const LIMIT_MS = 15_000;

describe('AMQP 1.0 with Qpid Proton', function () {
  this.timeout(60_000);
  const undo: (() => unknown)[] = [];

  afterEach(async () => {
    for (const each of undo.splice(0).reverse()) await each();
  });

  function transportTo(url: string): Transport {
    const transport = createTransport(url, { drivers: [createAmqp10Driver()], logger: new CapturedLog() });
    undo.push(() => transport.close());
    return transport;
  }

  async function serve(transport: Transport, server: string, seen: string[] = []): Promise<void> {
    const endpoint = {
      echo: (_context: unknown, args: object) => args,
      note: (_context: unknown, { text }: { text: string }) => void seen.push(`${server} ${text}`),
    };
    const one = new RpcServer(transport, { topic: 'proton', server }, [endpoint]);
    await one.start();
    undo.push(async () => {
      await one.stop();
      await one.wait();
    });
  }

  it('as a client on RabbitMQ: it calls a server of ours in oslo.messaging’s envelope (AMQP-45, RPC-05)', async () => {
    const rabbit = await sharedRabbit();
    const vhost = await rabbit.vhost();
    const transport = transportTo(vhost.replace('rabbit:', 'amqp10:'));
    await serve(transport, 'one');
    const user = 'proton';
    const name = new URL(vhost).pathname.slice(1);
    await rabbit.addUser(user, 'secret', name);
    const reply = await protonCall({
      url: `amqp://${user}:secret@127.0.0.1:${String(rabbit.port)}`,
      hostName: `vhost:${name}`,
      node: '/amq/queue/proton',
      replies: '/queue/reply_proton',
      method: 'echo',
      args: { text: 'café' },
    });
    expect(reply)
      .to.include({ failure: null, ending: true })
      .and.have.deep.property('result', { text: 'café' });
  });

  for (const replyNode of ['named', 'dynamic'])
    it(`as a broker, with ${replyNode} nodes for replies: calls, casts to one server, and fanouts (AMQP-48, AMQP-42)`, async () => {
      const broker = await ProtonBroker.start();
      undo.push(() => broker.dispose());
      const query = `address_form=plain&sasl_mechanism=ANONYMOUS&reply_node=${replyNode}`;
      const url = `amqp10://127.0.0.1:${String(broker.port)}/?${query}`;
      const seen: string[] = [];
      await serve(transportTo(url), 'one', seen);
      await serve(transportTo(url), 'two', seen);
      const client = new RpcClient(transportTo(url), { topic: 'proton' }, { timeoutMs: LIMIT_MS });
      for (let n = 0; n < 50; n += 1) expect(await client.call({}, 'echo', { n })).to.deep.equal({ n });
      await client.prepare({ server: 'two' }).cast({}, 'note', { text: 'alone' });
      await client.prepare({ fanout: true }).cast({}, 'note', { text: 'all' });
      await eventually('the casts', LIMIT_MS, () => seen.length === 3);
      expect(seen.toSorted()).to.deep.equal(['one all', 'two all', 'two alone']);
    });
});
