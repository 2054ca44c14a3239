import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { connect as tlsConnect } from 'node:tls';
import { expect } from 'chai';
import { after, afterEach, before, describe, it } from 'mocha';
import { rejectionOf } from '../support/deferred.js';
import { AmqpClient } from '../support/rigs/amqp-client.js';
import { eventually, within } from '../support/rigs/deadline.js';
import { FaultProxy } from '../support/rigs/fault-proxy.js';
import { RabbitNode } from '../support/rigs/rabbitmq.js';
import { sharedRabbit } from '../support/rigs/shared-rabbit.js';

const LIMIT_MS = 10_000;

/** Starts a node, suspends it, says where it is, and waits to be killed. */
const LEAVES_A_NODE = `
  import { RabbitNode } from '${new URL('../support/rigs/rabbitmq.js', import.meta.url).href}';
  const node = await RabbitNode.start();
  node.suspend();
  console.log(JSON.stringify(node.whereabouts));
  setInterval(() => undefined, 60_000);
`;

describe('a private RabbitMQ', function () {
  this.timeout(60_000);
  let rabbit: RabbitNode;
  let vhost: string;
  const clients: AmqpClient[] = [];

  before(async () => {
    rabbit = await sharedRabbit();
    vhost = new URL(await rabbit.vhost()).pathname.slice(1);
  });

  afterEach(async () => {
    for (const client of clients.splice(0)) await client.close();
  });

  async function open(login: { port?: number; user?: string; password?: string } = {}): Promise<AmqpClient> {
    const { port = rabbit.port, user = rabbit.user, password = rabbit.password } = login;
    const opening = AmqpClient.open({ port, user, password, vhost });
    const client = await within('the connection', LIMIT_MS, opening);
    clients.push(client);
    await client.ask(1, 'channel.open');
    return client;
  }

  it('tells what is in a virtual host', async () => {
    const client = await open();
    const args = { 'x-expires': 600_000 };
    await client.ask(1, 'exchange.declare', { exchange: 'e', type: 'fanout', autoDelete: true });
    await client.ask(1, 'queue.declare', { queue: 'q', durable: true, arguments: args });
    await client.ask(1, 'queue.bind', { queue: 'q', exchange: 'e', routingKey: 'r' });
    await client.ask(1, 'confirm.select');
    client.publish(1, { exchange: 'e', routingKey: 'x' }, 'one');
    client.publish(1, { exchange: 'e', routingKey: 'x' }, 'two');
    await client.ask(1, 'basic.qos', { prefetchCount: 1 });
    await client.ask(1, 'basic.consume', { queue: 'q', consumerTag: 'c' });
    await client.next('basic.deliver');
    const [queue] = await rabbit.view.queues(vhost);
    expect(queue).to.deep.equal({
      name: 'q',
      type: 'classic',
      durable: true,
      auto_delete: false,
      exclusive: false,
      arguments: args,
      messages: 2,
      messages_ready: 1,
      messages_unacknowledged: 1,
      consumers: 1,
    });
    expect(await rabbit.view.exchanges(vhost)).to.deep.equal([
      { name: 'e', type: 'fanout', durable: false, auto_delete: true, internal: false, arguments: {} },
    ]);
    const [binding] = await rabbit.view.bindings(vhost);
    expect(binding).to.deep.include({ source_name: 'e', destination_name: 'q', routing_key: 'r' });
    const [consumer] = await rabbit.view.consumers(vhost);
    expect(consumer).to.deep.include({ queue_name: 'q', consumer_tag: 'c', ack_required: true });
    const [connection] = await rabbit.view.connections(vhost);
    expect(connection).to.deep.include({ user: rabbit.user, vhost, state: 'running', channels: 1 });
    expect(connection?.client_properties['capabilities']).to.have.property('connection.blocked', true);
    const [channel] = await rabbit.view.channels(vhost);
    expect(channel).to.deep.include({ number: 1, confirm: true, consumer_count: 1 });
  });

  it('deletes queues and exchanges and closes connections behind a client', async () => {
    const client = await open();
    await client.ask(1, 'queue.declare', { queue: 'doomed' });
    await client.ask(1, 'exchange.declare', { exchange: 'doomed', type: 'direct' });
    await client.ask(1, 'basic.consume', { queue: 'doomed', consumerTag: 'c' });
    await rabbit.view.deleteQueue(vhost, 'doomed');
    await rabbit.view.deleteExchange(vhost, 'doomed');
    expect((await rabbit.view.queues(vhost)).map(({ name }) => name)).to.not.include('doomed');
    expect((await rabbit.view.exchanges(vhost)).map(({ name }) => name)).to.not.include('doomed');
    expect(await rabbit.view.closeConnections(vhost, 'maintenance')).to.equal(1);
    expect((await rejectionOf(within('the close', LIMIT_MS, client.next('nothing')))).message).to.match(
      /^320 .*maintenance/,
    );
  });

  it('adds users with the rights given, and refuses a wrong password', async () => {
    await rabbit.addUser('reader', 'p', vhost, { configure: '^$', write: '^$' });
    const client = await open({ user: 'reader', password: 'p' });
    client.send(1, 'queue.declare', { queue: 'mine' });
    expect((await rejectionOf(client.next('queue.declare-ok'))).message).to.match(/^403 ACCESS_REFUSED/);
    expect((await rejectionOf(open({ password: 'wrong' }))).message).to.match(/^403 ACCESS_REFUSED/);
  });

  for (const alarm of ['memoryAlarm', 'diskAlarm'] as const)
    it(`blocks who publishes by the ${alarm}, and no longer`, async () => {
      const client = await open();
      await rabbit[alarm](true);
      try {
        client.publish(1, { routingKey: 'q' }, 'x');
        await within('blocked', LIMIT_MS, client.next('connection.blocked'));
      } finally {
        await rabbit[alarm](false);
      }
      await within('unblocked', LIMIT_MS, client.next('connection.unblocked'));
    });

  it('speaks TLS with a certificate of the local authority', async () => {
    const ca = readFileSync(rabbit.tls.ca);
    const socket = tlsConnect({ port: rabbit.tlsPort, host: 'localhost', ca });
    await within('TLS', LIMIT_MS, once(socket, 'secureConnect'));
    expect(socket.authorized).to.equal(true);
    const { port, user, password } = rabbit;
    clients.push(await within('AMQP', LIMIT_MS, AmqpClient.open({ port, user, password, vhost }, socket)));
    const stranger = tlsConnect({ port: rabbit.tlsPort, host: '127.0.0.1' });
    const [error] = (await once(stranger, 'error')) as [NodeJS.ErrnoException];
    expect(error.code).to.equal('SELF_SIGNED_CERT_IN_CHAIN');
  });

  it('stops answering while suspended, and goes on', async () => {
    const client = await open();
    rabbit.suspend();
    try {
      client.send(1, 'queue.declare', { queue: 'later' });
      const answer = client.next('queue.declare-ok');
      expect((await rejectionOf(within('the answer', 200, answer))).message).to.match(/not within/);
      client.send(1, 'queue.declare', { queue: 'later' });
    } finally {
      rabbit.resume();
    }
    await within('the answer', LIMIT_MS, client.next('queue.declare-ok'));
  });

  it('keeps what is durable over a restart, and over SIGKILL', async () => {
    const client = await open();
    await client.ask(1, 'queue.declare', { queue: 'kept', durable: true });
    await client.ask(1, 'queue.declare', { queue: 'lost' });
    for (const how of ['stop', 'kill'] as const) {
      await rabbit.restart(how);
      const names = (await rabbit.view.queues(vhost)).map(({ name }) => name);
      expect(names).to.include('kept');
      expect(names).to.not.include('lost');
    }
    await within('the client', LIMIT_MS, client.closed);
    expect(rabbit.running).to.equal(true);
  });

  it('is reached through the fault proxy', async () => {
    const proxy = await FaultProxy.start({ port: rabbit.port });
    try {
      const client = await open({ port: proxy.port });
      const [link] = proxy.links;
      const ports = (await rabbit.view.connections(vhost)).map(({ peer_port }) => peer_port);
      expect(ports).to.include(link?.serverSidePort);
      link?.cut('rst');
      await within('the cut', LIMIT_MS, client.closed);
      await eventually('the broker notices', LIMIT_MS, async () => {
        const left = await rabbit.view.connections(vhost);
        return left.every(({ peer_port }) => peer_port !== link?.serverSidePort);
      });
    } finally {
      await proxy.close();
    }
  });

  it('runs its commands, says what it has logged, and gives URLs', async () => {
    expect(await rabbit.ctl('list_vhosts', '--formatter', 'json')).to.include(vhost);
    expect((await rejectionOf(rabbit.view.evaluate('no:such()'))).message).to.include('undef');
    expect(await rabbit.log()).to.include('Starting RabbitMQ');
    const url = rabbit.url('a/b', { scheme: 'rabbits', host: 'localhost', port: rabbit.tlsPort });
    expect(url).to.equal(`rabbits://tester:${rabbit.password}@localhost:${rabbit.tlsPort}/a%2Fb`);
  });

  describe('of its own', () => {
    const kept = mkdtempSync(join(tmpdir(), 'ebbgate-kept-'));

    after(() => rmSync(kept, { recursive: true }));

    it('runs beside another, with settings of its own, and leaves nothing but the logs kept', async () => {
      const [one, other] = await Promise.all([
        RabbitNode.start({ config: ['{channel_max, 7}'] }),
        RabbitNode.start({ tls: ['DNS:wrong.example'] }),
      ]);
      try {
        expect(one.port).to.not.equal(other.port);
        expect(await one.view.evaluate('{ok, Max} = application:get_env(rabbit, channel_max), Max')).to.equal(
          7,
        );
        const socket = tlsConnect({ port: other.tlsPort, host: 'localhost', ca: readFileSync(other.tls.ca) });
        const [error] = (await once(socket, 'error')) as [NodeJS.ErrnoException];
        expect(error.code).to.equal('ERR_TLS_CERT_ALTNAME_INVALID');
        const logs = await one.keepLogs(kept);
        expect(readFileSync(join(logs, `${one.name}.log`), 'utf8')).to.include('Starting RabbitMQ');
        expect(() => one.tls).to.throw('without the option tls');
      } finally {
        const folder = other.whereabouts.folder;
        await Promise.all([one.dispose(), other.dispose()]);
        expect(existsSync(folder)).to.equal(false);
      }
    });

    it('says why it did not start', async () => {
      const error = await rejectionOf(RabbitNode.start({ config: ['{tcp_listeners, "nonsense"}'] }));
      expect(error.message).to.match(/did not start/);
    });

    it('ends with the process that started it, also when that is killed and the node suspended', async () => {
      const child = spawn(process.execPath, ['--input-type=module', '--eval', LEAVES_A_NODE], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const [line] = (await within('the node', 40_000, once(createInterface(child.stdout), 'line'))) as [
        string,
      ];
      const { pid, folder } = JSON.parse(line) as { pid: number; folder: string };
      expect(existsSync(`/proc/${pid}`)).to.equal(true);
      child.kill('SIGKILL');
      await eventually('its end', LIMIT_MS, () => !existsSync(folder));
    });
  });
});
