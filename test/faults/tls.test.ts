import { inspect } from 'node:util';
import { expect } from 'chai';
import { after, afterEach, before, beforeEach, describe, it } from 'mocha';
import { rejectionOf } from '../support/deferred.js';
import { AmqpPeer } from '../support/rigs/amqp-peer.js';
import { eventually } from '../support/rigs/deadline.js';
import { privateFolder } from '../support/rigs/private-folder.js';
import { RabbitNode } from '../support/rigs/rabbitmq.js';
import { sharedRabbit } from '../support/rigs/shared-rabbit.js';
import { type TlsFiles, tlsFiles } from '../support/rigs/tls-files.js';
import { Bed, send, source, toTopic } from './bed.js';

const WRONG = 'wr0ng-s3cret';

describe('TLS, with RabbitMQ', function () {
  this.timeout(60_000);
  let node: RabbitNode;
  let other: TlsFiles;
  let vhost: string;
  let bed: Bed;
  let folder: Awaited<ReturnType<typeof privateFolder>>;

  before(async () => {
    node = await sharedRabbit();
    vhost = decodeURIComponent(new URL(await node.vhost()).pathname.slice(1));
    folder = await privateFolder('tls');
    other = await tlsFiles(folder.path);
  });

  after(() => folder.remove());

  beforeEach(() => {
    bed = new Bed();
  });

  afterEach(() => bed.end());

  const url = (host = 'localhost'): string =>
    node.url(vhost, { scheme: 'rabbits', host, port: node.tlsPort });
  /** Everything that a failure shows. */
  const shown = (error: unknown): string => inspect([error, bed.log.lines], { depth: 20, showHidden: true });

  it('works with the right authority and host name (SEC-03)', async () => {
    const where = source();
    const transport = await bed.connected(url(), { ssl_ca_file: node.tls.ca });
    const heard = await bed.listen(transport, where);
    await send(transport, toTopic(where), 'in secret');
    await eventually('the message', 5_000, () => heard.texts.length === 1);
    expect(await node.view.connections(vhost)).to.have.length(2);
    expect(bed.log.ordinaryText()).not.to.contain('hostname_verification');
  });

  it('refuses another authority, and never goes on in plain text (SEC-03, SEC-04)', async () => {
    const transport = bed.transport(url(), { ssl_ca_file: other.ca }, { sendTimeoutMs: 400 });
    const error = await rejectionOf(transport.connect());
    expect(error.code).to.equal('ERR_DELIVERY');
    expect(error.message).to.match(/certificate/i);
    expect(inspect(error.cause)).to.match(/certificate/i);
    expect(shown(error)).not.to.contain(node.password);
    expect(await node.view.connections(vhost)).to.have.length(0);
  });

  it('refuses a certificate of another host, unless it was told not to look, which is logged (SEC-03)', async () => {
    const named = await RabbitNode.start({ tls: ['DNS:broker.example'] });
    bed.onEnd(() => named.dispose());
    const its = new URL(await named.vhost());
    const secure = `rabbits://${named.user}:${named.password}@localhost:${String(named.tlsPort)}${its.pathname}`;
    const strict = bed.transport(secure, { ssl_ca_file: named.tls.ca }, { sendTimeoutMs: 400 });
    const error = await rejectionOf(strict.connect());
    expect(error.message).to.match(/altnames|Host: localhost/i);
    expect(bed.log.ordinaryText()).not.to.contain('ssl_enforce_hostname_verification is off');
    const lax = { ssl_ca_file: named.tls.ca, ssl_enforce_hostname_verification: false };
    await bed.connected(secure, lax);
    expect(bed.log.ordinaryText()).to.contain('ssl_enforce_hostname_verification is off');
    await rejectionOf(
      bed.transport(secure, { ...lax, ssl_ca_file: other.ca }, { sendTimeoutMs: 400 }).connect(),
    );
  });

  it('goes on to a host whose certificate is right, after one whose is wrong or that has none (AMQP-15, SEC-03)', async () => {
    const plain = await AmqpPeer.start();
    bed.onEnd(() => plain.close().catch(() => undefined)); // it was sent a TLS greeting, which is no AMQP
    const good = url();
    const at = (port: number): string => `${node.user}:${node.password}@localhost:${String(port)}`;
    const hosts = `rabbits://${at(plain.port)},${at(node.tlsPort)}${new URL(good).pathname}`;
    await bed.connected(hosts, { ssl_ca_file: node.tls.ca, host_order: 'given' });
    expect(plain.received('connection.start-ok')).to.have.length(0);
  });

  it('shows no password in any error, cause or log line (SEC-04)', async () => {
    const wrong = node.url(vhost, {
      scheme: 'rabbits',
      host: 'localhost',
      port: node.tlsPort,
      password: WRONG,
    });
    const transport = bed.transport(wrong, { ssl_ca_file: node.tls.ca });
    const error = await rejectionOf(transport.connect());
    expect(error.code).to.equal('ERR_AUTHENTICATION');
    const later = await rejectionOf(send(transport, toTopic(source()), 'x'));
    expect(shown([error, later, transport, transport.status()])).not.to.contain(WRONG);
    const encoded = Buffer.from(WRONG).toString('base64').slice(0, -2);
    expect(shown([error, later])).not.to.contain(encoded);
  });
});
