import { type MessagingError, TransportUrl } from '@ebbgate/core';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { readOptions } from '#driver-amqp/option-table.js';

interface Known {
  /** As a URL says it, and what it means. */
  readonly good: readonly (readonly [text: string, value: unknown])[];
  readonly bad: readonly string[];
  readonly fallback: unknown;
  /** Part of the error: what would be right. */
  readonly wanted: string;
}

const flag = (fallback: boolean): Known => ({
  good: [
    ['true', true],
    ['YES', true],
    ['On', true],
    ['1', true],
    ['false', false],
    ['no', false],
    ['off', false],
    ['0', false],
  ],
  bad: ['maybe', 'true,false', ' ', 't'],
  fallback,
  wanted: 'true or false',
});

const whole = (fallback: number, min: number, max: number): Known => ({
  good: [
    [String(min), min],
    [String(max), max],
    [`+${max}`, max],
  ],
  bad: [String(min - 1), String(max + 1), '1.5', '1,2', 'x', '0x1', '1e3', 'NaN', ' '],
  fallback,
  wanted: `a whole number from ${min} to ${max}`,
});

const decimal = (fallback: number, min: number, max: number): Known => ({
  good: [
    [String(min), min],
    [String(max), max],
    ['1e0', 1],
    ['.5', 0.5],
  ],
  bad: [String(min - 0.1), String(max + 0.1), 'nan', 'inf', '1,2', 'x', '0x1', '.'],
  fallback,
  wanted: `a number from ${min} to ${max}`,
});

const words = (fallback: string, all: readonly string[], wanted: string, bad: readonly string[]): Known => ({
  good: all.map((word) => [word, word] as const),
  bad: [...bad, `${all[0] ?? ''},${all[0] ?? ''}`],
  fallback,
  wanted,
});

const file: Known = { good: [['/a/b', '/a/b']], bad: [], fallback: '', wanted: '' };
const name = words('', ['nova-api', 'a.b_c'], 'up to 64 letters', ['a/b', '../x', 'a:b', 'x'.repeat(65)]);
const DAY = 86_400;

/** The group `[oslo_messaging_rabbit]` of oslo.messaging 14.0.3 and 18.1.0 together, as far as it has a meaning in Node. */
const OSLO: Readonly<Record<string, Known>> = {
  amqp_durable_queues: flag(false),
  amqp_auto_delete: flag(false),
  ssl: flag(false),
  ssl_version: words('', ['TLSv1_2', 'TLSv1_3'], 'TLSv1_2, TLSv1_3', ['TLSv1', 'SSLv23']),
  ssl_key_file: file,
  ssl_cert_file: file,
  ssl_ca_file: file,
  ssl_enforce_hostname_verification: flag(true),
  kombu_reconnect_delay: decimal(1, 0, 4.5),
  kombu_reconnect_splay: decimal(0, 0, DAY),
  kombu_compression: words('', ['gzip', 'zlib'], 'gzip or zlib', ['bz2', 'bzip2', 'lzma', 'brotli', 'zstd']),
  kombu_missing_consumer_retry_timeout: whole(60, 0, DAY),
  kombu_failover_strategy: words('round-robin', ['round-robin', 'shuffle'], 'round-robin or shuffle', [
    'zzz',
    'Shuffle',
  ]),
  rabbit_login_method: words('AMQPLAIN', ['AMQPLAIN', 'PLAIN', 'EXTERNAL'], 'AMQPLAIN, PLAIN or EXTERNAL', [
    'RABBIT-CR-DEMO',
    'plain',
  ]),
  rabbit_retry_interval: whole(1, 1, DAY),
  rabbit_retry_backoff: whole(2, 0, DAY),
  rabbit_interval_max: whole(30, 1, DAY),
  rabbit_ha_queues: flag(false),
  rabbit_quorum_queue: flag(false),
  rabbit_transient_quorum_queue: flag(false),
  rabbit_quorum_delivery_limit: whole(0, -1, 2 ** 31 - 1),
  rabbit_quorum_max_memory_length: whole(0, 0, 2 ** 31 - 1),
  rabbit_quorum_max_memory_bytes: whole(0, 0, Number.MAX_SAFE_INTEGER),
  rabbit_transient_queues_ttl: whole(1800, 0, 4_294_967),
  rabbit_qos_prefetch_count: whole(0, 0, 65_535),
  heartbeat_timeout_threshold: whole(60, 0, 65_535),
  direct_mandatory_flag: flag(true),
  enable_cancel_on_failover: flag(false),
  use_queue_manager: flag(false),
  hostname: name,
  processname: name,
  rabbit_stream_fanout: flag(false),
};

