import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { inspect } from 'node:util';
import amqplib from 'amqplib';
import { NotificationListener, Notifier } from '@ebbgate/notify';
import { expect } from 'chai';
import { after, afterEach, before, beforeEach, describe, it } from 'mocha';
import { Amqp10Peer } from '../support/rigs/amqp10-peer.js';
import { eventually } from '../support/rigs/deadline.js';
import { privateFolder } from '../support/rigs/private-folder.js';
import type { RabbitNode } from '../support/rigs/rabbitmq.js';
import { sharedRabbit } from '../support/rigs/shared-rabbit.js';
import { tlsFiles } from '../support/rigs/tls-files.js';
import { Amqp10Bed } from './amqp10-bed.js';
import { failure, fresh, send, source, toFanout, toTopic } from './bed.js';

const WAIT_MS = 10_000;
const WRONG = 'wr0ng-s3cret';

describe('AMQP 1.0, with RabbitMQ', function () {
  this.timeout(60_000);
  let node: RabbitNode;
  let vhost: string;
  let bed: Amqp10Bed;

  before(async () => {
    node = await sharedRabbit();
    vhost = decodeURIComponent(new URL(await node.vhost()).pathname.slice(1));
  });

  beforeEach(() => {
    bed = new Amqp10Bed();
  });

  afterEach(() => bed.end());

  const url = (how: Parameters<RabbitNode['url']>[1] = {}): string =>
    node.url(vhost, { scheme: 'amqp10', ...how });
  const secure = (host = 'localhost'): string => url({ scheme: 'amqp10s', host, port: node.tlsPort });
  /** Everything that a failure shows. */
  const shown = (error: unknown): string => inspect([error, bed.log.lines], { depth: 20, showHidden: true });

  it('refused credentials are told, though the broker only falls silent, and not shown (AMQP-18, SEC-04)', async () => {
    const transport = bed.transport(url({ password: WRONG }), { connect_timeout: 10 });
    const error = await failure(transport.connect());
    expect(error.code, error.message).to.equal('ERR_AUTHENTICATION');
    expect(shown(error)).not.to.contain(WRONG);
  });

  it('a broker that speaks another protocol is named, and the plugin that is missing (AMQP-20)', async () => {
    const server = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.end(Buffer.from('AMQP\0\0\x09\x01', 'latin1')); // as RabbitMQ without the plugin does
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    bed.onEnd(() => server.close());
    const { port } = server.address() as { port: number }; // it listens on TCP
    const error = await failure(bed.transport(url({ port }), {}, { sendTimeoutMs: 400 }).connect());
    expect(error.code).to.equal('ERR_DELIVERY');
    expect(error.message).to.contain('rabbitmq_amqp1_0');
  });

  it('TLS works with the right authority and host name, on every connection (SEC-03)', async () => {
    const where = source();
    const transport = await bed.connected(secure(), { ssl_ca_file: node.tls.ca });
    const heard = await bed.listen(transport, where);
    await send(transport, toTopic(where), 'in secret');
    await eventually('the message', WAIT_MS, () => heard.texts.length === 1);
  });

  it('TLS refuses another authority, and a certificate for another host (SEC-03, SEC-04)', async () => {
    const folder = await privateFolder('tls');
    bed.onEnd(() => folder.remove());
    const other = await tlsFiles(folder.path, ['DNS:elsewhere']);
    const short = { sendTimeoutMs: 400 };
    const stranger = await failure(bed.transport(secure(), { ssl_ca_file: other.ca }, short).connect());
    expect(stranger.message).to.match(/certificate/i);
    const [cert, key] = await Promise.all([readFile(other.serverCert), readFile(other.serverKey)]);
    const impostors = createTlsServer({ cert, key }).listen(0, 'localhost');
    await once(impostors, 'listening');
    bed.onEnd(() => impostors.close());
    const { port } = impostors.address() as { port: number }; // it listens on TCP
    const elsewhere = url({ scheme: 'amqp10s', host: 'localhost', port });
    const impostor = await failure(bed.transport(elsewhere, { ssl_ca_file: other.ca }, short).connect());
    expect(impostor.message).to.match(/altnames|does not match/i);
    expect(shown([stranger, impostor])).not.to.contain(node.password);
  });

  it('EXTERNAL logs in by the certificate, to declare, to send and to receive (AMQP-18, SEC-03)', async () => {
    const { ca, clientCert, clientKey } = node.tls;
    const files = { ssl_ca_file: ca, ssl_cert_file: clientCert, ssl_key_file: clientKey };
    const external = { ...files, sasl_mechanism: 'EXTERNAL' } as const;
    const nameless = secure().replace(/\/\/.*@/, '//');
    await node.addUser('client', WRONG, vhost); // the common name of the certificate; the password is not asked for
    const where = source();
    const transport = await bed.connected(nameless, external);
    await bed.serve(transport, where, { echo: (_context: unknown, args: object) => args });
    expect(await bed.client(transport, where).call({}, 'echo', { n: 1 })).to.deep.equal({ n: 1 });
  });

  it('a queue that exists with other properties fails the start once, and is left as it is (AMQP-21, AMQP-22)', async () => {
    const where = source();
    const other = await amqplib.connect(node.url(vhost, { scheme: 'amqp' }));
    bed.onEnd(() => other.close());
    const channel = await other.createChannel();
    await channel.assertQueue(where.topic, { durable: true });
    const transport = await bed.connected(url());
    const error = await failure(transport.listen(where, { credit: 1 }, () => undefined));
    expect(error.code).to.equal('ERR_CONFIGURATION');
    expect(error.message).to.contain(`"${where.topic}"`).and.to.contain('nothing was changed');
    expect((await node.view.queues(vhost)).find(({ name }) => name === where.topic)?.durable).to.equal(true);
  });

  it('a queue of notifications that exists with other properties is told to who sends, and left as it is (AMQP-21, AMQP-22)', async () => {
    const topic = fresh('durable');
    const other = await amqplib.connect(node.url(vhost, { scheme: 'amqp' }));
    bed.onEnd(() => other.close());
    const channel = await other.createChannel();
    await channel.assertQueue(`${topic}.info`, { durable: true });
    const notifier = new Notifier(await bed.connected(url()), { topics: [topic] });
    const error = await failure(notifier.info({}, 'e', 1));
    expect(error.code).to.equal('ERR_CONFIGURATION');
    expect(error.message).to.contain(`"${topic}.info"`).and.to.contain('nothing was changed');
  });

  it('no connection for declarations stays, and a deleted queue is made again (AMQP-07, AMQP-09, AMQP-34)', async () => {
    const where = source();
    const transport = await bed.connected(url());
    const heard = await bed.listen(transport, where);
    // Over AMQP 0-9-1 alone: RabbitMQ 3 lists the others by other names.
    await eventually('the end of the declaring', WAIT_MS, async () => {
      return !(await node.view.connections(vhost)).some(({ name }) => name === 'declare');
    });
    await node.view.deleteQueue(vhost, where.topic);
    await eventually('the loss', WAIT_MS, () => transport.status().listeners[0]?.subscribed === false);
    await eventually('the return', WAIT_MS, () => transport.status().listeners[0]?.subscribed);
    await send(transport, toTopic(where), 'again');
    await eventually('the message', WAIT_MS, () => heard.texts.length === 1);
  });

  describe('4, played by a peer', () => {
    let peer: Amqp10Peer;

    before(async () => {
      peer = await Amqp10Peer.start({ plays: 'rabbitmq-4', port091: node.port });
    });

    after(() => peer.close());

    it('is known by what it says of itself, and has the second version of the addresses (AMQP-48)', async () => {
      const where = source({ exchange: 'a/b', topic: 'größe' });
      const transport = await bed.connected(url({ port: peer.port }));
      await bed.serve(transport, where, { echo: (_context: unknown, args: object) => args });
      const client = bed.client(transport, where);
      expect(await client.call({}, 'echo', { n: 1 })).to.deep.equal({ n: 1 });
      expect(await client.prepare({ server: where.server }).call({}, 'echo', { n: 2 })).to.deep.equal({
        n: 2,
      });
      expect(peer.hostNames).to.deep.equal([`vhost:${vhost}`, `vhost:${vhost}`]);
      const kinds = [...new Set(peer.attached.map((address) => address.replace(/reply_.*|fanout_.*/, '')))];
      const name = encodeURIComponent('größe');
      expect(kinds.toSorted()).to.deep.equal(
        [
          `/queues/${name}`,
          `/queues/${name}.${where.server}`,
          `/queues/${name}_`,
          '/queues/',
          `/exchanges/a%2Fb/${name}`,
          `/exchanges/a%2Fb/${name}.${where.server}`,
        ].toSorted(),
      );
      // Its queues were declared over AMQP 0-9-1, at the RabbitMQ behind it.
      expect((await node.view.queues(vhost)).map((queue) => queue.name)).to.include('größe');
    });

    it('says of a message that nobody takes that it was released: no second try, and told as such (AMQP-33, AMQP-45)', async () => {
      const nobody = source();
      const transport = await bed.connected(url({ port: peer.port }));
      const before = peer.received.length;
      expect((await failure(send(transport, toTopic(nobody), 'lost'))).code).to.equal('ERR_UNDELIVERABLE');
      expect(peer.received).to.have.length(before + 1);
      await send(transport, toTopic(nobody), 'to nobody', { mandatory: false });
      await send(transport, toFanout(nobody), 'to all of nobody');
    });

    it('notifications are stored also when their queue was deleted meanwhile: it is declared again (AMQP-03, AMQP-24)', async () => {
      const topic = fresh('deleted');
      const transport = await bed.connected(url({ port: peer.port }));
      const listener = new NotificationListener(transport, [{ topic }], [{ info: () => undefined }]);
      await listener.start(); // the peer knows the queues that somebody receives from
      const notifier = new Notifier(transport, { topics: [topic] });
      const queue = async (): Promise<boolean> =>
        (await node.view.queues(vhost)).some(({ name }) => name === `${topic}.info`);
      await notifier.info({}, 'e', 1);
      expect(await queue()).to.equal(true); // at the RabbitMQ behind it
      await node.view.deleteQueue(vhost, `${topic}.info`);
      peer.outcomes.push('release'); // as the broker says when no queue takes it
      await notifier.info({}, 'e', 2);
      expect(await queue()).to.equal(true);
      const address = `/exchanges/openstack/${topic}.info`;
      expect(peer.received.filter((one) => one.address === address)).to.have.length(3);
      expect(peer.attached.filter((one) => one === address)).to.have.length(2);
      await listener.stop();
      await listener.wait({ timeoutMs: WAIT_MS });
    });
  });
});
