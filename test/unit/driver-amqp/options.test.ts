import { inspect } from 'node:util';
import { type MessagingError, TransportUrl } from '@ebbgate/core';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { type RabbitOptions, type RabbitSettings, readSettings } from '#driver-amqp/options.js';

const DURABLE = { amqp_durable_queues: true };

function settingsOf(url: string, options: RabbitOptions = {}): RabbitSettings {
  return readSettings(TransportUrl.parse(url), options);
}

/** What is said when the options are refused. */
function refusal(options: unknown, url = 'rabbit://h/'): string {
  try {
    settingsOf(url, options as RabbitOptions); // also what a caller without types gives
  } catch (error) {
    const { code, message } = error as MessagingError;
    expect(code, message).to.equal('ERR_CONFIGURATION');
    return message;
  }
  throw new Error('It was not refused');
}

describe('the settings of the RabbitMQ driver', () => {
  it("are oslo.messaging's defaults in milliseconds, but secure and fair (CORE-09, AMQP-13, AMQP-16, SEC-03)", () => {
    const { hosts, hostname, warnings, ...rest } = settingsOf('rabbit://');
    expect(rest).to.deep.equal({
      durable: false,
      autoDelete: false,
      quorum: false,
      quorumDeliveryLimit: 0,
      quorumMaxMemoryLength: 0,
      quorumMaxMemoryBytes: 0,
      transientQuorum: false,
      haQueues: false,
      streamFanout: false,
      transientTtlMs: 1_800_000,
      cancelOnFailover: false,
      useQueueManager: false,
      processname: '',
      virtualHost: '/',
      loginMethod: 'AMQPLAIN',
      ssl: undefined,
      connectTimeoutMs: 10_000,
      heartbeatS: 60,
      shuffleHosts: true,
      failover: 'round-robin',
      reconnectDelayMs: 1000,
      reconnectSplayMs: 0,
      retryIntervalMs: 1000,
      retryBackoffMs: 2000,
      intervalMaxMs: 30_000,
      prefetch: 0,
      directMandatory: true,
      compression: undefined,
      missingConsumerRetryMs: 60_000,
      acceptance: 'written',
      maxMessageBytes: 134_217_728,
    });
    expect(hosts).to.have.lengthOf(1);
    expect(hostname).to.be.a('string').that.is.not.empty;
    expect(warnings).to.have.lengthOf(1);
    expect(warnings[0]).to.include('not durable');
  });

  it('take each option from the constructor, and let the URL win (CORE-09)', () => {
    const options: RabbitOptions = {
      rabbit_quorum_queue: true,
      rabbit_quorum_delivery_limit: 7,
      rabbit_transient_queues_ttl: 60,
      kombu_reconnect_delay: 0.5,
      kombu_compression: 'gzip',
      rabbit_qos_prefetch_count: 3,
      acceptance: 'confirmed',
      host_order: 'given',
      connect_timeout: 2.5,
    };
    const settings = settingsOf('rabbit://h/?rabbit_qos_prefetch_count=9&kombu_compression=zlib', options);
    expect(settings).to.include({
      durable: true,
      quorum: true,
      quorumDeliveryLimit: 7,
      transientTtlMs: 60_000,
      reconnectDelayMs: 500,
      compression: 'gzip',
      prefetch: 9,
      acceptance: 'confirmed',
      shuffleHosts: false,
      connectTimeoutMs: 2500,
    });
    expect(settings.warnings).to.deep.equal([]);
  });

  it('take an option that is undefined as absent, and nothing from a prototype (CORE-09, SEC-06)', () => {
    const options = Object.create({ ssl: true }) as RabbitOptions;
    expect(settingsOf('rabbit://h/', Object.assign(options, { amqp_durable_queues: undefined }))).to.include({
      durable: false,
      ssl: undefined,
    });
    expect(refusal(JSON.parse('{"__proto__":1}'))).to.include('"__proto__"');
    expect(refusal({ constructor: 1 })).to.include('"constructor"');
  });

  it('never change (CORE-09)', () => {
    const settings = settingsOf('rabbits://h1,h2/');
    for (const part of [settings, settings.hosts, settings.hosts[0], settings.ssl, settings.warnings]) {
      expect(Object.isFrozen(part)).to.be.true;
    }
  });

  it('use TLS for rabbits: and amqps:, on port 5671, and for ssl=true on the port of the URL (SEC-03)', () => {
    const ports = (url: string): unknown[] => {
      const { ssl, hosts } = settingsOf(url);
      return [ssl?.verifyHostname, ...hosts.map((host) => host.port)];
    };
    expect(ports('rabbits://a,b:1/')).to.deep.equal([true, 5671, 1]);
    expect(ports('amqps://a/')).to.deep.equal([true, 5671]);
    expect(ports('rabbit://a/?ssl=true')).to.deep.equal([true, 5672]);
    expect(ports('amqp://a/')).to.deep.equal([undefined, 5672]);
    expect(ports('kombu://a/')).to.deep.equal([undefined, 5672]);
  });

  it('name the versions of TLS, and turn old ones down (SEC-03)', () => {
    const version = (text: string): unknown => settingsOf('rabbits://h/', { ssl_version: text }).ssl?.version;
    expect(['', 'TLSv1_2', 'tlsv1_2', 'TLSv1_3'].map(version)).to.deep.equal([
      undefined,
      'TLSv1.2',
      'TLSv1.2',
      'TLSv1.3',
    ]);
    for (const old of ['TLSv1', 'TLSv1_1', 'SSLv23', 'SSLv3', 'SSLv2']) {
      expect(refusal({ ssl_version: old }, 'rabbits://h/')).to.include(
        `ssl_version is "${old}"; it must be TLSv1_2`,
      );
    }
  });

  it('hold passwords, but show them to nobody who prints or copies them (SEC-04)', () => {
    const settings = settingsOf('rabbit://user:s3cret@h1,u2:other-s3cret@h2/');
    expect(settings.hosts.map((host) => host.password)).to.deep.equal(['s3cret', 'other-s3cret']);
    const printed = [
      inspect(settings, { depth: 9, showHidden: true, getters: true }),
      JSON.stringify(settings),
      JSON.stringify(Object.assign({}, settings.hosts[0])),
      inspect(structuredClone(settings), { depth: 9 }),
    ];
    for (const text of printed) expect(text).to.not.include('s3cret');
    expect(printed[0]).to.include('user');
  });

  it('name no secret of the URL when they are refused (SEC-04)', () => {
    const message = refusal({}, 'rabbit://user:s3cret@h/?password=s3cret2');
    expect(message).to.include('"password"');
    expect(message).to.not.include('s3cret');
  });

  describe('warn once, when the driver is made,', () => {
    const warned = (url: string, options: RabbitOptions = {}): string[] => [
      ...settingsOf(url, { ...DURABLE, ...options }).warnings,
    ];

    it('of nothing that is as it should be (CORE-09)', () => {
      expect(warned('rabbits://u:p@h1,u:p@h2/')).to.deep.equal([]);
    });

    it('of a host name that is not verified (SEC-03)', () => {
      const [warning, ...more] = warned('rabbits://h/?ssl_enforce_hostname_verification=no');
      expect(warning).to.include('ssl_enforce_hostname_verification is off');
      expect(more).to.deep.equal([]);
    });

    it('of heartbeats that are off (AMQP-13)', () => {
      expect(warned('rabbit://h/?heartbeat_timeout_threshold=0').join()).to.include(
        'heartbeat_timeout_threshold is 0',
      );
    });

    it('of queues that never go (AMQP-24)', () => {
      expect(warned('rabbit://h/?rabbit_transient_queues_ttl=0').join()).to.include(
        'rabbit_transient_queues_ttl is 0',
      );
    });

    it('of shared queues that are not durable (AMQP-26)', () => {
      expect(settingsOf('rabbit://h/').warnings.join()).to.include('not durable');
    });

    it('of hosts without credentials beside one with, without their names (CORE-08, SEC-04)', () => {
      const [warning] = warned('rabbit://user:s3cret@h1,h2/');
      expect(warning).to.include('tried as guest').and.not.include('s3cret');
    });

    it('of options without effect (CORE-09)', () => {
      const [warning] = warned('rabbit://h/?rabbit_quorum_delivery_limit=3&processname=p');
      expect(warning).to.include('rabbit_quorum_delivery_limit, processname');
    });
  });

  describe('refuse what contradicts itself (CORE-09):', () => {
    const pairs: readonly (readonly [RabbitOptions, string, string?])[] = [
      [{ rabbit_ha_queues: true, rabbit_quorum_queue: true }, 'rabbit_ha_queues and rabbit_quorum_queue'],
      [
        { rabbit_ha_queues: true, rabbit_transient_quorum_queue: true },
        'rabbit_ha_queues and rabbit_transient_quorum_queue',
      ],
      [{ amqp_auto_delete: true, rabbit_quorum_queue: true }, 'rabbit_quorum_queue and amqp_auto_delete'],
      [{ rabbit_stream_fanout: true, rabbit_qos_prefetch_count: 1 }, 'needs rabbit_transient_quorum_queue'],
      [
        { rabbit_stream_fanout: true, rabbit_transient_quorum_queue: true },
        'needs a rabbit_qos_prefetch_count',
      ],
      [{ use_queue_manager: true }, 'needs a processname'],
      [{ ssl: false }, 'rabbits: always uses TLS', 'rabbits://h/'],
      [{ ssl_ca_file: '/ca.pem' }, 'ssl_ca_file cannot be set without ssl=true'],
      [{ ssl_version: 'TLSv1_3' }, 'ssl_version cannot be set without ssl=true'],
      [{ ssl_key_file: '/key.pem' }, 'no ssl_cert_file', 'rabbits://h/'],
      [{ rabbit_login_method: 'EXTERNAL' }, 'EXTERNAL needs', 'rabbits://h/'],
    ];
    for (const [options, expected, url] of pairs) {
      it(inspect(options), () => {
        expect(refusal(options, url)).to.include(expected);
      });
    }
  });
});
