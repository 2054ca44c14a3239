import { inspect } from 'node:util';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect } from 'chai';
import { after, afterEach, before, beforeEach, describe, it } from 'mocha';
import { rejectionOf } from '../support/deferred.js';
import { eventually } from '../support/rigs/deadline.js';
import { type PrivateFolder, privateFolder } from '../support/rigs/private-folder.js';
import { RedisCluster } from '../support/rigs/redis-cluster.js';
import { RedisSentinel } from '../support/rigs/redis-sentinel.js';
import { startTlsRedis, type TlsRedis } from '../support/rigs/redis-tls.js';
import { RedisView } from '../support/rigs/redis-view.js';
import { type TlsFiles, tlsFiles } from '../support/rigs/tls-files.js';
import { source } from './bed.js';
import { RedisDriverBed } from './redis-bed.js';

const SECRET = 'pw-hunter2';
/** Turns of the event loop after which a connection is given up: one more each time. */
const MOMENTS = 150;

describe('TLS, with Redis', function () {
  this.timeout(60_000);
  let folder: PrivateFolder;
  let own: TlsFiles;
  /** Of another authority; its server is store.example. */
  let other: TlsFiles;
  let store: TlsRedis;
  let bed: RedisDriverBed;

  before(async () => {
    folder = await privateFolder('tls');
    const filesIn = async (name: string, names?: readonly string[]): Promise<TlsFiles> => {
      await mkdir(join(folder.path, name));
      return tlsFiles(join(folder.path, name), names);
    };
    own = await filesIn('own');
    other = await filesIn('other', ['DNS:store.example']);
    store = await startTlsRedis(own);
    await store.server.ask('ACL', 'SETUSER', 'nova', 'on', `>${SECRET}`, '~*', '&*', '+@all');
  });

  after(async () => {
    await store.server.dispose();
    await folder.remove();
  });

  beforeEach(() => {
    bed = new RedisDriverBed();
  });

  afterEach(() => bed.end());

  const urlOf = ({ port }: TlsRedis): string => `rediss://nova:${SECRET}@localhost:${String(port)}/0`;

  /** Why a transport does not connect, after all that it tells was looked through for the password. */
  async function refusal(url: string, options: Parameters<RedisDriverBed['transport']>[1]): Promise<string> {
    const transport = bed.transport(url, options, { sendTimeoutMs: 1_000 });
    const error = await rejectionOf(transport.connect());
    const shown = inspect([error, bed.log.lines], { depth: 20, showHidden: true });
    expect(shown).to.not.contain(SECRET);
    expect(error.code).to.equal('ERR_DELIVERY');
    return error.message;
  }

  async function calls(store: TlsRedis, options: Parameters<RedisDriverBed['transport']>[1]): Promise<void> {
    const where = source();
    const [serving, calling] = [
      await bed.connected(urlOf(store), options),
      await bed.connected(urlOf(store), options),
    ];
    await bed.serve(serving, where, { ping: () => 'pong' });
    expect(await bed.client(calling, where).call({}, 'ping')).to.equal('pong');
  }

  it('carries calls with the right authority and host name (SEC-03)', async () => {
    await calls(store, { ssl_ca_file: own.ca });
    expect(bed.log.ordinaryText()).not.to.contain('hostname_verification');
  });

  it('refuses another authority by its reason, and never goes on in plain text (SEC-03, SEC-04)', async () => {
    expect(await refusal(urlOf(store), { ssl_ca_file: other.ca })).to.match(/certificate/i);
    expect(await refusal(urlOf(store), {})).to.match(/certificate/i);
    expect(await new RedisView(store.server).clients()).to.deep.equal([]);
  });

  it('refuses a certificate of another host, unless it was told not to look, which is logged (SEC-03)', async () => {
    const named = await startTlsRedis(other);
    bed.onEnd(() => named.server.dispose());
    await named.server.ask('ACL', 'SETUSER', 'nova', 'on', `>${SECRET}`, '~*', '&*', '+@all');
    const strict = { ssl_ca_file: other.ca };
    expect(await refusal(urlOf(named), strict)).to.match(/altnames|Host: localhost/i);
    expect(bed.log.ordinaryText()).not.to.contain('ssl_enforce_hostname_verification is off');
    const lax = { ...strict, ssl_enforce_hostname_verification: false };
    await calls(named, lax);
    expect(bed.log.ordinaryText()).to.contain('ssl_enforce_hostname_verification is off');
    expect(await refusal(urlOf(named), { ...lax, ssl_ca_file: own.ca })).to.match(/certificate/i);
  });

  it('shows a certificate of its own to a store that wants one, which refuses others by their reason (SEC-03, SEC-04)', async () => {
    const wanting = await startTlsRedis(own, true);
    bed.onEnd(() => wanting.server.dispose());
    await wanting.server.ask('ACL', 'SETUSER', 'nova', 'on', `>${SECRET}`, '~*', '&*', '+@all');
    const authority = { ssl_ca_file: own.ca };
    expect(await refusal(urlOf(wanting), authority)).to.match(
      /certificate required|wants a certificate from us/,
    );
    const foreign = { ssl_cert_file: other.clientCert, ssl_key_file: other.clientKey };
    expect(await refusal(urlOf(wanting), { ...authority, ...foreign })).to.match(
      /unknown ca|does not take our certificate/,
    );
    await calls(wanting, { ...authority, ssl_cert_file: own.clientCert, ssl_key_file: own.clientKey });
  });

  it('that is given up while a certificate is being refused ends no process, at whatever moment (REDIS-11, AMQP-41)', async () => {
    for (let moment = 0; moment < MOMENTS; moment += 1) {
      const transport = bed.transport(urlOf(store), { ssl_ca_file: other.ca, retry_interval: 0.001 });
      const connecting = rejectionOf(transport.connect());
      for (let turn = 0; turn < moment; turn += 1) await nextTurn();
      await transport.close();
      expect((await connecting).code).to.equal('ERR_TRANSPORT_CLOSED');
    }
    const view = new RedisView(store.server);
    await eventually('the end of all connections', 20_000, async () => (await view.clients()).length === 0);
  });

  it('is spoken with Sentinels and with the server that they name, and both are verified (SEC-03, AMQP-16)', async () => {
    const set = await RedisSentinel.start({ tls: own });
    bed.onEnd(() => set.dispose());
    await expectVerified(`rediss+sentinel://${set.hosts.join(',')}/${set.name}`);
    await set.failOver();
    await expectVerified(`rediss+sentinel://${set.hosts.join(',')}/${set.name}`);
  });

  it('is spoken with each node of a cluster, and each is verified (SEC-03, AMQP-16)', async () => {
    const cluster = await RedisCluster.start({ tls: own });
    bed.onEnd(() => cluster.dispose());
    for (let times = 0; times < 3; times += 1)
      await expectVerified(`rediss+cluster://${cluster.hosts.join(',')}/`);
  });

  /** Calls come through with the right authority, and nothing does with another. */
  async function expectVerified(url: string): Promise<void> {
    const where = source();
    const [serving, calling] = [
      await bed.connected(url, { ssl_ca_file: own.ca }),
      await bed.connected(url, { ssl_ca_file: own.ca }),
    ];
    await bed.serve(serving, where, { ping: () => 'pong' });
    expect(await bed.client(calling, where).call({}, 'ping')).to.equal('pong');
    for (const transport of [calling, serving]) await transport.close();
    expect(await refusal(url, { ssl_ca_file: other.ca })).to.match(/certificate/i);
  }
});