const OURS: Readonly<Record<string, Known>> = {
  connect_timeout: decimal(10, 0.1, 3600),
  acceptance: words('written', ['written', 'confirmed'], 'written or confirmed', ['yes']),
  max_message_bytes: whole(134_217_728, 1, 536_870_912),
  host_order: words('shuffled', ['shuffled', 'given'], 'shuffled or given', ['random']),
};

/** The rest of the group, and the names of before: refused, with a piece of the reason. */
const REFUSED: Readonly<Record<string, string>> = {
  rpc_conn_pool_size: 'a transport has two',
  conn_pool_min_size: 'a transport has two',
  conn_pool_ttl: 'a transport has two',
  heartbeat_rate: 'third of the negotiated interval',
  heartbeat_in_pthread: 'eventlet',
  ssl_enforce_fips_mode: '--enable-fips',
  rabbit_use_ssl: 'ssl now',
  kombu_ssl_version: 'ssl_version now',
  kombu_ssl_keyfile: 'ssl_key_file now',
  kombu_ssl_certfile: 'ssl_cert_file now',
  kombu_ssl_ca_certs: 'ssl_ca_file now',
  kombu_reconnect_timeout: 'kombu_missing_consumer_retry_timeout now',
};

function read(
  options: object,
  query: Readonly<Record<string, string>> = {},
): Readonly<Record<string, unknown>> {
  const url = TransportUrl.of({ scheme: 'rabbit', query });
  return { ...readOptions(options, url.query).values };
}

function refusal(options: object, query?: Readonly<Record<string, string>>): string {
  try {
    read(options, query);
  } catch (error) {
    expect((error as MessagingError).code).to.equal('ERR_CONFIGURATION');
    return (error as Error).message;
  }
  throw new Error('It was not refused');
}

describe('every option of the rabbit driver of oslo.messaging', () => {
  it('is here, or refused with the reason, and what is here besides is ours (CORE-09)', () => {
    expect(Object.keys(read({})).sort()).to.deep.equal([...Object.keys(OSLO), ...Object.keys(OURS)].sort());
  });

  for (const [option, known] of Object.entries({ ...OSLO, ...OURS })) {
    it(`${option} has its default, its type and its range, in URLs and in code (CORE-09)`, () => {
      expect(read({})[option]).to.deep.equal(known.fallback);
      for (const [text, value] of known.good) {
        expect(read({}, { [option]: text })[option], text).to.equal(value);
        expect(read({ [option]: value })[option], text).to.equal(value);
      }
      for (const text of known.bad) {
        const message = refusal({}, { [option]: text });
        expect(message).to.include(`${option} is ${JSON.stringify(text).slice(0, 60)}`);
        expect(message).to.include(`it must be ${known.wanted}`);
      }
      const others = [
        null,
        {},
        [],
        () => 1,
        1n,
        Symbol.iterator,
        typeof known.fallback === 'string' ? 1 : 'true',
      ];
      for (const value of others) expect(refusal({ [option]: value })).to.include(`${option} is`);
    });
  }

  for (const [option, reason] of Object.entries(REFUSED)) {
    it(`${option} is refused with the reason (CORE-09)`, () => {
      for (const message of [refusal({}, { [option]: '1' }), refusal({ [option]: 1 })]) {
        expect(message).to.include(`${option} cannot be set: `).and.include(reason);
      }
    });
  }

  it('may be spelt as 14.0.3 spells it, but not in both ways (CORE-09)', () => {
    const query = { rabbit_quroum_max_memory_length: '5', rabbit_quroum_max_memory_bytes: '6' };
    expect(read({}, query)).to.include({
      rabbit_quorum_max_memory_length: 5,
      rabbit_quorum_max_memory_bytes: 6,
    });
    expect(refusal({}, { ...query, rabbit_quorum_max_memory_bytes: '6' })).to.include('given twice');
  });
});

describe('an unknown option', () => {
  it('is refused with the names that are near (CORE-09)', () => {
    expect(refusal({}, { rabbit_quorum_queues: 'true' })).to.include(
      'has no option "rabbit_quorum_queues"; did you mean rabbit_quorum_queue',
    );
    expect(refusal({ hearbeat_timeout_treshold: 1 })).to.include('did you mean heartbeat_timeout_threshold?');
    expect(refusal({ sll: true })).to.include('did you mean ssl?');
    expect(refusal({ durable: true })).to.include('amqp_durable_queues');
  });

  it('is refused with all names when none is near, and without its value (CORE-09, SEC-04)', () => {
    const message = refusal({}, { nothing_of_the_kind: 's3cret' });
    expect(message).to.include('there are acceptance, amqp_auto_delete').and.not.include('s3cret');
    expect(refusal({}, { ['x'.repeat(10_000)]: '1' }).length).to.be.below(2000);
  });

  it('of oslo.messaging stays unknown when it belongs to another group (CORE-09)', () => {
    expect(refusal({}, { control_exchange: 'x' })).to.include('no option "control_exchange"');
  });
});
