import { hostname } from 'node:os';
import type { TransportUrl } from '@ebbgate/core';
import type { Compression } from './compression.js';
import { refuseConflicts, usesTls, warningsOf } from './option-rules.js';
import { type OptionValues, readOptions } from './option-table.js';
import { type RabbitHost, rabbitHosts } from './rabbit-hosts.js';
import type { RabbitOptions } from './rabbit-options.js';
import { checkTls, type TlsSettings } from './tls.js';

export type { RabbitHost } from './rabbit-hosts.js';
export type { RabbitOptions } from './rabbit-options.js';

/** Queues: what they are declared with. */
export interface QueueSettings {
  /** The topic exchange and the shared queues; always with quorum queues. */
  readonly durable: boolean;
  readonly autoDelete: boolean;
  readonly quorum: boolean;
  /** 0: none set, here and in the next two. */
  readonly quorumDeliveryLimit: number;
  readonly quorumMaxMemoryLength: number;
  readonly quorumMaxMemoryBytes: number;
  readonly transientQuorum: boolean;
  readonly haQueues: boolean;
  readonly streamFanout: boolean;
  /** 0: private queues are not removed by time. */
  readonly transientTtlMs: number;
  readonly cancelOnFailover: boolean;
  readonly useQueueManager: boolean;
  readonly hostname: string;
  /** Not empty with `useQueueManager`. */
  readonly processname: string;
}

/** Connections: to whom, how, and what happens when one is lost. */
export interface ConnectionSettings {
  /** In the order of the URL; at least one. */
  readonly hosts: readonly RabbitHost[];
  /** Decoded. amqplib decodes once more: it must be given `encodeURIComponent(virtualHost)`. */
  readonly virtualHost: string;
  readonly loginMethod: 'AMQPLAIN' | 'PLAIN' | 'EXTERNAL';
  /** Undefined: plain TCP. */
  readonly ssl: TlsSettings | undefined;
  readonly connectTimeoutMs: number;
  /** Seconds, as AMQP has it; 0: off. */
  readonly heartbeatS: number;
  readonly shuffleHosts: boolean;
  readonly failover: 'round-robin' | 'shuffle';
  readonly reconnectDelayMs: number;
  readonly reconnectSplayMs: number;
  readonly retryIntervalMs: number;
  readonly retryBackoffMs: number;
  readonly intervalMaxMs: number;
}

/** All that the driver goes by: complete, in milliseconds, frozen. Inspecting or copying it shows no secret. */
export interface RabbitSettings extends QueueSettings, ConnectionSettings {
  /** 0: by the credit of the server. */
  readonly prefetch: number;
  readonly directMandatory: boolean;
  readonly compression: Compression | undefined;
  readonly missingConsumerRetryMs: number;
  readonly acceptance: 'written' | 'confirmed';
  readonly maxMessageBytes: number;
  /** To be logged once each. */
  readonly warnings: readonly string[];
}

/**
 * Makes the settings of a driver from the options of its constructor and of its URL, which win, as in oslo.messaging.
 * Reads the files of the TLS options, and does no other I/O.
 *
 * @throws ConfigurationError (`ERR_CONFIGURATION`) for an option that is unknown, of the wrong type, out of range, of no
 *   meaning here, in conflict with another, or the name of a file that cannot be used. It names the option.
 */
export function readSettings(url: TransportUrl, options: RabbitOptions): RabbitSettings {
  const read = readOptions(options, url.query);
  refuseConflicts(url, read);
  const { values } = read;
  const ssl = usesTls(url, values) ? tlsSettings(values) : undefined;
  if (ssl) checkTls(ssl);
  return Object.freeze({
    ...queueSettings(values),
    ...connectionSettings(url, values),
    ssl,
    prefetch: values.rabbit_qos_prefetch_count,
    directMandatory: values.direct_mandatory_flag,
    compression: values.kombu_compression === '' ? undefined : 'gzip',
    missingConsumerRetryMs: values.kombu_missing_consumer_retry_timeout * 1000,
    acceptance: values.acceptance,
    maxMessageBytes: values.max_message_bytes,
    warnings: warningsOf(url, read),
  });
}

function queueSettings(values: OptionValues): QueueSettings {
  return {
    durable: values.amqp_durable_queues || values.rabbit_quorum_queue,
    autoDelete: values.amqp_auto_delete,
    quorum: values.rabbit_quorum_queue,
    quorumDeliveryLimit: values.rabbit_quorum_delivery_limit,
    quorumMaxMemoryLength: values.rabbit_quorum_max_memory_length,
    quorumMaxMemoryBytes: values.rabbit_quorum_max_memory_bytes,
    transientQuorum: values.rabbit_transient_quorum_queue,
    haQueues: values.rabbit_ha_queues,
    streamFanout: values.rabbit_stream_fanout,
    transientTtlMs: values.rabbit_transient_queues_ttl * 1000,
    cancelOnFailover: values.enable_cancel_on_failover,
    useQueueManager: values.use_queue_manager,
    hostname: values.hostname === '' ? hostname() : values.hostname,
    processname: values.processname,
  };
}

function connectionSettings(url: TransportUrl, values: OptionValues): Omit<ConnectionSettings, 'ssl'> {
  return {
    hosts: rabbitHosts(url),
    virtualHost: url.virtualHost === undefined || url.virtualHost === '' ? '/' : url.virtualHost,
    loginMethod: values.rabbit_login_method,
    connectTimeoutMs: values.connect_timeout * 1000,
    heartbeatS: values.heartbeat_timeout_threshold,
    shuffleHosts: values.host_order === 'shuffled',
    failover: values.kombu_failover_strategy,
    reconnectDelayMs: values.kombu_reconnect_delay * 1000,
    reconnectSplayMs: values.kombu_reconnect_splay * 1000,
    retryIntervalMs: values.rabbit_retry_interval * 1000,
    retryBackoffMs: values.rabbit_retry_backoff * 1000,
    intervalMaxMs: values.rabbit_interval_max * 1000,
  };
}

function tlsSettings(values: OptionValues): TlsSettings {
  const file = (path: string): string | undefined => (path === '' ? undefined : path);
  const version = values.ssl_version.toLowerCase();
  return Object.freeze({
    caFile: file(values.ssl_ca_file),
    certFile: file(values.ssl_cert_file),
    keyFile: file(values.ssl_key_file),
    verifyHostname: values.ssl_enforce_hostname_verification,
    version: version === '' ? undefined : version === 'tlsv1_3' ? 'TLSv1.3' : 'TLSv1.2',
  });
}
