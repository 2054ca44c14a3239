import { platform } from 'node:os';
import { ConfigurationError, type TransportUrl } from '@ebbgate/core';
import { isTlsScheme } from './rabbit-hosts.js';
import type { OptionValues, ReadOptions } from './option-table.js';
import type { RabbitOptions } from './rabbit-options.js';

/** A pair of options that cannot be, or is not what was meant: when, and what is said then. */
type Rule = readonly [when: boolean, message: string];

/**
 * Refuses options that contradict each other, which the broker or oslo.messaging would do only when a queue is declared.
 *
 * @throws ConfigurationError (`ERR_CONFIGURATION`) with the names of both.
 */
export function refuseConflicts(url: TransportUrl, { values, given }: ReadOptions): void {
  const tls = usesTls(url, values);
  const broken = [...tlsRules(url, { values, given }, tls), ...queueRules(values), ...nameRules(values)].find(
    ([when]) => when,
  );
  if (broken) throw new ConfigurationError(broken[1]);
}

/** Is the connection encrypted? */
export function usesTls(url: TransportUrl, values: OptionValues): boolean {
  return values.ssl || isTlsScheme(url.scheme);
}

function tlsRules(url: TransportUrl, { values, given }: ReadOptions, tls: boolean): Rule[] {
  const needTls = (['ssl_version', 'ssl_key_file', 'ssl_cert_file', 'ssl_ca_file'] as const).filter(
    (name) => !tls && values[name] !== '',
  );
  return [
    [
      isTlsScheme(url.scheme) && given.has('ssl') && !values.ssl,
      `${url.scheme}: always uses TLS, and ssl is false; write rabbit: for none`,
    ],
    [
      needTls.length > 0,
      `${needTls.join(', ')} cannot be set without ssl=true: the connection would be plain text`,
    ],
    [
      values.ssl_key_file !== '' && values.ssl_cert_file === '',
      'ssl_key_file is set, but no ssl_cert_file: a key is of no use without its certificate',
    ],
    [
      values.rabbit_login_method === 'EXTERNAL' && values.ssl_cert_file === '',
      'rabbit_login_method EXTERNAL needs ssl=true and an ssl_cert_file: the certificate says who we are',
    ],
  ];
}

function queueRules(values: OptionValues): Rule[] {
  const quorum = (['rabbit_quorum_queue', 'rabbit_transient_quorum_queue'] as const).filter(
    (name) => values[name],
  );
  return [
    [
      values.rabbit_ha_queues && quorum.length > 0,
      `rabbit_ha_queues and ${quorum.join(', ')} cannot both be true: a queue is mirrored or a quorum queue`,
    ],
    [
      values.rabbit_quorum_queue && values.amqp_auto_delete,
      'rabbit_quorum_queue and amqp_auto_delete cannot both be true: RabbitMQ has no quorum queues that delete themselves',
    ],
    [
      values.rabbit_stream_fanout && !values.rabbit_transient_quorum_queue,
      'rabbit_stream_fanout needs rabbit_transient_quorum_queue=true',
    ],
    [
      values.rabbit_stream_fanout && values.rabbit_qos_prefetch_count === 0,
      'rabbit_stream_fanout needs a rabbit_qos_prefetch_count above 0: RabbitMQ reads no stream without',
    ],
  ];
}

function nameRules(values: OptionValues): Rule[] {
  return [
    [
      values.use_queue_manager && values.processname === '',
      'use_queue_manager needs a processname: one that is the same after each restart and no other program on this host has',
    ],
    [
      values.use_queue_manager && platform() !== 'linux',
      'use_queue_manager needs Linux: it keeps its counter in /dev/shm and asks /proc for process groups',
    ],
  ];
}

/** What is allowed, but should be known: each is to be logged once, when the driver is made. */
export function warningsOf(url: TransportUrl, { values, given }: ReadOptions): readonly string[] {
  const idle = withoutEffect(values, given);
  const rules: readonly Rule[] = [
    [
      usesTls(url, values) && !values.ssl_enforce_hostname_verification,
      'ssl_enforce_hostname_verification is off: whoever holds any certificate of a trusted authority can pose as the broker',
    ],
    [
      url.hasMixedCredentials && values.rabbit_login_method !== 'EXTERNAL',
      'Some hosts of the transport URL have credentials and some have none; those without are tried as guest, since hosts do not share them',
    ],
    [
      values.heartbeat_timeout_threshold === 0,
      'heartbeat_timeout_threshold is 0: a dead connection may go unnoticed for as long as TCP takes, which can be hours',
    ],
    [
      !values.amqp_durable_queues && !values.rabbit_quorum_queue,
      'Exchanges and shared queues are not durable: a restart of the broker loses what is queued, and RabbitMQ denies such queues from 4.3 on; set rabbit_quorum_queue or amqp_durable_queues for all services at once',
    ],
    [
      values.rabbit_transient_queues_ttl === 0,
      'rabbit_transient_queues_ttl is 0: reply and fanout queues of processes that were killed stay for ever',
    ],
    [idle.length > 0, `Without effect, as what they belong to is off: ${idle.join(', ')}`],
  ];
  return Object.freeze(rules.filter(([when]) => when).map(([, message]) => message));
}

function withoutEffect(values: OptionValues, given: ReadonlySet<keyof RabbitOptions>): string[] {
  const groups: readonly (readonly [boolean, readonly (keyof RabbitOptions)[]])[] = [
    [
      values.rabbit_quorum_queue || values.rabbit_transient_quorum_queue,
      ['rabbit_quorum_delivery_limit', 'rabbit_quorum_max_memory_length', 'rabbit_quorum_max_memory_bytes'],
    ],
    [values.use_queue_manager, ['hostname', 'processname']],
  ];
  return groups.flatMap(([on, names]) => (on ? [] : names.filter((name) => given.has(name))));
}
