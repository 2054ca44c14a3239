import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { createTransport, type MessagingError, TransportUrl } from '@ebbgate/core';
import { createRedisDriver, type RedisOptions } from '@ebbgate/driver-redis';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { serverOptions } from '#driver-redis/client-options.js';
import { type RedisSettings, readSettings } from '#driver-redis/options.js';
import { CapturedLog } from '../../support/captured-log.js';
import { privateFolder } from '../../support/rigs/private-folder.js';

function settingsOf(url: string, options: RedisOptions = {}): RedisSettings {
  return readSettings(TransportUrl.parse(url), options);
}

/** What is said when the options are refused. */
function refusal(url: string, options: unknown = {}): string {
  try {
    settingsOf(url, options as RedisOptions); // also what a caller without types gives
  } catch (error) {
    const { code, message } = error as MessagingError;
    expect(code, message).to.equal('ERR_CONFIGURATION');
    return message;
  }
  throw new Error('It was not refused');
}

describe('the settings of the Redis driver', () => {
  it('have finite times everywhere, in milliseconds (CORE-09, REDIS-08, REDIS-13)', () => {
    const { hosts, warnings, ...rest } = settingsOf('redis://');
    expect(rest).to.deep.equal({
      layout: 'servers',
      masterName: '',
      database: 0,
      tls: false,
      ssl: undefined,
      keyPrefix: 'ebbgate',
      leaseMs: 30_000,
      privateTtlMs: 300_000,
      maxLength: 100_000,
      maxBytes: 268_435_456,
      maxMessageBytes: 134_217_728,
      acceptance: 'written',
      commandTimeoutMs: 5000,
      connectTimeoutMs: 5000,
      heartbeatMs: 10_000,
      retryIntervalMs: 100,
      retryIntervalMaxMs: 5000,
      missingReplyRetryMs: 60_000,
      waitReplicas: 0,
      shuffleHosts: true,
      sentinelAuth: false,
    });
    expect(hosts.map(({ hostname, port }) => `${hostname}:${port}`)).to.deep.equal(['localhost:6379']);
    expect(warnings).to.deep.equal([]);
  });

  it('take hosts, database and layout from the URL (CORE-09)', () => {
    const several = settingsOf('redis://u:p@a,u:p@b:7000/3');
    expect(several.hosts.map(({ hostname, port }) => [hostname, port])).to.deep.equal([
      ['a', 6379],
      ['b', 7000],
    ]);
    expect(several.database).to.equal(3);
    const sentinel = settingsOf('redis+sentinel://a,b:7000/mymaster/2');
    expect([sentinel.layout, sentinel.masterName, sentinel.database]).to.deep.equal([
      'sentinel',
      'mymaster',
      2,
    ]);
    expect(sentinel.hosts.map(({ port }) => port)).to.deep.equal([26_379, 7000]);
    expect(settingsOf('redis+cluster://a,b/').layout).to.equal('cluster');
    expect(settingsOf('rediss://a').hosts[0]?.port).to.equal(6380);
  });

  it('of the URL win over those of the constructor', () => {
    expect(settingsOf('redis://a/0?lease=3', { lease: 5, command_timeout: 2 })).to.include({
      leaseMs: 3000,
      commandTimeoutMs: 2000,
    });
  });

  for (const [url, options, expected] of [
    ['redis://a/0?leese=3', {}, /no option "leese"; there are acceptance, .*lease/],
    ['redis://a/0?lease=long', {}, /lease is "long"; it must be a number from 0.2 to 3600/],
    ['redis://a/0?lease=1e9', {}, /lease is "1e9"/],
    ['redis://a/0?max_length=1.5', {}, /max_length is "1.5"; it must be a whole number/],
    ['redis://a/0?key_prefix=a%20b', {}, /key_prefix is "a b"; it must be up to 64 letters/],
    ['redis://a/0?acceptance=maybe', {}, /acceptance is "maybe"; it must be written or confirmed/],
    ['redis://a', { lease: '30' }, /lease is "30"/],
    ['redis://a', { lease: NaN }, /lease is NaN/],
    ['redis://a', { __proto__x: 1 }, /no option "__proto__x"/],
    ['redis://a/x', {}, /path of a Redis URL is the number of the database/],
    ['redis+sentinel://a/', {}, /needs the name of the store/],
    ['redis+cluster://a/1', {}, /database 0 alone/],
    ['redis+other://a/', {}, /no scheme redis\+other:/],
    ['redis://a/0?ssl_ca_file=/x', {}, /ssl_ca_file cannot be set without rediss:/],
    ['rediss://a/0?ssl_key_file=/x', {}, /no ssl_cert_file/],
    ['rediss://a/0?ssl_ca_file=/not/there', {}, /ssl_ca_file \/not\/there cannot be read \(ENOENT\)/],
    ['redis://a/0?lease=1&heartbeat=2', {}, /heartbeat is longer than half the lease/],
    ['redis+cluster://a/?wait_replicas=1', {}, /wait_replicas cannot be set with redis\+cluster:/],
    ['redis://a/0?retry_interval=9', {}, /retry_interval is longer than retry_interval_max/],
    ['redis://a/0?sentinel_auth=true', {}, /sentinel_auth means something with redis\+sentinel: only/],
  ] as const) {
    it(`refuse ${url} with ${JSON.stringify(options)}, and say why (CORE-09)`, () => {
      expect(refusal(url, options)).to.match(expected);
    });
  }

  it('verify chain and host name; that the name is not verified is warned of (SEC-03)', () => {
    const strict = settingsOf('rediss://store.example');
    const { tls } = serverOptions(strict, strict.hosts, 'commands');
    expect(tls).to.include({ rejectUnauthorized: true, servername: 'store.example' });
    expect(tls).to.not.have.property('checkServerIdentity');
    const lax = settingsOf('rediss://store.example/0?ssl_enforce_hostname_verification=false');
    expect(lax.warnings).to.have.length(1);
    expect(serverOptions(lax, lax.hosts, 'commands').tls).to.include({ rejectUnauthorized: true });
  });

  it('refuse a file that holds no certificate, and show nothing of it (SEC-02, SEC-03)', async () => {
    const folder = await privateFolder('redis-tls');
    const file = join(folder.path, 'secret.pem');
    writeFileSync(file, 's3cret');
    expect(refusal('rediss://a', { ssl_ca_file: file }))
      .to.match(/holds no certificate/)
      .and.not.include('s3cret');
    expect(refusal('rediss://a', { ssl_cert_file: file })).to.not.include('s3cret');
    await folder.remove();
  });

  it('show no password (SEC-02)', () => {
    const settings = settingsOf('redis://user:s3cret@a/0');
    expect(settings.hosts[0]?.password).to.equal('s3cret');
    const shown = [
      inspect(settings, { depth: 9, showHidden: true, getters: true }),
      JSON.stringify(settings),
    ];
    for (const one of shown) expect(one).to.not.include('s3cret');
  });

  it('never let ioredis queue, retry or send again by itself (REDIS-08, REDIS-11)', () => {
    const settings = settingsOf('redis://a');
    for (const role of ['commands', 'reader'] as const)
      expect(serverOptions(settings, settings.hosts, role)).to.include({
        enableOfflineQueue: false,
        autoResendUnfulfilledCommands: false,
        lazyConnect: true,
        socketTimeout: role === 'commands' ? 5000 : 15_000,
      });
  });

  it('are checked, and told of, when the transport is made', () => {
    const drivers = [createRedisDriver({ ssl_enforce_hostname_verification: false })];
    expect(() => createTransport('redis://a/0?nope=1', { drivers })).to.throw('no option "nope"');
    const log = new CapturedLog();
    createTransport('rediss://a', { drivers, logger: log });
    expect(log.lines.map((line) => JSON.stringify(line)).join()).to.include(
      'ssl_enforce_hostname_verification',
    );
  });
});
