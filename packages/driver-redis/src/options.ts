import { ConfigurationError, type TransportUrl } from '@ebbgate/core';
import { type Place, placeOf } from './hosts.js';
import { type OptionValues, type ReadOptions, readOptions } from './option-table.js';
import type { RedisOptions } from './redis-options.js';
import { checkTls, type TlsSettings } from './tls.js';

/** All that the driver goes by: complete, in milliseconds, frozen. Inspecting or copying it shows no secret. */
export interface RedisSettings extends Place {
  readonly ssl: TlsSettings | undefined;
  readonly keyPrefix: string;
  readonly leaseMs: number;
  readonly privateTtlMs: number;
  /** 0: any number, any size. */
  readonly maxLength: number;
  readonly maxBytes: number;
  readonly maxMessageBytes: number;
  readonly acceptance: 'written' | 'confirmed';
  readonly commandTimeoutMs: number;
  readonly connectTimeoutMs: number;
  readonly heartbeatMs: number;
  readonly retryIntervalMs: number;
  readonly retryIntervalMaxMs: number;
  readonly missingReplyRetryMs: number;
  readonly waitReplicas: number;
  readonly shuffleHosts: boolean;
  readonly sentinelAuth: boolean;
  /** To be logged once each. */
  readonly warnings: readonly string[];
}

/**
 * Makes the settings of a driver from the options of its constructor and of its URL, which win. Reads the files of the TLS
 * options, and does no other I/O.
 *
 * @throws ConfigurationError (`ERR_CONFIGURATION`) for an option that is unknown, of the wrong type, out of range, or in
 *   conflict with another, or the name of a file that cannot be used. It names the option.
 */
export function readSettings(url: TransportUrl, options: RedisOptions): RedisSettings {
  const place = placeOf(url);
  const read = readOptions(options, url.query);
  const { values } = read;
  refuseConflicts(place, read);
  const ssl = place.tls ? tlsSettings(values) : undefined;
  if (ssl) checkTls(ssl);
  return Object.freeze({
    ...place,
    ssl,
    keyPrefix: values.key_prefix,
    leaseMs: values.lease * 1000,
    privateTtlMs: values.private_ttl * 1000,
    maxLength: values.max_length,
    maxBytes: values.max_bytes,
    maxMessageBytes: values.max_message_bytes,
    acceptance: values.acceptance,
    commandTimeoutMs: values.command_timeout * 1000,
    connectTimeoutMs: values.connect_timeout * 1000,
    heartbeatMs: Math.min(values.heartbeat, values.lease / 2) * 1000,
    retryIntervalMs: values.retry_interval * 1000,
    retryIntervalMaxMs: values.retry_interval_max * 1000,
    missingReplyRetryMs: values.missing_reply_retry * 1000,
    waitReplicas: values.wait_replicas,
    shuffleHosts: values.host_order === 'shuffled',
    sentinelAuth: values.sentinel_auth,
    warnings: warningsOf(place, values),
  });
}

function refuseConflicts(place: Place, { values, given }: ReadOptions): void {
  const needTls = (['ssl_ca_file', 'ssl_cert_file', 'ssl_key_file'] as const).filter(
    (name) => !place.tls && values[name] !== '',
  );
  const rules: readonly (readonly [boolean, string])[] = [
    [needTls.length > 0, `${needTls.join(', ')} cannot be set without rediss:, which asks for TLS`],
    [
      values.ssl_key_file !== '' && values.ssl_cert_file === '',
      'ssl_key_file is set, but no ssl_cert_file: a key is of no use without its certificate',
    ],
    [values.retry_interval > values.retry_interval_max, 'retry_interval is longer than retry_interval_max'],
    [
      given.has('heartbeat') && values.heartbeat > values.lease / 2,
      'heartbeat is longer than half the lease: a lease could run out on a connection that is dead and not known to be',
    ],
    [
      given.has('sentinel_auth') && place.layout !== 'sentinel',
      'sentinel_auth means something with redis+sentinel: only',
    ],
    [
      values.wait_replicas > 0 && place.layout === 'cluster',
      'wait_replicas cannot be set with redis+cluster:, each of whose masters would have to be asked',
    ],
  ];
  const broken = rules.find(([when]) => when);
  if (broken) throw new ConfigurationError(broken[1]);
}

function warningsOf(place: Place, values: OptionValues): readonly string[] {
  const rules: readonly (readonly [boolean, string])[] = [
    [
      place.tls && !values.ssl_enforce_hostname_verification,
      'ssl_enforce_hostname_verification is off: whoever holds any certificate of a trusted authority can pose as the store',
    ],
  ];
  return Object.freeze(rules.filter(([when]) => when).map(([, message]) => message));
}

function tlsSettings(values: OptionValues): TlsSettings {
  return Object.freeze({
    caFile: values.ssl_ca_file,
    certFile: values.ssl_cert_file,
    keyFile: values.ssl_key_file,
    verifyHostname: values.ssl_enforce_hostname_verification,
  });
}
